import { isFields, NoPoint } from '../../formats/format.ts'
import { readReference } from '../payload.ts'
import { readCodec } from './codec.ts'
import { readLocated } from './located.ts'
import {
  type BuiltInProfile,
  type Fields,
  fieldsAt,
  MPS_PER_KNOT,
  NO_POSITION,
  type Read,
  readOne,
} from './reading.ts'

/**
 * The Things Stack 3, over MQTT and as a webhook (https://www.thethingsindustries.com/docs/integrations/data-formats/).
 * Only what the device's codec or the network's geolocation says is its position: `rx_metadata` has the places of
 * gateways, `locations` those that a person typed in or that came with an earlier uplink.
 */
export const ttn = {
  name: 'The Things Stack',
  topic: 'v3/+/devices/+/#',
  read: (message, receivedAt) =>
    readOne(message, receivedAt, {
      reference: payload => readReference(fieldsAt(payload, 'end_device_ids')?.device_id),
      read: readUplink,
    }),
} satisfies BuiltInProfile

function readUplink(payload: Fields): Read {
  if (!isFields(payload.end_device_ids)) {
    return new NoPoint('bad-shape', 'A message of The Things Stack has end_device_ids.')
  }
  const solved = fieldsAt(payload, 'location_solved')
  if (solved) return readLocated(solved.location, payload.received_at, 'SOURCE_REGISTRY')
  const uplink = fieldsAt(payload, 'uplink_message') ?? fieldsAt(payload, 'uplink_normalized')
  if (!uplink) return NO_POSITION
  const known = {
    uplinkAt: uplink.received_at ?? payload.received_at,
    // Codecs that name no unit are read as Traccar reads them: in knots.
    plainSpeedMps: MPS_PER_KNOT,
  }
  const decoded = readCodec(uplink.decoded_payload, known)
  if (decoded !== NO_POSITION) return decoded
  const normalized = Array.isArray(uplink.normalized_payload)
    ? uplink.normalized_payload[0]
    : uplink.normalized_payload
  return readCodec(normalized, known)
}
