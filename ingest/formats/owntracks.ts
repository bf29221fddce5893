import { type Format, NoPoint, oneOrMany, type RawFix } from './format.ts'

const KMH_PER_MPS = 3.6
/** What else of a location message is worth keeping. https://owntracks.org/booklet/tech/json/ */
const KEPT = ['tid', 't', 'conn', 'bs', 'vac', 'p', 'inregions', 'm'] as const

/** OwnTracks JSON, one message or an array of them; with an empty one it clears what a broker has retained. */
export const owntracks = {
  isTopic: (topic, { kind }) => kind === 'device' && /^owntracks\/[^/]+\/[^/]+(\/[^/]+)?$/.test(topic),
  values: oneOrMany,
  read: readOwnTracks,
  sendsEmpty: true,
} satisfies Format

/**
 * A message of OwnTracks. Speed (`vel`) is in km/h, the vertical accuracy and altitude in metres, `tst` in seconds; early
 * versions write numbers as strings. Messages of other types (transition, waypoint, lwt, status, card, cmd, …) are
 * legal and have no position: null.
 */
function readOwnTracks(value: unknown): RawFix | NoPoint | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return new NoPoint('bad-shape', 'An OwnTracks message has to be a JSON object.')
  }
  const message = value as Record<string, unknown>
  if (message._type === 'encrypted') {
    return new NoPoint('encrypted', 'The payload is encrypted: switch payload encryption off in the app.')
  }
  if (typeof message._type !== 'string') {
    return new NoPoint('bad-shape', 'An OwnTracks message has to have a _type.')
  }
  if (message._type !== 'location') return null
  const speedKmh = toNumber(message.vel)
  const attributes = Object.fromEntries(KEPT.filter(key => key in message).map(key => [key, message[key]]))
  return {
    lat: toNumber(message.lat),
    lng: toNumber(message.lon),
    timestamp: toNumber(message.tst),
    speed: typeof speedKmh === 'number' ? speedKmh / KMH_PER_MPS : null,
    heading: toNumber(message.cog),
    accuracy: toNumber(message.acc),
    altitude: toNumber(message.alt),
    battery: toNumber(message.batt),
    attributes: Object.keys(attributes).length > 0 ? attributes : null,
  }
}

/** A number that may be written as a string; anything else as it is, to be validated later. */
function toNumber(value: unknown): unknown {
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : value
}
