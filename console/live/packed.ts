/** A position as the live socket sends it: degrees, metres a second, percent. */
export interface Position {
  subjectId: string
  subjectType: 'user' | 'device'
  name: string
  lat: number
  lng: number
  timestamp: string
  speed: number | null
  heading: number | null
  accuracy: number | null
  battery: number | null
  state: State
}

export const STATES = ['moving', 'idle', 'offline'] as const
export type State = (typeof STATES)[number]
export const TYPES = ['user', 'device'] as const

/** What of a position is a number, or becomes one: a time in milliseconds, NaN where nothing is known. */
const NUMBERS = {
  lat: one => one.lat,
  lng: one => one.lng,
  timestamp: one => Date.parse(one.timestamp),
  speed: one => one.speed ?? Number.NaN,
  heading: one => one.heading ?? Number.NaN,
  accuracy: one => one.accuracy ?? Number.NaN,
  battery: one => one.battery ?? Number.NaN,
  state: one => STATES.indexOf(one.state),
  type: one => TYPES.indexOf(one.subjectType),
} satisfies Record<string, (position: Position) => number>

type Numeric = keyof typeof NUMBERS
export const NUMERIC = Object.keys(NUMBERS) as Numeric[]

/** Positions as one thread hands them to another: each of thousands of objects would be made anew, a column is copied. */
export interface Packed {
  ids: string[]
  names: string[]
  columns: Record<Numeric, Float64Array>
}

export function pack(positions: readonly Position[]): Packed {
  const columns = {} as Packed['columns']
  for (const name of NUMERIC) {
    const column = new Float64Array(positions.length)
    const read = NUMBERS[name]
    for (let at = 0; at < column.length; at++) column[at] = read(positions[at] as Position)
    columns[name] = column
  }
  return { ids: positions.map(one => one.subjectId), names: positions.map(one => one.name), columns }
}

/** One of them as it came. */
export function unpack({ ids, names, columns }: Packed, at: number): Position {
  const number = (name: Numeric) => columns[name][at] as number
  const known = (name: Numeric) => (Number.isNaN(number(name)) ? null : number(name))
  return {
    subjectId: ids[at] as string,
    subjectType: TYPES[number('type')] as Position['subjectType'],
    name: names[at] as string,
    lat: number('lat'),
    lng: number('lng'),
    timestamp: new Date(number('timestamp')).toISOString(),
    speed: known('speed'),
    heading: known('heading'),
    accuracy: known('accuracy'),
    battery: known('battery'),
    state: STATES[number('state')] as State,
  }
}
