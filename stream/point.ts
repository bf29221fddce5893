/**
 * One fix of one subject as it was validated (`ingest/fix.ts`): every value is in its column's range and
 * precision already, so that what is accepted can be stored, and stored again compares equal.
 */
export interface Point {
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
  /** Metres per second. */
  speed: number | null
  /** Degrees clockwise from true north, 0 <= x < 360. */
  heading: number | null
  /** Metres. */
  accuracy: number | null
  /** Metres. */
  altitude: number | null
  /** Per cent. */
  battery: number | null
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

/** A point that was wrong. It travels through the log like a point, so that it is lost as little. */
export interface Rejection {
  kind: 'rejection'
  /** `subjects.key` of who sent it. */
  subject: number
  /** Our clock, in milliseconds since 1970. */
  receivedAt: number
  reason: Reason
  /** A sentence for whoever mends the device. */
  message: string
  /** Its place in the array that was sent, or null. */
  index: number | null
  /** The MQTT topic, or null over HTTP. */
  topic: string | null
  /** What was sent, cut to 1 KiB. */
  payload: string | null
}

export type Entry = Point | Rejection

/** What storing found out about an entry; an entry without one is stored and was new. */
export type Outcome =
  | { kind: 'duplicate' }
  /** Rejected only when it was stored: a conflict, or what the database would not store. */
  | { kind: 'rejected'; reason: Reason; message: string }

export type Outcomes = ReadonlyMap<Entry, Outcome>

export const NO_OUTCOMES: Outcomes = new Map()

/** About how many bytes an entry keeps alive while it waits; a point measured 200 to 250. */
export function sizeOf(entry: Entry): number {
  if (entry.kind === 'point') return 250 + (entry.attributes?.length ?? 0)
  return 300 + (entry.payload?.length ?? 0)
}
