import { isFields, NoPoint } from '../../formats/format.ts'
import { readReference } from '../payload.ts'
import { readCodec } from './codec.ts'
import { readLocated } from './located.ts'
import {
  type BuiltInProfile,
  type Fields,
  fieldsAt,
  NO_POSITION,
  type Read,
  readOne,
  type TrackerMessage,
} from './reading.ts'

/**
 * ChirpStack 4, over MQTT and HTTP (https://www.chirpstack.io/docs/chirpstack/integrations/events.html). `rxInfo` has
 * the places of gateways.
 */
export const chirpstack = {
  name: 'ChirpStack',
  topic: 'application/+/device/+/event/+',
  read: (message, receivedAt) =>
    readOne(message, receivedAt, {
      reference: payload => readReference(fieldsAt(payload, 'deviceInfo')?.devEui),
      read: payload => readEvent(payload, eventOf(message)),
    }),
} satisfies BuiltInProfile

/** The event stands in the last level of the topic, over HTTP in the query. */
const eventOf = ({ topic, query }: TrackerMessage): unknown => topic?.split('/').at(-1) ?? query?.event

function readEvent(payload: Fields, event: unknown): Read {
  if (!isFields(payload.deviceInfo)) return new NoPoint('bad-shape', 'An event of ChirpStack has deviceInfo.')
  if (event === 'location' || (event === undefined && isFields(payload.location))) {
    return readLocated(payload.location, payload.time, 'CONFIG')
  }
  if (event !== 'up' && event !== undefined) return NO_POSITION
  const [reception] = Array.isArray(payload.rxInfo) ? payload.rxInfo : []
  const uplinkAt = payload.time ?? (isFields(reception) ? (reception.gwTime ?? reception.nsTime) : undefined)
  // The unit of a speed is known to the codec alone.
  return readCodec(payload.object, { uplinkAt, plainSpeedMps: null })
}
