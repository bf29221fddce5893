import { z } from 'zod'
import { GEOFENCE_SORTS } from '../../../db/queries/geofences.ts'
import {
  deleted,
  failures,
  id,
  isSample,
  list,
  pathId,
  reference,
  success,
  text,
} from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { closeRing } from './ring.ts'

/** A city has some hundred. Every edge is compared with every other (3 ms), and writers keep them in memory. */
const MAX_VERTICES = 500
/** Limits for all geofences of an organization: 2 MB in memory, 4 MB to read. */
export const MAX_GEOFENCES = 2_000
export const MAX_VERTICES_IN_ALL = 100_000

const degrees = (max: number, example: number) =>
  z
    .number()
    .min(-max)
    .max(max)
    .meta({ examples: [example] })

const circle = z.strictObject({
  type: z.literal('circle'),
  center: z.strictObject({ lat: degrees(90, 52.52), lng: degrees(180, 13.405) }),
  radius: z
    .number()
    .min(1)
    .max(500_000)
    .describe('Metres')
    .meta({ examples: [150] }),
})

const vertex = z
  .tuple([degrees(180, 13.405), degrees(90, 52.52)])
  .describe('Longitude, -180 to 180, and latitude, -90 to 90, in this order')
const example = [
  [13.37, 52.51],
  [13.38, 52.51],
  [13.38, 52.52],
  [13.37, 52.51],
]

const polygon = z.strictObject({
  type: z.literal('polygon'),
  coordinates: z
    .array(vertex)
    .min(3)
    .max(MAX_VERTICES + 1)
    .describe(
      `A ring of 3 to ${MAX_VERTICES} vertices that does not cross itself; the first is repeated at the end if it is not there yet. Each edge takes the shorter way round the world, across the antimeridian too`,
    )
    .meta({ examples: [example] })
    .transform((given, context) => {
      const ring = closeRing(given)
      if (Array.isArray(ring)) return ring
      const { message, ...params } = ring
      context.addIssue({ code: 'custom', message, params })
      return z.NEVER
    }),
})

const fields = {
  name: newName(100).meta({ examples: ['Depot'] }),
  hubId: reference.nullable(),
  shape: z
    .discriminatedUnion('type', [circle, polygon])
    .meta({ examples: [{ type: 'circle', center: { lat: 52.52, lng: 13.405 }, radius: 150 }] }),
}

/** Missing fields have their defaults, in a new geofence and in a replaced one. */
const newGeofence = z.strictObject({ ...fields, hubId: fields.hubId.default(null) })

const geofence = z.object({
  _id: id,
  name: text('Depot'),
  hubId: id.nullable(),
  shape: z.discriminatedUnion('type', [
    circle,
    z.object({ type: z.literal('polygon'), coordinates: z.array(vertex).meta({ examples: [example] }) }),
  ]),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

nameSchemas({
  Circle: circle,
  NewPolygon: polygon,
  NewGeofence: newGeofence,
  Geofence: geofence,
  NewShape: fields.shape,
  Shape: geofence.shape.shape,
  Polygon: geofence.shape.shape.options[1],
})

const tags = ['Geofences']
const params = z.object({ id: pathId })

export const listGeofences = operation({
  access: 'view/geofence',
  tags,
  summary: 'The geofences of the organization',
  description: `Those of the caller's hubs and those without a hub; Owner and Admin see all.`,
  querystring: listQuery(GEOFENCE_SORTS, 'name').extend({
    hubId: z.string().optional().describe('Hubs, separated by commas'),
  }),
  response: { 200: list(geofence) },
})

export const getGeofence = operation({
  access: 'view/geofence',
  tags,
  summary: 'A geofence',
  description: 'With its shape.',
  params,
  response: { 200: success(geofence) },
})

export const createGeofence = operation({
  access: 'create/geofence',
  tags,
  summary: 'Create a geofence',
  description: `An organization has at most ${MAX_GEOFENCES} with ${MAX_VERTICES_IN_ALL} vertices together; then 409.`,
  body: newGeofence,
  response: { 201: success(geofence), ...failures(409) },
})

export const replaceGeofence = operation({
  access: 'update/geofence',
  tags,
  summary: 'Replace a geofence',
  description: 'Missing fields get their defaults: without `hubId` the geofence no longer belongs to a hub.',
  params,
  body: newGeofence,
  response: { 200: success(geofence), ...failures(409) },
})

export const updateGeofence = operation({
  access: 'update/geofence',
  tags,
  summary: 'Change a geofence',
  description: 'Missing fields stay unchanged; `shape` is replaced as a whole.',
  params,
  body: z.strictObject(fields).partial(),
  response: { 200: success(geofence), ...failures(409) },
})

export const deleteGeofence = operation({
  access: 'delete/geofence',
  tags,
  summary: 'Delete a geofence',
  description: 'It no longer reports crossings.',
  params,
  response: { 200: deleted },
})
