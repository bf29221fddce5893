/**
 * The values that a device may measure beside its place, in the order of every row, record and answer. The columns of SQL
 * and COPY, the history's formats, the bounds of a fix and the OpenAPI document derive from this list. A value outside of
 * its range is a fault, or stands for "unknown": no aircraft is faster, no two places on Earth are further apart, no sea
 * is deeper, and above the altitude space begins.
 */
export const MEASURED = {
  speed: { unit: 'Metres per second', range: [0, 1_000], example: 12.5 },
  heading: { unit: 'Degrees clockwise from true north', range: [0, 360], example: 270 },
  accuracy: { unit: 'Metres', range: [0, 20_100_000], example: 5 },
  altitude: { unit: 'Metres', range: [-12_000, 100_000], example: 34 },
  battery: { unit: 'Per cent', range: [0, 100], example: 80 },
} as const

export type MeasuredName = keyof typeof MEASURED
export const MEASURED_NAMES = Object.keys(MEASURED) as readonly MeasuredName[]

/** The measured values that live clients and team members receive. */
export const LIVE_NAMES = [
  'speed',
  'heading',
  'accuracy',
  'battery',
] as const satisfies readonly MeasuredName[]
export type LiveName = (typeof LIVE_NAMES)[number]

/** One member for each measured value. */
export function eachMeasured<T>(member: (name: MeasuredName) => T): { [name in MeasuredName]: T } {
  return Object.fromEntries(MEASURED_NAMES.map(name => [name, member(name)])) as { [name in MeasuredName]: T }
}
