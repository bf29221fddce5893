import { isFuture } from '../db/clock.ts'
import { MEASURED } from '../db/measured.ts'
import { retentionDays, retentionMs } from '../db/retention.ts'
import type { Point } from '../stream/point.ts'
import { NoPoint, type RawFix } from './formats/format.ts'

/** How far a device's clock may be ahead of ours. */
const AHEAD_MS = 10 * 60_000
/** Numbers from here on are milliseconds, below they are seconds: 1e11 s is the year 5138, 1e11 ms is 1973. */
const MILLISECONDS_FROM = 1e11
const ATTRIBUTES_BYTES = 2048
const FLOAT4_SMALLEST = 2 ** -126
const FLOAT8_SMALLEST = 2 ** -1022

/**
 * Validates a fix. An invalid required value rejects it with a reason; an invalid optional value becomes null. Throws
 * an UntrustedClockError if nobody can say whether the fix is in the future. A valid fix can be stored: its numbers
 * have the range and precision of their columns.
 */
export function validateFix(raw: RawFix, subject: number, receivedAt: number): Point | NoPoint {
  const lat = toFloat8(raw.lat)
  const lng = toFloat8(raw.lng)
  if (lat === null || lng === null || Math.abs(lat) > 90 || Math.abs(lng) > 180) {
    return new NoPoint(
      'bad-coordinates',
      'lat has to be a number from -90 to 90 and lng one from -180 to 180.',
    )
  }
  if (lat === 0 && lng === 0) {
    return new NoPoint('no-fix', 'lat and lng are exactly 0, which devices send when they have no fix.')
  }
  const recordedAt = readTimestamp(raw.timestamp)
  if (recordedAt === null) {
    return new NoPoint(
      'bad-timestamp',
      'timestamp has to be RFC 3339 with an offset, or seconds or milliseconds since 1970.',
    )
  }
  if (recordedAt > receivedAt + AHEAD_MS && isFuture(recordedAt, AHEAD_MS)) {
    return new NoPoint('future', 'timestamp is more than 10 minutes ahead.')
  }
  if (recordedAt < receivedAt - retentionMs()) {
    const kept = retentionDays() === 365 ? 'one year' : `${retentionDays()} days`
    return new NoPoint('too-old', `timestamp is older than the history is kept, which is ${kept}.`)
  }
  return {
    kind: 'point',
    subject,
    recordedAt,
    receivedAt,
    lat,
    lng,
    speed: within(raw.speed, MEASURED.speed),
    heading: readHeading(raw.heading),
    accuracy: within(raw.accuracy, MEASURED.accuracy),
    altitude: within(raw.altitude, MEASURED.altitude),
    battery: within(raw.battery, MEASURED.battery),
    attributes: readAttributes(raw.attributes),
  }
}

/** A finite double without -0 and denormals, which PostgreSQL does not read back; null if it is not a number. */
function toFloat8(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null
  return Math.abs(value) < FLOAT8_SMALLEST ? 0 : value
}

/** The number in the precision of a float4 column; null if it is not a number or out of bounds. */
function within(value: unknown, { range: [min, max] }: { range: readonly [number, number] }): number | null {
  if (typeof value !== 'number' || !(value >= min && value <= max)) return null
  const single = Math.fround(value)
  return Math.abs(single) < FLOAT4_SMALLEST ? 0 : single
}

function readHeading(value: unknown): number | null {
  const heading = within(value, MEASURED.heading)
  return heading === 360 ? 0 : heading
}

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/** Milliseconds since 1970, truncated and not rounded; null if it is not a real date. */
export function readTimestamp(value: unknown): number | null {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return null
    // Seconds with a fraction are not exact in binary: 1700000000.123 * 1000 is 1700000000122.9999.
    const ms = Math.abs(value) >= MILLISECONDS_FROM ? value : Math.round(value * 1e6) / 1e3
    return Math.abs(ms) > 8.64e15 ? null : Math.floor(ms)
  }
  if (typeof value !== 'string') return null
  const match = RFC_3339.exec(value)
  if (!match) return null
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHour, offsetMinute] = match
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3))
  const offset = sign ? (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute)) : 0
  const minutes = Number(hour) * 60 + Number(minute) - offset
  // A leap second ends a day of UTC [RFC 3339, 5.7].
  if (second === '60' && (minutes + 1) % 1440 !== 0) return null
  return date.getTime() + (minutes * 60 + Number(second)) * 1000 + milliseconds
}

function readAttributes(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const text = toJson(value)
  if (text === null || Buffer.byteLength(text) > ATTRIBUTES_BYTES) return null
  // jsonb has no NUL and no lone surrogate, which JSON.stringify writes as escapes.
  return /\\u(0000|d[89a-f])/i.test(text) ? JSON.stringify(cleanJson(value)) : text
}

/** The JSON of a value; null if it nests so deeply that it can be parsed but not written. */
export function toJson(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null
  } catch {
    return null
  }
}

/** A value that PostgreSQL can store as JSON: its texts and names are cleaned. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleanJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner)]))
}

/** A text that PostgreSQL can store: without NUL, lone surrogates replaced. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}
