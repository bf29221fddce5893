/**
 * Points on their way out of the database: the text of a row each, which costs PostgreSQL a fifth of JSON and Node
 * little (`docs/decisions/0009-history-as-rows-of-text.md`). Numbers stay the texts that PostgreSQL writes.
 */
export interface HistoryPoint {
  subject: HistorySubject
  /** Milliseconds since 1970. */
  recordedAt: number
  receivedAt: number
  /** Numbers as JSON has them; an empty text is null. */
  lat: string
  lng: string
  speed: string
  heading: string
  accuracy: string
  altitude: string
  battery: string
  /** Why it counts as wrong, or an empty text. */
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

/** Where a page ends: the time and subject of its last point. */
export interface HistoryKey {
  recordedAt: number
  subject: number
}

const milliseconds = (column: string) => `round(date_part('epoch', ${column}) * 1000)::int8`

/** What of a point is asked for: everything, or what its track is made of. */
export const POINT_PARTS = {
  all: ['p.accuracy', 'p.altitude', 'p.battery', 'p.anomaly', 'p.attributes'],
  track: [],
} as const

/** The columns of `p` as one line, `key` being its subject's; the last may be anything, and the others hold no comma. */
export function pointLine(key: string, parts: keyof typeof POINT_PARTS = 'all'): string {
  const track = [
    key,
    milliseconds('p.recorded_at'),
    parts === 'all' ? milliseconds('p.received_at') : 'NULL',
    'ST_Y(p.position)',
    'ST_X(p.position)',
    'p.speed',
    'p.heading',
  ]
  return `ROW(${[...track, ...POINT_PARTS[parts]].join(', ')})::text`
}

const SKIPPED_VALUES = 2
/** The line of a point that was looked at and is not asked for. */
export const skippedLine = (key: string) => `ROW(${key}, ${milliseconds('p.recorded_at')})::text`

/** What lines are joined by: no value of a row holds one, for JSON escapes it. */
export const LINE_END = '\n'

/** Lines that have been read from the database and become points when somebody takes them. */
export interface Lines {
  /** How many there are, with those of points that are skipped. */
  readonly count: number
  /** The next points, up to so many; none when nothing is left. */
  take(most: number): HistoryPoint[]
  /** The key of the last line that was gone through, be it of a point that was skipped. */
  readonly taken: HistoryKey | null
  /** The key of the last line of all. */
  readonly last: HistoryKey | null
}

export function readLines(
  text: string,
  count: number,
  subjects: { [key: string]: Omit<HistorySubject, 'key'> },
): Lines {
  const known = new Map<string, HistorySubject>()
  for (const [key, subject] of Object.entries(subjects)) known.set(key, { key: Number(key), ...subject })
  let at = 0
  let taken: string[] | undefined
  return {
    count,
    take(most) {
      const points: HistoryPoint[] = []
      while (at < text.length && points.length < most) {
        const end = text.indexOf(LINE_END, at)
        taken = valuesOf(text.slice(at, end === -1 ? text.length : end))
        at = end === -1 ? text.length : end + 1
        if (taken.length > SKIPPED_VALUES) points.push(toPoint(taken, known))
      }
      return points
    },
    get taken() {
      return taken ? toKey(taken) : null
    },
    last: text === '' ? null : toKey(valuesOf(text.slice(text.lastIndexOf(LINE_END) + 1))),
  }
}

/** Of a line in its parentheses. */
const valuesOf = (line: string) => line.slice(1, -1).split(',')

const toKey = (values: readonly string[]): HistoryKey => ({
  subject: Number(values[0]),
  recordedAt: Number(values[1]),
})

function toPoint(values: readonly string[], subjects: ReadonlyMap<string, HistorySubject>): HistoryPoint {
  const subject = subjects.get(values[0] as string)
  if (!subject) throw new Error('A point of no subject was read')
  return {
    subject,
    recordedAt: Number(values[1]),
    receivedAt: Number(values[2]),
    lat: values[3] as string,
    lng: values[4] as string,
    speed: values[5] as string,
    heading: values[6] as string,
    accuracy: values[7] ?? '',
    altitude: values[8] ?? '',
    battery: values[9] ?? '',
    anomaly: values[10] ?? '',
    attributes: values[11] ? unquote(values.slice(11).join(',')) : '',
  }
}

/** A value of a row's text as it was: in quotes, with quotes and backslashes doubled. */
function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"').replaceAll('\\\\', '\\') : value
}
