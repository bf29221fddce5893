import { isFields, NoPoint, oneOrMany, pick } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import { MAX_POSITIONS, positionsOf, readPayload, readReference, refuse, skip, tooMany } from '../payload.ts'
import {
  type BuiltInProfile,
  convert,
  type Fields,
  KMH_PER_MPS,
  NO_POSITION,
  type Read,
  type ReadMessage,
  readPlace,
  type TrackerMessage,
} from './reading.ts'

/**
 * flespi's messages (https://flespi.com/docs/#/parameters): over HTTP a list, over MQTT one each. Names have dots;
 * speed is in km/h, the time in seconds with a fraction.
 */
export const flespi = {
  name: 'flespi',
  topic: 'flespi/message/gw/#',
  read: readMessages,
} satisfies BuiltInProfile

function readMessages(message: TrackerMessage): ReadMessage {
  const read = readPayload(message)
  if (read instanceof NoPoint) return refuse(null, read)
  const list = oneOrMany(read.value)
  if (list.length > MAX_POSITIONS) return refuse(null, tooMany(list.length))
  if (!list.every(isFields))
    return refuse(null, new NoPoint('bad-shape', 'A message of flespi is a JSON object.'))
  const references = list.map(({ ident }) => readReference(ident))
  const reference = references[0] ?? null
  let why = NO_POSITION
  const positions = list.flatMap((value, place) => {
    const fix = readFix(value)
    if (typeof fix !== 'string') {
      return {
        reference: references[place] ?? null,
        value,
        index: Array.isArray(read.value) ? place : null,
        fix,
      }
    }
    why = fix
    return []
  })
  return positions.length > 0 ? positionsOf(reference, positions) : skip(reference, why)
}

const KEPT = [
  'engine.ignition.status',
  'movement.status',
  'vehicle.mileage',
  'external.powersource.voltage',
  'battery.voltage',
  'position.satellites',
  'position.hdop',
  'event.enum',
  'din',
  'dout',
]

function readFix(message: Fields): Read {
  if (message.ident === undefined) return new NoPoint('bad-shape', 'A message of flespi has an ident.')
  if (message['position.valid'] === false) return 'The device has no fix, and repeats an old place.'
  const place = readPlace(message['position.latitude'], message['position.longitude'])
  if (typeof place === 'string') return place
  return {
    ...place,
    timestamp: message['position.timestamp'] ?? message.timestamp,
    speed: convert(message['position.speed'], kmh => kmh / KMH_PER_MPS),
    heading: readNumber(message['position.direction']),
    altitude: readNumber(message['position.altitude']),
    accuracy: readNumber(message['position.accuracy']),
    battery: readNumber(message['battery.level']),
    attributes: pick(
      message,
      KEPT.filter(name => typeof message[name] !== 'object'),
    ),
  }
}
