import { readNumber } from '../numbers.ts'
import { compilePattern } from './patterns.ts'

/** Converts a value to the unit of a point. A value that cannot be converted stays as it is and is validated later. */
export type Convert = (value: unknown) => unknown
type Calculate = (value: number) => number

const same: Calculate = value => value
/** Degrees divided by a power of ten are exact to the last digit, multiplied they are not. */
const dividedBy =
  (divisor: number): Calculate =>
  value =>
    value / divisor
const times =
  (factor: number): Calculate =>
  value =>
    value * factor

const DEGREES_PER_RADIAN = 180 / Math.PI
const COORDINATE = {
  deg: same,
  deg1e5: dividedBy(1e5),
  deg1e6: dividedBy(1e6),
  deg1e7: dividedBy(1e7),
  rad: times(DEGREES_PER_RADIAN),
}
const LENGTH = { m: same, cm: dividedBy(100), ft: times(0.3048) }
/** The units of numbers by the field of a point; the first is the one of points. */
const UNITS: { readonly [field: string]: { readonly [unit: string]: Calculate } } = {
  lat: COORDINATE,
  lng: COORDINATE,
  speed: {
    'm/s': same,
    'km/h': dividedBy(3.6),
    mph: times(0.44704),
    kn: times(1852 / 3600),
    'cm/s': dividedBy(100),
  },
  heading: { deg: same, deg1e2: dividedBy(1e2), deg1e5: dividedBy(1e5), rad: times(DEGREES_PER_RADIAN) },
  accuracy: LENGTH,
  altitude: LENGTH,
  battery: { percent: same, fraction: times(100) },
}

/** Numbers from here on are taken as milliseconds by `readTimestamp`, below they are seconds. */
const MILLISECONDS_FROM = 1e11
/** A time in milliseconds as a fix has it. */
const ofMilliseconds = (ms: number) => (Math.abs(ms) >= MILLISECONDS_FROM ? ms : ms / 1000)

const TIMES: { readonly [unit: string]: Convert } = {
  rfc3339: value => (typeof value === 'string' ? value : null),
  s: ofNumber(seconds => ofMilliseconds(Math.round(seconds * 1e6) / 1e3)),
  ms: ofNumber(ofMilliseconds),
}

/** Compiles the unit of a field of a point. Throws an Error that says which there are. */
export function compileUnit(field: string, unit: string | null): Convert {
  if (field === 'timestamp') {
    if (unit === null) return value => readNumber(value) ?? value
    const known = Object.hasOwn(TIMES, unit) ? TIMES[unit] : undefined
    return known ?? compilePattern(unit)
  }
  const units = UNITS[field]
  if (!units) {
    if (unit !== null) throw new Error('This is kept as it came: it has no unit.')
    return value => value
  }
  if (unit !== null && !Object.hasOwn(units, unit)) {
    throw new Error(`The units of ${field} are ${Object.keys(units).join(', ')}.`)
  }
  return ofNumber(units[unit ?? ''] ?? same)
}

function ofNumber(calculate: Calculate): Convert {
  return value => {
    const number = readNumber(value)
    return number === null ? value : calculate(number)
  }
}
