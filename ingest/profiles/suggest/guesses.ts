import type { Source } from '../../../db/schema/tracker-profiles.ts'
import { readTimestamp } from '../../fix.ts'
import { readNumber } from '../numbers.ts'
import type { Leaf } from './leaves.ts'

/** A guess, by the name and value of a field in a message, about the measured value that it holds and its unit. */
export interface Guess {
  leaf: Leaf
  unit: string | null
  absent: Source['absent']
  /** A part of the text, for a pair such as "52.5,13.4". */
  split: Source['split']
  /** A sentence about the uncertain part. */
  doubt: string | null
}

type Unit = { unit: string | null; doubt?: string } | null

const certain = (unit: string | null): Unit => ({ unit })

/** Names of each field with what they say about its unit; null if the value cannot be one. */
const FIELDS: {
  readonly [field: string]: readonly (readonly [names: RegExp, unitOf: (value: unknown) => Unit])[]
} = {
  timestamp: [
    [
      /^(gps|gnss|fix|position|loc|event|device|record|utc)?(time|timestamp|ts|tst|datetime|date|recordedat|time(utc|stamp)?(ms|s)?)$/,
      timeUnit,
    ],
  ],
  speed: [
    [/^(gps|gnss)?speed(kmh|kmph|kph)$|^kmh$|^kph$/, () => certain('km/h')],
    [/^(gps|gnss)?speed(ms|mps)$/, () => certain('m/s')],
    [/^(gps|gnss)?speedmph$|^mph$/, () => certain('mph')],
    [/^(gps|gnss)?speed(knots?|kn|kts?)$|^knots$/, () => certain('kn')],
    [
      /^(gps|gnss|ground)?(speed|spd|velocity|vel)$/,
      () => ({ unit: 'km/h', doubt: 'its unit is not named: km/h is assumed' }),
    ],
  ],
  heading: [
    [
      /^(gps|gnss)?(heading|hdg|course|cog|bearing|bear|direction|dir|angle|ang|track|azimuth)(deg)?$/,
      () => certain(null),
    ],
  ],
  accuracy: [
    [/^(gps|horizontal|position|location)?(accuracy|acc|hacc|uncertainty|radius)(m)?$/, () => certain('m')],
  ],
  altitude: [
    [/^(gps|gnss)?(altitude|alt|elevation|height)(m)?$/, () => certain('m')],
    [/^(gps|gnss)?(altitude|alt)ft$/, () => certain('ft')],
  ],
  battery: [[/^(battery|batt|bat)(level|percent|percentage|pct|soc)?$|^soc$/, batteryUnit]],
}

function batteryUnit(value: unknown): Unit {
  const number = readNumber(value)
  if (number === null || Number.isInteger(number)) return certain('percent')
  if (number < 1) return certain('fraction')
  return number < 15 ? null : certain('percent')
}

const PATTERNS = [
  [/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, 'YYYY-MM-DD HH:mm:ss'],
  [/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/, 'YYYY-MM-DDTHH:mm:ss'],
  [/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d$/, 'YYYY/MM/DD HH:mm:ss'],
  [/^\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d$/, 'DD.MM.YYYY HH:mm:ss'],
  [/^20\d{12}$/, 'YYYYMMDDHHmmss'],
] as const

function timeUnit(value: unknown): Unit {
  const text = typeof value === 'number' ? String(value) : value
  const pattern = typeof text === 'string' ? PATTERNS.find(([shape]) => shape.test(text)) : undefined
  if (pattern) return { unit: pattern[1], doubt: 'it is taken as UTC' }
  const number = readNumber(value)
  if (number !== null)
    return number >= 1e11 ? certain('ms') : number >= 1e8 || number === 0 ? certain('s') : null
  return readTimestamp(value) === null ? null : certain('rfc3339')
}

/** The best guess for a field among the values of a message; those beside the position come first. */
export function guessField(field: string, leaves: readonly Leaf[]): Guess | null {
  for (const [names, unitOf] of FIELDS[field] ?? []) {
    for (const leaf of leaves) {
      const unit = names.test(leaf.spelling) && isValue(leaf.value) ? unitOf(leaf.value) : null
      if (!unit) continue
      const absent = readNumber(leaf.value) === -1 ? [-1] : []
      return { leaf, unit: unit.unit, absent, split: null, doubt: unit.doubt ?? null }
    }
  }
  return null
}

const isValue = (value: unknown) => typeof value === 'number' || typeof value === 'string'

const LATITUDE = /^(.*?)(latitude|lat)(deg|degrees|e7|i|value)?$/
const LONGITUDES = ['longitude', 'lng', 'lon', 'long', 'log']
const PAIR = /^\s*[+-]?\d+(\.\d+)?\s*([,;])\s*[+-]?\d+(\.\d+)?\s*$/
const PAIR_NAMES = /(latlng|latlon|latlong|position|location|coordinates|coords|gps|pos|loc)$/

/** The values that are a latitude and a longitude, or null. */
export function guessPair(leaves: readonly Leaf[]): [lat: Guess, lng: Guess] | null {
  const longitudes = listLongitudes(leaves)
  for (const leaf of leaves) {
    const [, prefix = '', word, suffix = ''] = LATITUDE.exec(leaf.spelling) ?? []
    if (word === undefined || readNumber(leaf.value) === null) continue
    const beside = longitudes.get(leaf.holder)
    const found = LONGITUDES.flatMap(name => beside?.get(`${prefix}${name}${suffix}`) ?? [])
    if (found[0]) return pairOf(leaf, found[0])
  }
  for (const leaf of leaves) {
    const by =
      typeof leaf.value === 'string' && PAIR_NAMES.test(leaf.spelling)
        ? PAIR.exec(leaf.value)?.[2]
        : undefined
    if (by === undefined) continue
    const part = (index: number): Guess => ({
      leaf,
      unit: 'deg',
      absent: [],
      split: { by, index },
      doubt: null,
    })
    return [part(0), part(1)]
  }
  return null
}

/** The numbers that may be a longitude by their name, by the object that holds them and their spelling. */
function listLongitudes(leaves: readonly Leaf[]): Map<Leaf['holder'], Map<string, Leaf>> {
  const found = new Map<Leaf['holder'], Map<string, Leaf>>()
  for (const leaf of leaves) {
    const { holder, spelling, value } = leaf
    if (!LONGITUDES.some(name => spelling.includes(name)) || readNumber(value) === null) continue
    const beside = found.get(holder) ?? new Map<string, Leaf>()
    found.set(holder, beside)
    if (!beside.has(spelling)) beside.set(spelling, leaf)
  }
  return found
}

export const isBeside = (one: Leaf, other: Leaf) => one.holder === other.holder

function pairOf(lat: Leaf, lng: Leaf): [Guess, Guess] {
  const largest = Math.max(...[lat, lng].map(({ value }) => Math.abs(readNumber(value) ?? 0)))
  const scaled = [
    [1.8e8, 'deg1e7'],
    [1.8e7, 'deg1e6'],
    [180, 'deg1e5'],
  ] as const
  const unit = scaled.find(([above]) => largest > above)?.[1] ?? 'deg'
  const doubt = unit === 'deg' ? null : `whole numbers of this size are taken as ${unit}`
  const guess = (leaf: Leaf): Guess => ({ leaf, unit, absent: [], split: null, doubt })
  return [guess(lat), guess(lng)]
}

const DEVICES = [
  /^imei$/,
  /^deveui$/,
  /^(device|tracker|unit|asset|vehicle|terminal|node)(id|uid|imei|eui|sn|serial|serialnumber|no|number)$/,
  /^(uniqueid|ident|serial|serialnumber|sn|uid|devid)$/,
  /^(device|tracker|id)$/,
]

/** The value that names the device, or null. */
export const guessDevice = (leaves: readonly Leaf[]): Leaf | null =>
  DEVICES.flatMap(
    names => leaves.find(({ spelling, value }) => names.test(spelling) && isReference(value)) ?? [],
  )[0] ?? null

const isReference = (value: unknown) =>
  (typeof value === 'string' && value.trim() !== '' && value.length <= 128) || Number.isSafeInteger(value)
