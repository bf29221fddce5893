import { eachMeasured, MEASURED_NAMES, type MeasuredName } from '../measured.ts'

/**
 * Points on their way out of the database: each is a row as text, which costs PostgreSQL a fifth of JSON, and Node
 * little (`docs/decisions/0009-history-as-rows-of-text.md`). Numbers keep the form that PostgreSQL writes.
 *
 *     (1,1763719200000,1763719201123,52.5,13.4,12.25,,5.5,,87,){"ignition": true}
 *
 * The values are: subject's key, recorded, received, latitude, longitude, the measured values (`db/measured.ts`), anomaly;
 * the attributes follow the row. A point that was examined and does not match has only its key and time.
 */
export interface HistoryPoint extends Record<MeasuredName, string> {
  subject: HistorySubject
  /** Milliseconds since 1970. */
  recordedAt: number
  receivedAt: number
  /** Numbers in the form of JSON; an empty text is null. */
  lat: string
  lng: string
  /** The reason why it counts as an anomaly, or an empty text. */
  anomaly: string
  /** A JSON object, or an empty text. */
  attributes: string
}

export interface HistorySubject {
  key: number
  id: string
  type: 'user' | 'device'
  name: string
}

/** The end of a page: the time and subject of its last point. */
export interface HistoryKey {
  recordedAt: number
  subject: number
}

/** The requested parts of a point: everything, or what a track needs. */
export type PointParts = 'all' | 'track'

/** The number of values before the measured ones. */
const BEFORE = 5
/** The index of each value in a line. */
export const VALUE = {
  subject: 0,
  recordedAt: 1,
  receivedAt: 2,
  lat: 3,
  lng: 4,
  ...eachMeasured(name => BEFORE + MEASURED_NAMES.indexOf(name)),
  anomaly: BEFORE + MEASURED_NAMES.length,
  attributes: BEFORE + MEASURED_NAMES.length + 1,
}
const VALUES = VALUE.attributes + 1
/** The measured values that a track needs. */
const OF_TRACK: readonly MeasuredName[] = ['speed', 'heading']

export const milliseconds = (column: string) => `round(date_part('epoch', ${column}) * 1000)::int8`

/** The line of point `p`, with its subject's `key`. */
export function pointLine(key: string, parts: PointParts = 'all'): string {
  const whole = parts === 'all'
  const values = [
    key,
    milliseconds('p.recorded_at'),
    whole ? milliseconds('p.received_at') : 'NULL',
    'ST_Y(p.position)',
    'ST_X(p.position)',
    ...MEASURED_NAMES.map(name => (whole || OF_TRACK.includes(name) ? `p.${name}` : 'NULL')),
    'p.anomaly',
  ]
  return whole ? `concat(ROW(${values.join(', ')}), p.attributes)` : `ROW(${values.join(', ')})::text`
}

/** The line of a point that was examined and does not match. */
export const skippedLine = (key: string) =>
  `ROW(${key}, ${milliseconds('p.recorded_at')}${', NULL'.repeat(VALUES - 3)})::text`

/** Separates lines: no value contains it, since JSON escapes it. */
export const LINE_END = '\n'

const COMMA = 44
const CLOSING = 41

/** Lines read from the database, visited point by point. */
export class Lines {
  readonly text: string
  /** The number of lines, including skipped points. */
  readonly count: number
  /** The number of lines that `next` has passed. */
  passed = 0
  /** The positions of the point's values in the text: the nth is from `starts[n]` to before `starts[n + 1] - 1`. */
  readonly starts = new Int32Array(VALUES + 1)
  readonly #subjects = new Map<number, HistorySubject>()
  #at = 0

  constructor(text: string, count: number, subjects: { [key: string]: Omit<HistorySubject, 'key'> }) {
    this.text = text
    this.count = count
    for (const [key, subject] of Object.entries(subjects))
      this.#subjects.set(Number(key), { key: Number(key), ...subject })
  }

  /** Moves to the next matching point; returns false when nothing is left. */
  next(): boolean {
    const { text, starts } = this
    while (this.#at < text.length) {
      let at = this.#at
      starts[0] = at + 1
      for (let value = 1; value < VALUES; at++) {
        const character = text.charCodeAt(at)
        if (character === COMMA || character === CLOSING) starts[value++] = at + 1
      }
      const end = text.indexOf(LINE_END, at)
      this.#at = (end === -1 ? text.length : end) + 1
      starts[VALUES] = this.#at
      if (this.has(VALUE.lat)) {
        this.passed++
        return true
      }
    }
    return false
  }

  /** Whether the point has this value. */
  has(value: number): boolean {
    return (this.starts[value + 1] as number) - (this.starts[value] as number) > 1
  }

  /** A value of the point, or an empty text. */
  valueOf(value: number): string {
    return this.text.slice(this.starts[value], (this.starts[value + 1] as number) - 1)
  }

  /** A whole number of the point. */
  numberOf(value: number): number {
    const end = (this.starts[value + 1] as number) - 1
    let number = 0
    for (let at = this.starts[value] as number; at < end; at++)
      number = number * 10 + this.text.charCodeAt(at) - 48
    return number
  }

  get subject(): HistorySubject {
    const subject = this.#subjects.get(this.numberOf(VALUE.subject))
    if (!subject) throw new Error('A point of no subject was read')
    return subject
  }

  /** The next points, at most this many; none when nothing is left. */
  take(most: number): HistoryPoint[] {
    const points: HistoryPoint[] = []
    while (points.length < most && this.next()) {
      points.push({
        subject: this.subject,
        recordedAt: this.numberOf(VALUE.recordedAt),
        receivedAt: this.numberOf(VALUE.receivedAt),
        lat: this.valueOf(VALUE.lat),
        lng: this.valueOf(VALUE.lng),
        speed: this.valueOf(VALUE.speed),
        heading: this.valueOf(VALUE.heading),
        accuracy: this.valueOf(VALUE.accuracy),
        altitude: this.valueOf(VALUE.altitude),
        battery: this.valueOf(VALUE.battery),
        anomaly: this.valueOf(VALUE.anomaly),
        attributes: this.valueOf(VALUE.attributes),
      })
    }
    return points
  }

  /** The key of the last visited line, even of a skipped point. */
  get taken(): HistoryKey | null {
    if (this.#at === 0) return null
    return { subject: this.numberOf(VALUE.subject), recordedAt: this.numberOf(VALUE.recordedAt) }
  }

  /** The key of the last line of all. */
  get last(): HistoryKey | null {
    if (this.text === '') return null
    const line = this.text.slice(this.text.lastIndexOf(LINE_END) + 1)
    const [subject, recordedAt] = line.slice(1).split(',', 2)
    return { subject: Number(subject), recordedAt: Number(recordedAt) }
  }
}
