import { z } from 'zod'
import { email, newPassword, personName } from '../auth/schemas.ts'
import { id, reference } from '../envelope.ts'
import { permissionDetail } from '../roles/schemas.ts'

const hubId = z.array(id).max(1_000).describe('The hubs that the user may work in')

export const user = z.object({
  _id: id,
  name: z.string(),
  email: z.string(),
  status: z.enum(['active', 'invited', 'suspended']),
  role: z.object({ _id: id, name: z.string() }),
  hubId,
  organizationId: id,
  lastActiveAt: z.date().nullable().describe('When it last signed in or switched here'),
  createdAt: z.date(),
  updatedAt: z.date(),
})

export const self = user.extend({ permissionDetails: z.array(permissionDetail) })

export const invitedUser = user.extend({
  invitation: z
    .object({ token: z.string(), expiresAt: z.date() })
    .describe('To be passed on to the person. Shown once'),
})

export const selfChange = z.strictObject({ name: personName }).partial()

export const invitation = z.strictObject({
  email,
  name: personName,
  roleId: reference,
  hubId: z.array(reference).max(1_000).default([]),
})

export const userChange = z.strictObject({
  roleId: reference.optional(),
  hubId: z.array(reference).max(1_000).optional(),
  status: z.enum(['active', 'suspended']).optional(),
})

export const passwordReset = z.strictObject({ newPassword })
