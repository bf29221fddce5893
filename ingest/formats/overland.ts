import { type Format, isFields, NoPoint, oneOrMany, pick, type RawFix, toPercent } from './format.ts'

/** https://github.com/aaronpk/Overland-iOS#api; the app sends unknown values as -1 or ''. */
const KEPT = [
  ...[
    'vertical_accuracy',
    'speed_accuracy',
    'course_accuracy',
    'motion',
    'activity',
    'battery_state',
    'wifi',
  ],
]

/** Overland: GeoJSON features under `locations`, many at once. `current` and `trip` repeat positions of the queue. */
export const overland = {
  values: message =>
    isFields(message) && Array.isArray(message.locations) ? message.locations : oneOrMany(message),
  read: readOverland,
  http: {
    summary: 'Send what Overland sends',
    description: `The features under \`locations\`, in metres per second and metres. Records of trips, visits and other
actions are accepted and ignored, as are \`current\` and \`trip\`: their positions come with the others.`,
    example: {
      locations: [
        {
          type: 'Feature',
          geometry: { type: 'Point', coordinates: [13.405, 52.52] },
          properties: {
            timestamp: '2026-11-21T10:00:00Z',
            speed: 4,
            horizontal_accuracy: 30,
            battery_level: 0.89,
          },
        },
      ],
    },
    // With any other answer the app keeps the batch and sends it again.
    answer: { result: 'ok' },
  },
} satisfies Format

function readOverland(value: unknown): RawFix | NoPoint | null {
  const properties = isFields(value) ? value.properties : null
  const geometry = isFields(value) ? value.geometry : null
  if (!isFields(properties))
    return new NoPoint('bad-shape', 'Overland sends GeoJSON features under locations.')
  // A trip, a visit, or an action such as crossing a geofence has the last position, but another time.
  if (properties.type !== undefined || properties.action !== undefined) return null
  const [lng, lat] = isFields(geometry) && Array.isArray(geometry.coordinates) ? geometry.coordinates : []
  return {
    lat,
    lng,
    timestamp: withColon(properties.timestamp),
    speed: properties.speed,
    heading: properties.course,
    accuracy: properties.horizontal_accuracy,
    altitude: properties.altitude,
    battery: toPercent(properties.battery_level),
    attributes: pick(properties, KEPT),
  }
}

/** Overland writes the offset as -0700. */
const withColon = (timestamp: unknown): unknown =>
  typeof timestamp === 'string' ? timestamp.replace(/([+-]\d\d)(\d\d)$/, '$1:$2') : timestamp
