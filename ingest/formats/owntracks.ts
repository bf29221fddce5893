import { type Format, isFields, NoPoint, oneOrMany, pick, type RawFix, toNumber } from './format.ts'

const KMH_PER_MPS = 3.6
/** The other fields of a location message that are worth keeping. https://owntracks.org/booklet/tech/json/ */
const KEPT = [
  ...['tid', 't', 'conn', 'bs', 'vac', 'p', 'rad', 'inregions', 'inrids', 'm', 'motionactivities'],
  ...['SSID', 'BSSID', 'poi', 'tag', 'created_at'],
]

/** OwnTracks JSON, one message or an array. With an empty message the app clears a broker's retained message. */
export const owntracks = {
  isTopic: (topic, { kind }) => kind === 'device' && /^owntracks\/[^/]+\/[^/]+(\/[^/]+)?$/.test(topic),
  values: oneOrMany,
  read: readOwnTracks,
  sendsEmpty: true,
  http: {
    summary: 'Send what OwnTracks sends in its HTTP mode',
    description: `A location is stored; messages of other types hold no position of the device and are accepted
and ignored, as an empty body is. Encrypted ones are rejected. Where the organization's \`settings.teamPositions\` is true the
answer holds a \`card\` and a \`location\` of each of the team of whoever drives the vehicle that the device is on, as far as
they may see them; else it is empty.`,
    example: {
      _type: 'location',
      lat: 52.52,
      lon: 13.405,
      tst: 1763722800,
      vel: 43,
      cog: 271,
      batt: 67,
      tid: 'AJ',
    },
    answer: [],
    answersTeam: true,
  },
} satisfies Format

/**
 * Reads a message of OwnTracks. Speed (`vel`) is in km/h, the vertical accuracy and altitude in metres, `tst` in
 * seconds; early versions write numbers as text. Messages of other types (transition, waypoint, waypoints, lwt, status,
 * card, cmd, steps, beacon, dump, …) are legal and have no position of the device: null.
 */
function readOwnTracks(value: unknown): RawFix | NoPoint | null {
  if (!isFields(value)) return new NoPoint('bad-shape', 'An OwnTracks message has to be a JSON object.')
  if (value._type === 'encrypted') {
    return new NoPoint('encrypted', 'The payload is encrypted: switch payload encryption off in the app.')
  }
  if (typeof value._type !== 'string') {
    return new NoPoint('bad-shape', 'An OwnTracks message has to have a _type.')
  }
  if (value._type !== 'location') return null
  const speedKmh = toNumber(value.vel)
  return {
    lat: toNumber(value.lat),
    lng: toNumber(value.lon),
    timestamp: toNumber(value.tst),
    speed: typeof speedKmh === 'number' ? speedKmh / KMH_PER_MPS : null,
    heading: toNumber(value.cog),
    accuracy: toNumber(value.acc),
    altitude: toNumber(value.alt),
    battery: toNumber(value.batt),
    attributes: pick(value, KEPT),
  }
}
