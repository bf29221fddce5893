import {
  type Fields,
  type Format,
  isFields,
  NoPoint,
  oneOrMany,
  pick,
  type RawFix,
  toNumber,
  toPercent,
} from './format.ts'

/**
 * What Traccar takes as OsmAnd (https://www.traccar.org/osmand/), in both of its forms: fields in the address, a form or
 * JSON, where `speed` is in knots; and the JSON of Traccar Client from version 9 on, in metres per second. GPSLogger's
 * names are taken as well, those of its own URL (`longitude`) and of its `%ALL` (`spd`): there the speed is in metres per second.
 */
export const osmand = {
  values: listValues,
  read: value => (isFields(value) && 'coords' in value ? readTraccar(value) : readFields(value)),
  http: {
    summary: 'Send what Traccar Client, OsmAnd, GPSLogger and Home Assistant send',
    description: `Fields \`lat\` (\`latitude\`), \`lon\` (\`longitude\`, \`lng\`) and \`timestamp\` (\`time\`) with \`speed\` in knots
or \`s\` (\`spd\`) in metres per second, \`bearing\` (\`heading\`, \`dir\`), \`altitude\` (\`alt\`), \`accuracy\` (\`acc\`) and
\`batt\`, in the address, as a form, or both; or the JSON of Traccar Client. A body that does not begin as JSON and does not say that it is
JSON is a form, whatever its content type. The key says which device it is, and \`id\` is ignored. Without any position it is a
heartbeat, which moves \`lastSeenAt\`. HEAD stores nothing.`,
    example: {
      device_id: '48241179',
      location: {
        timestamp: '2026-11-21T10:00:00.000Z',
        coords: { latitude: 52.52, longitude: 13.405, accuracy: 5, speed: 12.5, heading: 271, altitude: 34 },
        battery: { level: 0.67, is_charging: false },
      },
    },
    answer: '',
    takesFields: true,
  },
} satisfies Format

const MPS_PER_KNOT = 1852 / 3600
/** Fields that become values of the point, or name the device, which its key does already. */
const READ = new Set([
  ...['lat', 'latitude', 'lon', 'longitude', 'lng', 'location', 'timestamp', 'time', 'speed', 's', 'spd'],
  ...['bearing', 'heading', 'dir', 'altitude', 'alt', 'accuracy', 'acc', 'batt', 'u', 'valid'],
  ...['id', 'deviceid', 'device_id'],
])
/** Names under which a position stands, or which were meant to hold one: a misspelt field is rejected and no heartbeat. */
const POSITION = /^(lat|lon|lng|coord)|^(loc|location|pos|position)$/i
/** https://github.com/transistorsoft/flutter_background_geolocation/wiki/Location-Data-Schema */
const KEPT = ['event', 'is_moving', 'odometer', 'mock']

/** Traccar Client sends one location under `location`; the library that it is made of can send several. */
function listValues(message: unknown): readonly unknown[] {
  const location = isFields(message) ? message.location : null
  const locations = oneOrMany(location)
  if (!isFields(message) || !locations.every(isFields)) return oneOrMany(message)
  return namesDevice(message) ? locations.filter(hasPosition) : locations
}

const namesDevice = (fields: Fields) => 'id' in fields || 'deviceid' in fields || 'device_id' in fields
const hasPosition = (fields: Fields) =>
  Object.keys(fields).some(name => POSITION.test(name) && fields[name] !== null)

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
  const both = typeof value.location === 'string' ? value.location.split(',') : []
  const lat = value.lat ?? value.latitude ?? both[0]
  const lng = value.lon ?? value.longitude ?? value.lng ?? both[1]
  // A heartbeat of Traccar Client, or what a phone sees of cells and networks and others place.
  if (!hasPosition(value) && (namesDevice(value) || 'cell' in value || 'wifi' in value)) return null
  const knots = toNumber(value.speed)
  return {
    lat: toNumber(lat),
    lng: toNumber(lng),
    timestamp: toTimestamp(value.timestamp ?? value.time),
    speed: typeof knots === 'number' ? knots * MPS_PER_KNOT : toNumber(value.s ?? value.spd),
    heading: toNumber(value.bearing ?? value.heading ?? value.dir),
    accuracy: toNumber(value.accuracy ?? value.acc),
    altitude: toNumber(value.altitude ?? value.alt),
    battery: toNumber(value.batt),
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
