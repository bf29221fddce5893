import { isFields, NoPoint, pick } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import { readReference } from '../payload.ts'
import {
  type BuiltInProfile,
  convert,
  type Fields,
  fieldsAt,
  MPS_PER_KNOT,
  type Read,
  readObject,
  readOne,
  readPlace,
} from './reading.ts'

/**
 * Messages that Traccar forwards (https://www.traccar.org/forward/): as JSON with `forward.type` json, over MQTT with mqtt, and
 * with url in the address. Speeds are in knots. Without a fix Traccar repeats the last place, marked as outdated.
 */
export const traccar = {
  name: 'Traccar',
  topic: '#',
  read: (message, receivedAt) => {
    const { payload, query } = message
    if (payload.length === 0 && query)
      return readObject(query, receivedAt, referenceOfQuery(query), readQuery)
    return readOne(message, receivedAt, {
      reference: ({ device }) => readReference(isFields(device) ? device.uniqueId : null),
      read: readPosition,
    })
  },
} satisfies BuiltInProfile

const KEPT = [
  'ignition',
  'motion',
  'alarm',
  'odometer',
  'totalDistance',
  'hours',
  'power',
  'battery',
  'fuel',
  'sat',
  'rssi',
  'driverUniqueId',
]
const OLD = 'Traccar repeats the last place, which is not valid.'

function readPosition(payload: Fields): Read {
  const position = fieldsAt(payload, 'position')
  if (isFields(payload.event)) return 'An event repeats a position that was forwarded before.'
  if (!position || !isFields(payload.device)) {
    return new NoPoint('bad-shape', 'What Traccar forwards has a position and a device.')
  }
  const attributes = fieldsAt(position, 'attributes') ?? {}
  if (position.outdated === true || position.valid === false) return OLD
  const place = readPlace(position.latitude, position.longitude)
  if (typeof place === 'string') return place
  return {
    ...place,
    ...measuredOf(position),
    timestamp: position.fixTime ?? position.deviceTime,
    battery: attributes.batteryLevel,
    attributes: pick(
      attributes,
      KEPT.filter(name => typeof attributes[name] !== 'object'),
    ),
  }
}

const measuredOf = ({ speed, course, altitude, accuracy }: Fields) => ({
  speed: convert(speed, knots => knots * MPS_PER_KNOT),
  heading: readNumber(course),
  altitude: readNumber(altitude),
  // 0 stands for unknown.
  accuracy: readNumber(accuracy) || null,
})

/** The fields of an address are named by its owner, mostly like the variables that Traccar puts in. */
const referenceOfQuery = ({ uniqueId, id, deviceid, name }: Fields) =>
  readReference(uniqueId) ?? readReference(id) ?? readReference(deviceid) ?? readReference(name)

function readQuery(query: Fields): Read {
  if (query.valid === 'false') return OLD
  const sentence = readSentence(query.gprmc)
  const place = readPlace(
    query.latitude ?? query.lat ?? sentence?.lat,
    query.longitude ?? query.lon ?? sentence?.lng,
  )
  if (typeof place === 'string') return place
  const time = query.fixTime ?? query.deviceTime ?? sentence?.timestamp
  return {
    ...place,
    ...measuredOf({
      ...query,
      speed: query.speed ?? sentence?.speed,
      course: query.course ?? sentence?.course,
    }),
    timestamp: readNumber(time) ?? time,
    battery: readNumber(query.batteryLevel),
  }
}

const GPRMC =
  /^\$GPRMC,(\d\d)(\d\d)(\d\d)(?:\.\d+)?,A,(\d\d)(\d\d\.\d+),([NS]),(\d{3})(\d\d\.\d+),([EW]),([\d.]*),([\d.]*),(\d\d)(\d\d)(\d\d),/

/** {gprmc}: hhmmss, ddmm.mmmm, dddmm.mmmm, knots, degrees, ddmmyy. Its status is A even for a place that is not valid. */
function readSentence(value: unknown): Fields | null {
  const found = typeof value === 'string' ? GPRMC.exec(value.slice(0, 128)) : null
  if (!found) return null
  const [, hh, mm, ss, lat, latMinutes, ns, lng, lngMinutes, ew, speed, course, day, month, year] = found
  const degrees = (whole: string | undefined, minutes: string | undefined, isNegative: boolean) =>
    (Number(whole) + Number(minutes) / 60) * (isNegative ? -1 : 1)
  return {
    lat: degrees(lat, latMinutes, ns === 'S'),
    lng: degrees(lng, lngMinutes, ew === 'W'),
    speed,
    course,
    timestamp: `20${year}-${month}-${day}T${hh}:${mm}:${ss}Z`,
  }
}
