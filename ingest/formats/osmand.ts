import {
  type AppField,
  type Fields,
  type Format,
  isFields,
  NoPoint,
  oneOrMany,
  pick,
  type RawFix,
  readField,
  toNumber,
  toPercent,
} from './format.ts'

const FIELDS = {
  lat: { names: ['lat', 'latitude'], description: 'Latitude in degrees', example: '52.52' },
  lng: { names: ['lon', 'longitude', 'lng'], description: 'Longitude in degrees', example: '13.405' },
  location: {
    names: ['location'],
    description: 'Latitude and longitude in one field, with a comma between them',
  },
  timestamp: {
    names: ['timestamp', 'time'],
    description: 'Seconds or milliseconds since 1970, or a date and time, which is UTC without an offset',
    example: '2026-11-21T10:00:00Z',
  },
  knots: { names: ['speed'], description: 'Speed in knots', example: '24.3' },
  mps: { names: ['s', 'spd'], description: 'Speed in metres per second, instead of `speed`' },
  heading: {
    names: ['bearing', 'heading', 'dir'],
    description: 'Degrees clockwise from north',
    example: '271',
  },
  altitude: { names: ['altitude', 'alt'], description: 'Metres', example: '34' },
  accuracy: { names: ['accuracy', 'acc'], description: 'Metres', example: '5' },
  battery: { names: ['batt'], description: 'Per cent', example: '67' },
  valid: {
    names: ['valid'],
    description: '`false` or `0`: the app says that its fix is wrong, and it is rejected',
  },
  device: {
    names: ['id', 'deviceid', 'device_id'],
    description: 'Ignored, because the key says which device it is',
  },
  user: { names: ['u'], description: 'Ignored' },
} as const satisfies { [meaning: string]: AppField }

/** Every name that is read; other fields are kept as attributes. */
const READ: ReadonlySet<string> = new Set(Object.values(FIELDS).flatMap(({ names }) => names))

/**
 * OsmAnd's format as Traccar reads it (https://www.traccar.org/osmand/), in both of its forms: fields in the address, a form
 * or JSON, with `speed` in knots; and the JSON of Traccar Client since version 9, in metres per second. It also reads the names
 * of GPSLogger, those of its own URL (`longitude`) and of its `%ALL` (`spd`), whose speed is in metres per second.
 */
export const osmand = {
  values: listValues,
  read: value =>
    isFields(value) && value.coords !== undefined && value.coords !== null
      ? readTraccar(value)
      : readFields(value),
  http: {
    summary: 'Send what Traccar Client, OsmAnd, GPSLogger and Home Assistant send',
    description: `Fields in the address, as a form (\`application/x-www-form-urlencoded\`), or both; or the JSON of Traccar Client.
Numbers have a decimal point. A body that does not begin as JSON and does not say that it is JSON is a form, whatever its content type,
but for \`multipart/form-data\`, which is rejected. The key says which device it is. A request with known fields and without any
position is a heartbeat, which moves \`lastSeenAt\`. Other fields are kept in \`attributes\`. HEAD stores nothing.`,
    example: {
      device_id: '48241179',
      location: {
        timestamp: '2026-11-21T10:00:00.000Z',
        coords: { latitude: 52.52, longitude: 13.405, accuracy: 5, speed: 12.5, heading: 271, altitude: 34 },
        battery: { level: 0.67, is_charging: false },
      },
    },
    answer: '',
    fields: Object.values(FIELDS),
  },
} satisfies Format

const MPS_PER_KNOT = 1852 / 3600
/** Names under which a position stands, or which were meant to hold one: a misspelt field is rejected and no heartbeat. */
const POSITION = /^(lat|lon|lng|coord)|^(loc|location|pos|position)$/i
/** https://github.com/transistorsoft/flutter_background_geolocation/wiki/Location-Data-Schema */
const KEPT = ['event', 'is_moving', 'odometer', 'mock']
const SEEN = ['cell', 'wifi']
const hasDecimalComma = (value: unknown) => typeof value === 'string' && /^\s*[+-]?\d+,\d+\s*$/.test(value)

/** Traccar Client sends one location under `location`; the library that it is made of can send several. */
function listValues(message: unknown): readonly unknown[] {
  const locations = oneOrMany(isFields(message) ? message.location : null)
  return locations.every(isFields) ? locations : oneOrMany(message)
}

const hasPosition = (fields: Fields) =>
  Object.keys(fields).some(name => POSITION.test(name) && fields[name] !== null)
/** Traccar Client says that it is there, or a phone names cells and networks, which others turn into a place. */
const isHeartbeat = (fields: Fields) => {
  const names = Object.keys(fields)
  const isKnown = (name: string) => READ.has(name) || KEPT.includes(name) || SEEN.includes(name)
  return !hasPosition(fields) && (names.length === 0 || names.some(isKnown))
}

function readTraccar(location: Fields): RawFix | NoPoint {
  const { coords, battery, activity, extras } = location
  if (!isFields(coords)) return new NoPoint('bad-shape', 'A location has to have coords.')
  const known = isFields(battery) ? battery : {}
  const attributes = {
    ...(isFields(extras) ? extras : {}),
    ...pick(location, KEPT),
    ...(isFields(activity) ? { activity: activity.type } : {}),
    ...pick(known, ['is_charging']),
  }
  return {
    lat: coords.latitude,
    lng: coords.longitude,
    timestamp: location.timestamp,
    speed: coords.speed,
    heading: coords.heading,
    accuracy: coords.accuracy,
    altitude: coords.altitude,
    battery: toPercent(known.level),
    attributes,
  }
}

function readFields(value: unknown): RawFix | NoPoint | null {
  if (!isFields(value)) return new NoPoint('bad-shape', 'A fix has to be an object or fields in the address.')
  if (value.valid === 'false' || value.valid === '0' || value.valid === false) {
    return new NoPoint('no-fix', 'The app says that its fix is not valid.')
  }
  if (isHeartbeat(value)) return null
  const location = readField(value, FIELDS.location)
  const both = typeof location === 'string' ? location.split(',') : []
  const lat = readField(value, FIELDS.lat) ?? both[0]
  const lng = readField(value, FIELDS.lng) ?? both[1]
  if (both.length > 2 || [lat, lng].some(hasDecimalComma)) {
    return new NoPoint('bad-coordinates', 'Latitude and longitude have a decimal point, not a comma: 52.52.')
  }
  const knots = toNumber(readField(value, FIELDS.knots))
  return {
    lat: toNumber(lat),
    lng: toNumber(lng),
    timestamp: toTimestamp(readField(value, FIELDS.timestamp)),
    speed: typeof knots === 'number' ? knots * MPS_PER_KNOT : toNumber(readField(value, FIELDS.mps)),
    heading: toNumber(readField(value, FIELDS.heading)),
    accuracy: toNumber(readField(value, FIELDS.accuracy)),
    altitude: toNumber(readField(value, FIELDS.altitude)),
    battery: toNumber(readField(value, FIELDS.battery)),
    attributes: pick(
      value,
      Object.keys(value).filter(name => !READ.has(name)),
    ),
  }
}

/** Seconds or milliseconds, a time with its offset, or one without, which is UTC. */
function toTimestamp(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (/^[\d.]+$/.test(value)) return Number(value)
  if (/^\d{4}-\d\d-\d\d[T ][\d:.]+$/.test(value)) return `${value.replace(' ', 'T')}Z`
  // A plus sign that is not escaped arrives as a space.
  return value.replace(/ (\d\d:\d\d)$/, '+$1')
}
