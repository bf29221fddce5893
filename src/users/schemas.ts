import { z } from 'zod'
import { id } from '../envelope.ts'

export const permissionDetail = z.object({
  permissionName: z.string(),
  scope: z.enum(['all', 'team', 'own']),
  dataTypes: z.array(z.object({ dataTypeId: id, restrictedFields: z.array(z.string()) })).optional(),
})

export const user = z.object({
  _id: id,
  name: z.string(),
  email: z.string(),
  status: z.enum(['active', 'invited', 'suspended']),
  role: z.object({ _id: id, name: z.string() }),
  hubId: z.array(id),
  organizationId: id,
  lastActiveAt: z.date().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
})
