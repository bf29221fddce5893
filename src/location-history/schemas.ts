import { z } from 'zod'
import { REASONS } from '../../stream/point.ts'
import { failure, id } from '../envelope.ts'

/** The most points and bytes of one request. */
export const MOST_POINTS = 5_000
export const MOST_BYTES = 4 * 1024 * 1024
export const MOST_HISTORY = 100_000

/**
 * A point is described here and judged one by one in `ingest/fix.ts`: a wrong one among good ones is refused alone,
 * so the schema must let it through.
 */
const point = z.unknown().meta({
  id: 'NewPoint',
  type: 'object',
  required: ['lat', 'lng', 'timestamp'],
  properties: {
    lat: { type: 'number', minimum: -90, maximum: 90 },
    lng: { type: 'number', minimum: -180, maximum: 180 },
    timestamp: {
      oneOf: [{ type: 'string', format: 'date-time' }, { type: 'number' }],
      description: 'When the fix was taken: RFC 3339 with an offset, or seconds or milliseconds since 1970',
    },
    speed: { type: ['number', 'null'], description: 'Metres per second' },
    heading: { type: ['number', 'null'], description: 'Degrees clockwise from true north' },
    accuracy: { type: ['number', 'null'], description: 'Metres' },
    altitude: { type: ['number', 'null'], description: 'Metres' },
    battery: { type: ['number', 'null'], description: 'Per cent' },
    attributes: { type: ['object', 'null'], description: 'Up to 2 KiB of JSON' },
    deviceId: { type: 'string', description: "The device that it is of, instead of the caller's own" },
  },
  examples: [{ lat: 52.52, lng: 13.405, timestamp: '2026-11-21T10:00:00Z', speed: 12.5, heading: 270 }],
})

export const bulk = z.strictObject({ points: z.array(point) })

const bulkResult = z.object({
  accepted: z.int(),
  duplicates: z.int().describe('Points that were there already'),
  rejected: z.array(z.object({ index: z.int(), reason: z.enum(REASONS), message: z.string() })),
})

export const bulkAnswer = z.object({ status: z.literal(true), message: z.string(), data: bulkResult })
export const bulkRefusal = failure.extend({ data: bulkResult.optional() }).describe('All of them are wrong')

export const historyPoint = z.object({
  _id: id,
  subjectId: id,
  subjectType: z.enum(['user', 'device']),
  lat: z.number(),
  lng: z.number(),
  timestamp: z.string(),
  receivedAt: z.string(),
  speed: z.number().nullable(),
  heading: z.number().nullable(),
  accuracy: z.number().nullable(),
  altitude: z.number().nullable(),
  battery: z.number().nullable(),
  attributes: z.record(z.string(), z.unknown()).nullable(),
})

const ids = z.string().optional()

export const historyQuery = z.object({
  userId: ids.describe('Users, separated by commas'),
  deviceId: ids.describe('Devices, separated by commas'),
  vehicleId: ids.describe('Vehicles, separated by commas: the devices while they were mounted'),
  from: z.string().optional().describe('Inclusive: RFC 3339, or seconds or milliseconds since 1970'),
  to: z.string().optional().describe('Exclusive'),
  bbox: z
    .string()
    .optional()
    .describe('west,south,east,north in degrees; west > east crosses the antimeridian'),
  order: z.enum(['asc', 'desc']).default('asc'),
  limit: z.coerce.number().int().min(1).max(MOST_HISTORY).default(1000),
  cursor: z.string().optional(),
})
