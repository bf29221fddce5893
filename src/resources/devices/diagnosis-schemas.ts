import { z } from 'zod'
import { ACTIVITY_DAYS } from '../../../db/queries/device-diagnosis.ts'
import { failures, id, list, pathId, reference, success, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { MAX_ACTIVITY_POINTS } from './activity.ts'
import { CAUSES, type Cause } from './causes.ts'

const cause = z.object({
  cause: z.enum(Object.keys(CAUSES) as [Cause, ...Cause[]]).meta({ examples: ['wrong-key'] }),
  message: text(CAUSES['wrong-key']),
  at: z.date().nullable().describe('The last time that it was so'),
  count: z.int().nullable().describe('How often in the last 30 days'),
  address: text('203.0.113.7').nullable().describe('From where it came'),
  detail: text('devices/van-12/location')
    .nullable()
    .describe('What it is about: a topic, a sentence, a name'),
  payload: text('{"lat":91}')
    .nullable()
    .describe('What was rejected; null for whoever does not see the positions of all'),
  connectionId: id.nullable().describe('The connection that it is about'),
})
const diagnosis = z.object({
  isOnMap: z.boolean().describe('Whether the user sees a fresh position of it'),
  causes: z.array(cause).describe('Why not; the first one is the one to begin with'),
})
const mount = z.object({
  vehicleId: id.nullable().describe('Null: the vehicle is deleted'),
  vehicleName: text('Van 12').nullable(),
  mountedAt: z.date(),
  unmountedAt: z.date().nullable().describe('Null: it is still there'),
})
const hour = z.object({
  from: z.date().describe('The beginning of the hour'),
  points: z.int().meta({ examples: [360] }),
  battery: z
    .number()
    .nullable()
    .describe('The last level of the hour, in percent')
    .meta({ examples: [87] }),
  longestGapS: z
    .int()
    .nullable()
    .describe('The longest time between two points that ends in it; null before the first point')
    .meta({ examples: [12] }),
})

nameSchemas({ DeviceDiagnosis: diagnosis, DeviceCause: cause, DeviceMount: mount, DeviceHour: hour })

const tags = ['Devices']
const params = z.object({ id: pathId })

export const getDiagnosis = operation({
  access: 'view/device',
  tags,
  summary: 'Why a device is not on the map',
  description: `For the caller, or for another user, which needs \`view/user\`: what hides it from that user, and why no fresh position of
it has come. A deleted device is answered as well. The time and battery of a fix are left out for whoever does not see the positions of all.`,
  params,
  querystring: z.strictObject({
    userId: reference.optional().describe("Whose map; the caller's where it is left out"),
  }),
  response: { 200: success(diagnosis), ...failures(404) },
})

export const listMounts = operation({
  access: 'view/device',
  tags,
  summary: 'The vehicles that a device was mounted on',
  description: `The last 100 times, newest first. Those on vehicles of hubs to which the caller has no access are left out.`,
  params,
  response: { 200: list(mount) },
})

export const listActivity = operation(
  {
    access: 'view/device',
    tags,
    summary: 'How regularly a device reports',
    description: `The hours of the last ${ACTIVITY_DAYS} days in which it recorded points, oldest first, with its battery: of the newest
${MAX_ACTIVITY_POINTS.toLocaleString('en')} points. Needs \`view/location\` for all beside \`view/device\`.`,
    params,
    response: { 200: list(hour) },
  },
  { heavy: true },
)
