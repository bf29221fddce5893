import { z } from 'zod'
import { eachMeasured } from '../../../db/measured.ts'
import { REASONS } from '../../../stream/point.ts'
import { cursorKey } from '../../http/cursors.ts'
import { id, list, pageQuery, pathId, text } from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const measured = z.number().nullable().optional()
const storedPoint = z.looseObject({
  lat: z.number(),
  lng: z.number(),
  timestamp: text('2026-11-21T10:00:00.000Z'),
  ...eachMeasured(() => measured),
  attributes: z.record(z.string(), z.unknown()).nullable().optional(),
})

const rejection = z.object({
  _id: id,
  reason: z.enum(REASONS),
  message: text('lat has to be between -90 and 90.'),
  index: z.int().nullable().describe('Its place in the array that was sent'),
  topic: text('fieldline/v1/position').nullable(),
  payload: text('{"lat":91,"lng":13.4}').nullable(),
  receivedAt: text('2026-11-21T10:00:00.420Z'),
  stored: storedPoint.nullable().optional().describe('The point that won a conflict'),
})

const subjectRejection = rejection.extend({
  subjectId: id,
  subjectType: z.enum(['device', 'user']),
  subjectName: text('Van 12'),
})

const counts = z
  .partialRecord(z.enum(REASONS), z.int())
  .describe('How many there were by reason, of all time')
const rejections = list(rejection).extend({ counts })

export const rejectionCursor = z.object({
  receivedAt: cursorKey.timestamp,
  id: z.string().regex(/^\d{1,9}-\d{1,15}-\d{1,9}$/),
})

const places =
  '`payload` and `stored` hold places: without `view/location` of all, a payload is null and nothing says what is stored.'
const description = `The last 1,000 of 30 days, newest first, and how many there were by reason of all time. ${places}`
const params = z.object({ id: pathId })
const querystring = pageQuery.extend({
  reason: z.enum(REASONS).optional().describe('Only those for this reason'),
})

nameSchemas({ StoredPoint: storedPoint, Rejection: rejection, SubjectRejection: subjectRejection })

export const listRejections = operation({
  access: 'view/device',
  tags: ['Devices'],
  summary: 'Rejected points of all devices',
  description: `Those of every device that the caller sees, and of users if it sees the positions of all, from 30 days: the last
    1,000 of each at least, newest first, and how many there were by reason of all time. ${places}`,
  querystring,
  response: {
    200: list(subjectRejection).extend({ counts }),
  },
})

export const listDeviceRejections = operation({
  access: 'view/device',
  tags: ['Devices'],
  summary: 'Points of the device that were rejected',
  description,
  params,
  querystring,
  response: { 200: rejections },
})

export const listUserRejections = operation({
  access: 'view/location',
  tags: ['Users'],
  summary: 'Points of the user that were rejected',
  description,
  params,
  querystring,
  response: { 200: rejections },
})
