import { isFields } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import { skip } from '../payload.ts'
import {
  type BuiltInProfile,
  convert,
  type Fields,
  KMH_PER_MPS,
  NO_POSITION,
  type Read,
  readOne,
  readPlace,
} from './reading.ts'

/**
 * Meshtastic's JSON over MQTT (https://meshtastic.org/docs/software/integrations/mqtt/). `from` is the device; `sender`
 * and the last level of the topic are the gateway that heard it. Waypoints and texts may carry the names of a position.
 */
export const meshtastic = {
  name: 'Meshtastic',
  topic: 'msh/#',
  read: (message, receivedAt) => {
    // Gateways also send each packet encrypted, on topics with /e/, and their state on /stat/.
    if (message.topic && !message.topic.includes('/json/'))
      return skip(null, 'Only topics with /json/ hold JSON.')
    return readOne(message, receivedAt, { reference: referenceOf, read: readPacket })
  },
} satisfies BuiltInProfile

/** The node as Meshtastic writes it: an exclamation mark and eight hexadecimal digits. Old firmware sends it signed. */
function referenceOf({ from }: Fields): string | null {
  const node = readNumber(from)
  return node !== null && Number.isInteger(node) ? `!${(node >>> 0).toString(16).padStart(8, '0')}` : null
}

/** With fewer bits a node rounds its place: 13 bits are 2.9 km. */
const ACCURACY_OF_NO_BITS_M = 23_905_787.925

function readPacket({ type, payload, timestamp }: Fields): Read {
  if (type !== 'position' || !isFields(payload)) return NO_POSITION
  const place = readPlace(payload.latitude_i, payload.longitude_i)
  if (typeof place === 'string') return place
  const bits = readNumber(payload.precision_bits)
  return {
    lat: place.lat / 1e7,
    lng: place.lng / 1e7,
    // A node whose clock is not set sends 0; the last is the time at which the gateway heard it.
    timestamp: readNumber(payload.time) || readNumber(payload.timestamp) || readNumber(timestamp),
    speed: convert(payload.ground_speed, kmh => kmh / KMH_PER_MPS),
    heading: convert(payload.ground_track, track => track / 1e5),
    altitude: readNumber(payload.altitude),
    accuracy: bits !== null && bits > 0 && bits < 32 ? ACCURACY_OF_NO_BITS_M / 2 ** bits : null,
  }
}
