import { z } from 'zod'
import { id, reference } from '../envelope.ts'

export const team = z.object({
  _id: id,
  name: z.string(),
  hubId: id.nullable(),
  memberIds: z.array(id),
  leaderIds: z.array(id).describe('Who leads it; they belong to it as members do'),
  createdAt: z.date(),
  updatedAt: z.date(),
})

const users = z.array(reference).max(5_000).default([])

export const newTeam = z.strictObject({
  name: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .meta({ examples: ['North'] }),
  hubId: reference.nullable().default(null),
  memberIds: users,
  leaderIds: users,
})
