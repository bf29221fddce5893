import { z } from 'zod'
import { REASONS } from '../../stream/point.ts'
import { id, list } from '../envelope.ts'

export const device = z.object({
  _id: id,
  name: z.string(),
  vehicleId: id.nullable().describe('The vehicle that it is mounted on'),
  hubId: id.nullable(),
  lastSeenAt: z.date().nullable().describe('When its newest point arrived'),
  createdAt: z.date(),
  updatedAt: z.date(),
})

export const deviceWithKey = device.extend({
  key: z.string().describe('The key that the device signs in with. Shown once'),
})

const name = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .meta({ examples: ['Van 12'] })
const reference = z.string().nullable()

export const newDevice = z.strictObject({
  name,
  vehicleId: reference.optional(),
  hubId: reference.optional(),
})

export const deviceChange = newDevice.partial()

const rejection = z.object({
  _id: id,
  reason: z.enum(REASONS),
  message: z.string(),
  index: z.int().nullable().describe('Its place in the array that was sent'),
  topic: z.string().nullable(),
  payload: z.string().nullable(),
  receivedAt: z.string(),
  stored: z.unknown().optional().describe('The point that won a conflict'),
})

export const rejections = list(rejection).extend({
  counts: z.partialRecord(z.enum(REASONS), z.int()).describe('How many there were by reason, of all time'),
})

export const rejectionCursor = z.object({
  receivedAt: z.iso.datetime(),
  id: z.string().regex(/^\d{1,9}-\d{1,15}-\d{1,9}$/),
})
