import { isFields, NoPoint, pick } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import { readReference } from '../payload.ts'
import { type BuiltInProfile, type Fields, NO_POSITION, type Read, readOne, readPlace } from './reading.ts'

/**
 * Events of Blues Notehub (https://dev.blues.io/api-reference/glossary/#event). The time of a place is
 * `best_location_when`; each event repeats the last place, which is then the same point again. A tower is kilometres off.
 */
export const notehub = {
  name: 'Blues Notehub',
  topic: 'notehub/#',
  read: (message, receivedAt) =>
    readOne(message, receivedAt, { reference: ({ device }) => readReference(device), read: readEvent }),
} satisfies BuiltInProfile

const OF_THE_DEVICE = ['gps', 'triangulated']
const TRACK = '_track.qo'

function readEvent(event: Fields): Read {
  if (typeof event.device !== 'string')
    return new NoPoint('bad-shape', 'An event of Notehub names its device.')
  if (event.best_lat === undefined && event.best_lon === undefined) return NO_POSITION
  if (!OF_THE_DEVICE.some(type => type === event.best_location_type))
    return 'The place is that of a radio mast.'
  // Notehub leaves out a value that is 0.
  const place = readPlace(event.best_lat ?? 0, event.best_lon ?? 0)
  if (typeof place === 'string') return place
  const body = isFields(event.body) ? event.body : {}
  // The speed of a track belongs to its place; other notes only repeat the place.
  const track = event.file === TRACK ? body : {}
  return {
    ...place,
    timestamp: event.best_location_when ?? null,
    speed: readNumber(track.velocity),
    heading: readNumber(track.bearing),
    attributes: pick(event, ['best_location_type', 'sn']),
  }
}
