import type { MeasuredName } from '../db/measured.ts'

/**
 * One validated fix of one subject (`ingest/fix.ts`). Every value already has its column's range and precision, so an
 * accepted point can be stored, and compares equal when it is stored again. The measured values and their units are in
 * `db/measured.ts`.
 */
export interface Point extends Record<MeasuredName, number | null> {
  kind: 'point'
  /** `subjects.key`. Subject and `recordedAt` identify the point. */
  subject: number
  /** The device's clock, in milliseconds since 1970. */
  recordedAt: number
  /** Our clock, in milliseconds since 1970. */
  receivedAt: number
  /** Degrees, WGS 84. */
  lat: number
  lng: number
  /** The text of a JSON object. */
  attributes: string | null
}

/** Why a point was rejected. A closed list: the contract's section 7.4. */
export const REASONS = [
  'not-json',
  'bad-shape',
  'bad-coordinates',
  'no-fix',
  'bad-timestamp',
  'future',
  'too-old',
  'too-many',
  'conflict',
  'encrypted',
  'unstorable',
] as const

export type Reason = (typeof REASONS)[number]

/** A rejected point. It travels through the log like a point, so that it is just as safe from loss. */
export interface Rejection {
  kind: 'rejection'
  /** `subjects.key` of the sender. */
  subject: number
  /** Our clock, in milliseconds since 1970. */
  receivedAt: number
  reason: Reason
  /** A sentence for the person who repairs the device. */
  message: string
  /** Its index in the array that was sent, or null. */
  index: number | null
  /** The MQTT topic, or null over HTTP. */
  topic: string | null
  /** The payload as sent, cut to 1 KiB. */
  payload: string | null
}

export type Entry = Point | Rejection

/** The result of storing an entry. An entry without an outcome was new and is stored. */
export type Outcome =
  | { kind: 'duplicate' }
  /** Rejected only during storing: a conflict, or a point that the database cannot store. */
  | { kind: 'rejected'; reason: Reason; message: string }

export type Outcomes = ReadonlyMap<Entry, Outcome>

export const NO_OUTCOMES: Outcomes = new Map()

/** The approximate memory of a waiting entry in bytes; a point measured 200 to 250. */
export function sizeOf(entry: Entry): number {
  if (entry.kind === 'point') return 250 + (entry.attributes?.length ?? 0)
  return 300 + (entry.payload?.length ?? 0)
}
