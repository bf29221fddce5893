/** A position of the live socket: degrees, metres a second, percent. */
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

/** The fields of a position as numbers: a time in milliseconds, NaN for unknown values. */
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

/** Positions as one thread passes them to another. Objects would be cloned one by one; a column is copied at once. */
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

/** One of the positions in its original form. */
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
