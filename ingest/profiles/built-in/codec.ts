import { readTimestamp } from '../../fix.ts'
import { type Fields, isFields, type RawFix } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import { KMH_PER_MPS, MPS_PER_KNOT, NO_POSITION, readPlace } from './reading.ts'

/**
 * The payload of a LoRaWAN device after its codec. Network servers pass it on unchanged, so its fields have the names
 * that each vendor gives them. A position is a pair of latitude and longitude in one object, up to three
 * levels deep; the other values stand beside it, or at the top.
 */

const LEVELS = 3
/** Further fields are not read; the codec of a device has some dozen. */
const MAX_FIELDS = 500
const MAX_ATTRIBUTES = 16
const MAX_ATTRIBUTE_CHARACTERS = 128

/** Places of something else than the device. */
const OF_OTHERS = /^(gateway|gw|rx|tower|cell|station|basestation|wifi|ble|beacon|registered|home)/

/** The names of an object in one spelling: `gps_Latitude` is `gpslatitude`. */
type Named = Map<string, unknown>

const LATITUDE = /^(.*?)(latitude|lat)(deg|degrees|dd|value|wgs84)?$/
const LONGITUDES: { readonly [latitude: string]: readonly string[] } = {
  latitude: ['longitude', 'lon', 'lng', 'long'],
  lat: ['lon', 'lng', 'long', 'longitude'],
}
const BOTH = [
  'latlng',
  'latlon',
  'latlong',
  'gps',
  'position',
  'location',
  'coordinates',
  'gpsposition',
  'gpslocation',
]
const PAIR = /^\s*([+-]?\d+(?:\.\d+)?)\s*[,;]\s*([+-]?\d+(?:\.\d+)?)\s*$/

/** A codec says that it repeats an old place. */
const FAILED = ['fixfailed', 'gpsfixfailed', 'nofix', 'gpsnofix', 'stale', 'isstale', 'cached']
const VALID = [
  ...['fix', 'gpsfix', 'gnssfix', 'hasfix', 'fixvalid', 'validfix', 'fixok'],
  ...[
    'valid',
    'gpsvalid',
    'gnssvalid',
    'positionvalid',
    'locationvalid',
    'validgps',
    'validgpsfix',
    'validposition',
  ],
]
const isWord = (value: unknown, form: RegExp) => typeof value === 'string' && form.test(value)
const isTrue = (value: unknown) => value === true || value === 1 || isWord(value, /^(true|yes|1)$/i)
const isFalse = (value: unknown) =>
  value === false || value === 0 || isWord(value, /^(false|no|0|none|invalid)$/i)

const NAMES = {
  speedKmh: ['speedkmh', 'speedkmph', 'speedkph', 'kmh', 'kph', 'gpsspeedkmh'],
  speedMps: ['speedms', 'speedmps', 'speedmpers', 'gpsspeedms', 'gpsspeedmps'],
  speedMph: ['speedmph'],
  speedKnots: ['speedknots', 'speedkn', 'speedkt', 'speedkts'],
  speed: ['speed', 'gpsspeed', 'groundspeed'],
  heading: [
    'heading',
    'headingdeg',
    'course',
    'coursedeg',
    'cog',
    'bearing',
    'direction',
    'gpsheading',
    'gpscourse',
  ],
  altitude: ['altitude', 'altitudem', 'alt', 'elevation', 'gpsaltitude', 'gpsalt'],
  accuracy: [
    ...[
      'accuracy',
      'accuracym',
      'horizontalaccuracy',
      'hacc',
      'gpsaccuracy',
      'positionaccuracy',
      'locationaccuracy',
    ],
    ...['ehpe', 'uncertainty', 'radius'],
  ],
  battery: [
    'batterypercent',
    'batterypercentage',
    'batterylevel',
    'batlevel',
    'batpercent',
    'battery',
    'batt',
    'bat',
    'soc',
  ],
  time: [
    'time',
    'timestamp',
    'ts',
    'gpstime',
    'gnsstime',
    'fixtime',
    'positiontime',
    'datetime',
    'utctime',
    'utc',
  ],
  age: ['age', 'fixage', 'positionage', 'gpsage'],
} as const

/** A time before is that of a clock that was never set. */
const CLOCKS_FROM = Date.UTC(2015, 0)

/**
 * The fix in what a codec has made, or why there is none. `uplinkAt` is the time of the message in the network, which
 * counts where the device names none. `plainSpeedMps` is the factor for a speed whose name has no unit, null if nobody
 * knows it.
 */
export function readCodec(
  decoded: unknown,
  { uplinkAt, plainSpeedMps }: { uplinkAt: unknown; plainSpeedMps: number | null },
): RawFix | string {
  if (!isFields(decoded)) return NO_POSITION
  const pair = findPair(decoded, LEVELS, { left: MAX_FIELDS })
  if (!pair) return NO_POSITION
  const { near, place } = pair
  if (
    FAILED.some(name => isTrue(near.get(name))) ||
    VALID.some(name => near.has(name) && isFalse(near.get(name)))
  ) {
    return 'The device has no fix, and repeats an old place.'
  }
  if (typeof place === 'string') return place
  const top = near === pair.top ? near : pair.top
  const number = (names: readonly string[]) => numberOf(near, names) ?? numberOf(top, names)
  return {
    ...place,
    timestamp: timeOf(near) ?? timeOf(top) ?? before(uplinkAt, number(NAMES.age)),
    speed: speedOf(number, plainSpeedMps),
    heading: number(NAMES.heading),
    altitude: number(NAMES.altitude),
    accuracy: number(NAMES.accuracy),
    battery: batteryOf(number(NAMES.battery)),
    attributes: attributesOf(decoded),
  }
}

const nameIn = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

interface Pair {
  /** The object that holds the pair, and the one at the top. */
  near: Named
  top: Named
  place: { lat: number; lng: number } | string
}

function findPair(value: Fields, levels: number, room: { left: number }, above?: Named): Pair | null {
  const named: Named = new Map()
  for (const name in value) {
    if (room.left-- <= 0) return null
    const spelling = nameIn(name)
    if (!named.has(spelling)) named.set(spelling, value[name])
  }
  const top = above ?? named
  const place = placeOf(named)
  if (place) return { near: named, top, place }
  if (levels === 1) return null
  for (const [name, inner] of named) {
    if (!isFields(inner) || OF_OTHERS.test(name)) continue
    const found = findPair(inner, levels - 1, room, top)
    if (found) return found
  }
  return null
}

function placeOf(named: Named): Pair['place'] | null {
  for (const [name, latitude] of named) {
    const [, prefix = '', word = '', suffix = ''] = LATITUDE.exec(name) ?? []
    if (!word || OF_OTHERS.test(prefix)) continue
    for (const other of LONGITUDES[word] ?? []) {
      const longitude = named.get(`${prefix}${other}${suffix}`)
      // LON of one vendor is a lamp that is "ON".
      if (longitude === undefined || (longitude !== null && isText(longitude))) continue
      return readPlace(latitude, longitude)
    }
  }
  for (const name of BOTH) {
    const text = named.get(name)
    const [, lat, lng] = (typeof text === 'string' && PAIR.exec(text)) || []
    if (lat !== undefined) return readPlace(lat, lng)
  }
  return null
}

const isText = (value: unknown) => typeof value === 'string' && /^[a-z]+$/i.test(value) && value !== 'null'

function numberOf(named: Named, names: readonly string[]): number | null {
  for (const name of names) {
    const number = readNumber(named.get(name))
    if (number !== null) return number
  }
  return null
}

function speedOf(
  number: (names: readonly string[]) => number | null,
  plainSpeedMps: number | null,
): number | null {
  const units = [
    [NAMES.speedMps, 1],
    [NAMES.speedKmh, 1 / KMH_PER_MPS],
    [NAMES.speedMph, 0.44704],
    [NAMES.speedKnots, MPS_PER_KNOT],
    [NAMES.speed, plainSpeedMps],
  ] as const
  for (const [names, factor] of units) {
    const speed = factor === null ? null : number(names)
    if (speed !== null && factor !== null) return speed * factor
  }
  return null
}

/** Per cent; a number such as 3.6 is in volts. */
const batteryOf = (battery: number | null) =>
  battery !== null && battery < 5 && !Number.isInteger(battery) ? null : battery

function timeOf(named: Named): unknown {
  for (const name of NAMES.time) {
    const value = named.get(name)
    const time = readTimestamp(readNumber(value) ?? value)
    if (time !== null && time >= CLOCKS_FROM) return time
  }
  return null
}

/** The time of the uplink, or so many seconds before it. */
function before(uplinkAt: unknown, ageS: number | null): unknown {
  const time = ageS !== null && ageS > 0 ? readTimestamp(uplinkAt) : null
  return time === null ? uplinkAt : time - (ageS as number) * 1000
}

/** The single values at the top, such as a temperature. */
function attributesOf(decoded: Fields): Fields | null {
  const kept: { [name: string]: unknown } = {}
  let count = 0
  for (const name in decoded) {
    if (count === MAX_ATTRIBUTES) break
    const value = decoded[name]
    if (value === null || typeof value === 'object' || name.length > MAX_ATTRIBUTE_CHARACTERS) continue
    if (typeof value === 'string' && value.length > MAX_ATTRIBUTE_CHARACTERS) continue
    if (LATITUDE.test(nameIn(name)) || /^(gps)?lo?ng?(itude)?(deg)?$/.test(nameIn(name))) continue
    kept[name] = value
    count++
  }
  return count > 0 ? kept : null
}
