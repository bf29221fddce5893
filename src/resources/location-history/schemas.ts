import { z } from 'zod'
import { eachMeasured, MEASURED, type MeasuredName } from '../../../db/measured.ts'
import { REASONS } from '../../../stream/point.ts'
import { queryBox } from '../../http/boxes.ts'
import { done, failure, failures, id, list, success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { queryTime, timeZone } from '../../http/times.ts'

/** The points and bytes of one request, and the points of one page of history. */
export const MAX_POINTS = 5_000
export const MAX_BYTES = 4 * 1024 * 1024
export const MAX_HISTORY = 100_000
export const STANDARD_LIMIT = 1_000
/** The points of a file. */
export const MAX_FILE = 1_000_000
/** The circumference of the Earth; a larger tolerance makes no difference. */
const MAX_TOLERANCE_M = 40_000_000
const MAX_SHAPE = 10_000

const measured = (name: MeasuredName) => {
  const { unit, range } = MEASURED[name]
  const [min, max] = range
  return {
    type: ['number', 'null'],
    description: `${unit}, ${min} to ${max}; null where it is not known or beyond`,
  } as const
}

/**
 * A point is described here and validated in `ingest/fix.ts`: a wrong point among good ones is rejected alone, so the
 * schema must let it through.
 */
const point = z.unknown().meta({
  id: 'NewPoint',
  type: 'object',
  required: ['lat', 'lng', 'timestamp'],
  // Unknown keys of a point are ignored.
  additionalProperties: true,
  properties: {
    lat: { type: 'number', minimum: -90, maximum: 90 },
    lng: { type: 'number', minimum: -180, maximum: 180 },
    timestamp: {
      oneOf: [{ type: 'string' }, { type: 'number' }],
      description: 'When the fix was taken: RFC 3339 with an offset, or seconds or milliseconds since 1970',
    },
    ...eachMeasured(measured),
    attributes: { type: ['object', 'null'], additionalProperties: true, description: 'Up to 2 KiB of JSON' },
    deviceId: { type: 'string', description: "The device that it is of, instead of the caller's own" },
  },
  examples: [{ lat: 52.52, lng: 13.405, timestamp: '2026-11-21T10:00:00Z', speed: 12.5, heading: 270 }],
})

const bulk = z.strictObject({ points: z.array(point) })

const bulkResult = z.object({
  accepted: z.int(),
  duplicates: z.int().describe('Points that were there already'),
  rejected: z.array(
    z.object({
      index: z.int(),
      reason: z.enum([...REASONS, 'unknown-device']),
      message: text('lat has to be between -90 and 90.'),
    }),
  ),
})

const bulkAnswer = z.object({ status: done, message: text('Points accepted'), data: bulkResult })
const bulkRejected = failure.extend({ data: bulkResult.optional() }).describe('All of them are wrong')

const number = (example: number) => z.number().meta({ examples: [example] })

const historyPoint = z.object({
  _id: id,
  subjectId: id,
  subjectType: z.enum(['user', 'device']),
  lat: number(52.52),
  lng: number(13.405),
  timestamp: text('2026-11-21T10:00:00.000Z'),
  receivedAt: text('2026-11-21T10:00:00.420Z'),
  ...eachMeasured(name => number(MEASURED[name].example).nullable()),
  attributes: z.record(z.string(), z.unknown()).nullable(),
  anomaly: z.enum(['speed', 'accuracy']).nullable().describe('Why it counts as wrong'),
})

const ids = z.string().optional()

const historyQuery = z.object({
  userId: ids.describe('Users, separated by commas'),
  deviceId: ids.describe('Devices, separated by commas'),
  vehicleId: ids.describe('Vehicles, separated by commas: the devices while they were mounted'),
  from: queryTime.optional().describe('Inclusive: RFC 3339, or seconds or milliseconds since 1970'),
  to: queryTime.optional().describe('Exclusive'),
  bbox: queryBox
    .optional()
    .describe('west,south,east,north in degrees; west > east crosses the antimeridian'),
  order: z.enum(['asc', 'desc']).default('asc'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_FILE)
    .optional()
    .describe('Standard 1,000 and at most 100,000; of a file 1,000,000'),
  cursor: z.string().optional().describe('`nextCursor` of the page before'),
  simplify: z.coerce
    .number()
    .min(0)
    .max(MAX_TOLERANCE_M)
    .optional()
    .describe('Metres: leaves out points without which each track stays as close as this to where it was'),
  maxPoints: z.coerce
    .number()
    .int()
    .min(2)
    .max(MAX_SHAPE)
    .optional()
    .describe(
      'Leaves out the points that are missed least, by place, time and speed, until at most so many are left, of all subjects together. A gap of more than five minutes is one of the subject, unless these are few',
    ),
  format: z.enum(['json', 'geojson', 'gpx', 'csv']).default('json'),
  includeAnomalies: z
    .enum(['true', 'false'])
    .default('false')
    .describe('Whether points that count as wrong (`anomaly`) are in the answer'),
})

export type HistoryQuery = z.output<typeof historyQuery>

nameSchemas({
  NewPoints: bulk,
  PointsResult: bulkResult,
  Point: historyPoint,
  RejectedPoint: bulkResult.shape.rejected.element,
})

const tags = ['Location history']

export const appendPoints = operation(
  {
    access: 'create/location',
    tags,
    summary: 'Send up to 5,000 points; 200 when they are durable',
    description: `The subject is the calling user, or the device whose key is the bearer token; an API key names the device of each. Wrong points are
reported one by one and take nothing with them, one whose \`deviceId\` is no device of the caller's (\`unknown-device\`) in
the answer alone. The same points again are duplicates, which is fine.`,
    body: bulk,
    response: { 200: bulkAnswer, 400: bulkRejected, ...failures(401, 403, 413, 415, 503) },
  },
  { deviceKey: true, role: 'ingest', gzip: true },
)

export const listPoints = operation({
  access: 'view/location',
  tags,
  summary: 'The points of subjects in order of time',
  description: `Without a subject: the newest point of each that the caller may see, with \`to\` the newest before
it. A vehicle's points are those of its devices while they were mounted. Who sees whose follows the role's scope, the
teams and the hubs: what a device recorded on a vehicle belongs to the vehicle's hub, also after it was taken off, and everything else to
its own.

A fix that implies more than 100 m/s both from the one before it and to the one after it is marked \`anomaly: speed\`, one
that is less accurate than the organization's \`settings.maxAccuracy\` \`accuracy\`. It is left out here and of trips, and is no
newest point, unless \`includeAnomalies\` asks for it; late points may mark it, or show that it is right.

\`simplify\` and \`maxPoints\` keep the shape of each track: its ends and turns stay, and so do anomalies that are asked for, up
to half of \`maxPoints\`. \`maxPoints\` keeps its times as well: where it stood, and that it was not silent there. A page is made from at most 1,000,000
points, and \`nextCursor\` goes on after them.

\`format\` other than json is a file of everything that matches, subject after subject: GeoJSON (a LineString a subject, its
times in \`properties.coordTimes\`; of a single point it is there twice; a MultiLineString with the times of each line where it may cross the
antimeridian, at which lines are cut), GPX 1.1 (a \`trk\` a subject, with another \`trkseg\` after more than 30 minutes without a fix)
or CSV (a header with the point's field names).`,
  querystring: historyQuery,
  response: {
    200: {
      description: 'A page of the list, or a file',
      content: {
        'application/json': { schema: list(historyPoint) },
        'application/geo+json': { schema: text('{"type":"FeatureCollection","features":[]}') },
        'application/gpx+xml': { schema: text('<gpx version="1.1" creator="Fieldline"></gpx>') },
        'text/csv': { schema: text('_id,subjectId,subjectType,lat,lng,timestamp') },
      },
    },
  },
})

const place = z.object({ lat: number(52.52), lng: number(13.405) })
const seconds = number(1260).describe('Seconds')
const metres = number(8420.5).describe('Metres')

const tripsQuery = z.object({
  userId: z.string().optional(),
  deviceId: id.optional(),
  vehicleId: z.string().optional().describe('Exactly one of the three is given'),
  from: queryTime.describe('Inclusive: RFC 3339, or seconds or milliseconds since 1970'),
  to: queryTime.describe('Exclusive, and at most 366 days later'),
  stopMinutes: z.coerce
    .number()
    .min(1)
    .max(1_440)
    .default(5)
    .describe('How long it stays within 100 m where it stops'),
  timezone: timeZone.optional().describe("Whose days are meant; the organization's unless given"),
})

export type TripsQuery = z.output<typeof tripsQuery>

const trips = z.object({
  trips: z.array(
    z.object({
      startTime: text('2026-11-21T08:00:00.000Z'),
      endTime: text('2026-11-21T08:21:00.000Z'),
      start: place,
      end: place,
      distance: metres,
      duration: seconds,
      maxSpeed: number(16.5).describe('Metres per second'),
      points: z.int().describe('How many fixes it has'),
    }),
  ),
  stops: z.array(
    place.extend({
      startTime: text('2026-11-21T08:21:00.000Z'),
      endTime: text('2026-11-21T08:42:00.000Z'),
      duration: seconds,
    }),
  ),
  days: z.array(
    z.object({
      date: text('2026-11-21'),
      distance: metres,
      duration: seconds.describe('Seconds in trips'),
    }),
  ),
})

nameSchemas({
  Place: place,
  Trips: trips,
  Trip: trips.shape.trips.element,
  Stop: trips.shape.stops.element,
  DayOfTrips: trips.shape.days.element,
})

export const listTrips = operation(
  {
    access: 'view/location',
    tags,
    summary: 'The trips, stops and days of a subject',
    description: `A stop is \`stopMinutes\` within 100 m. Between stops are trips, from the last fix of one to the first of the
next; more than 30 minutes without a fix end a trip, and what never goes 100 m from its beginning is none. Late points correct
what comes out. Up to 5,000,000 points and 20,000 trips and stops are gone through for one answer.`,
    querystring: tripsQuery,
    response: {
      200: success(trips),
    },
  },
  { heavy: true },
)

export const getPoint = operation({
  access: 'view/location',
  tags,
  summary: 'One point',
  description: 'Under the `_id` that it has in the history.',
  params: z.object({ id }),
  response: { 200: success(historyPoint) },
})
