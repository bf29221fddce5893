import { isFields, NoPoint } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import { readReference } from '../payload.ts'
import { type BuiltInProfile, type Fields, type Read, readOne, readPlace } from './reading.ts'

/**
 * Callbacks of Sigfox (https://support.sigfox.com/docs/callback-medium), whose body the owner writes. `computedLocation`
 * is the network's geolocation. `lat` and `lng` of the oldest callbacks are the place of the base station in whole
 * degrees; with a fraction they come from the device's payload. All values may be texts.
 */
export const sigfox = {
  name: 'Sigfox',
  topic: 'sigfox/#',
  read: (message, receivedAt) => readOne(message, receivedAt, { reference: referenceOf, read: readCallback }),
} satisfies BuiltInProfile

const referenceOf = ({ device, deviceId, id }: Fields) =>
  readReference(device) ?? readReference(deviceId) ?? readReference(id)

const COMPUTED = 1

function readCallback(body: Fields): Read {
  if (referenceOf(body) === null) return new NoPoint('bad-shape', 'A callback of Sigfox names its device.')
  const computed = [body.computedLocation, body.location, body.geolocation].find(isFields)
  if (computed) return readComputed(computed, body)
  if (body.newPosition === false || body.newPosition === 'false') return 'The device has no new position.'
  const place = readPlace(body.latitude ?? body.lat, body.longitude ?? body.lng ?? body.lon)
  if (typeof place === 'string') return place
  if (Number.isInteger(place.lat) && Number.isInteger(place.lng))
    return 'Whole degrees are the place of the base station.'
  return {
    ...place,
    timestamp: timeOf(body.positionTime ?? body.time),
    speed: null,
    altitude: readNumber(body.altitude),
    accuracy: readNumber(body.accuracy ?? body.radius),
    battery: readNumber(body.batteryPercentage),
  }
}

function readComputed(computed: Fields, body: Fields): Read {
  if (computed.status !== undefined && readNumber(computed.status) !== COMPUTED)
    return 'The network could not compute a place.'
  const place = readPlace(computed.lat, computed.lng)
  if (typeof place === 'string') return place
  return { ...place, timestamp: timeOf(body.time ?? computed.time), accuracy: readNumber(computed.radius) }
}

/** Undefined without a time: then it is the time of receipt. */
const timeOf = (value: unknown) =>
  value === undefined || value === 'null' ? undefined : (readNumber(value) ?? value)
