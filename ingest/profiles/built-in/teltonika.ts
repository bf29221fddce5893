import { isFields, NoPoint, pick } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import {
  type BuiltInProfile,
  convert,
  type Fields,
  fieldsAt,
  KMH_PER_MPS,
  NO_FIX,
  NO_POSITION,
  type Read,
  readOne,
  readPlace,
  type TrackerMessage,
} from './reading.ts'

/**
 * Teltonika's Codec JSON over MQTT (https://wiki.teltonika-gps.com/view/Codec#Codec_JSON). The payload has no IMEI: it
 * is a level of the topic, which the owner chooses, or the client identifier. Numbers may be texts.
 */
export const teltonika = {
  name: 'Teltonika',
  topic: '#',
  read: (message, receivedAt) =>
    readOne(message, receivedAt, { reference: () => imeiOf(message), read: readRecord }),
} satisfies BuiltInProfile

const IMEI = /^\d{15}$/

function imeiOf({ topic, clientId }: TrackerMessage): string | null {
  const level = topic?.split('/').findLast(one => IMEI.test(one))
  return level ?? /(?<!\d)\d{15}(?!\d)/.exec(clientId?.slice(0, 128) ?? '')?.[0] ?? null
}

/** Inputs and outputs that a fleet looks at, by their number: ignition, movement, odometer (m), voltages (mV), signal. */
const KEPT = ['evt', 'pr', '239', '240', '16', '66', '67', '68', '21', '24', '69', '181', '182']
const BATTERY = '113'

function readRecord(payload: Fields): Read {
  if (payload.RSP !== undefined) return 'This is the answer to a command.'
  const record = fieldsAt(payload, 'state', 'reported')
  if (!record) return new NoPoint('bad-shape', 'A record of Codec JSON has state.reported.')
  const [lat, lng, ...more] = typeof record.latlng === 'string' ? record.latlng.slice(0, 64).split(',') : []
  if (lng === undefined || more.length > 0) return NO_POSITION
  const place = readPlace(lat, lng)
  if (typeof place === 'string') return place
  // Without a fix the record has the place of the last one, with no satellites.
  if (readNumber(record.sat) === 0) return NO_FIX
  return {
    ...place,
    timestamp: readNumber(record.ts) ?? record.ts ?? null,
    speed: convert(record.sp, kmh => kmh / KMH_PER_MPS),
    heading: readNumber(record.ang),
    altitude: readNumber(record.alt),
    battery: readNumber(record[BATTERY]),
    attributes: pick(
      record,
      KEPT.filter(name => !isFields(record[name])),
    ),
  }
}
