import { z } from 'zod'
import { GEOFENCE_EVENT_SORTS } from '../../../db/queries/geofence-events.ts'
import { CROSSINGS } from '../../../db/schema/geofence-events.ts'
import { failures, id, list } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { queryTime } from '../../http/times.ts'

const geofenceEvent = z.object({
  _id: id,
  geofenceId: id,
  subjectId: id,
  subjectType: z.enum(['user', 'device']),
  event: z.enum(CROSSINGS),
  at: z.date().describe('The time of the first fix inside or outside, by the clock of the device'),
  lat: z.number().meta({ examples: [52.52] }),
  lng: z.number().meta({ examples: [13.405] }),
  retracted: z.boolean().describe('Whether points that came late have shown that it did not happen'),
  createdAt: z.date(),
  updatedAt: z.date(),
})

nameSchemas({ GeofenceEvent: geofenceEvent })

export const listGeofenceEvents = operation({
  access: 'view/geofence',
  tags: ['Geofences'],
  summary: 'Crossings of geofences, newest first',
  description: `Only if the caller may see both the geofence and the subject, a device by the vehicle that it was on then; this also needs \`view/location\`. Each crossing is there once,
whatever came late or twice. One that late points have refuted stays with \`retracted: true\`. Kept for one year, and as
long as the geofence is there. \`search\` looks into its name.`,
  querystring: listQuery(GEOFENCE_EVENT_SORTS, '-at').extend({
    geofenceId: z.string().optional().describe('Geofences, separated by commas'),
    subjectId: z.string().optional().describe('Users and devices, separated by commas'),
    from: queryTime.optional().describe('Inclusive: RFC 3339, or seconds or milliseconds since 1970'),
    to: queryTime.optional().describe('Exclusive'),
  }),
  response: { 200: list(geofenceEvent), ...failures(403) },
})
