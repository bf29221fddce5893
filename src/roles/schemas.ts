import { z } from 'zod'
import { id } from '../envelope.ts'

const permissionName = z
  .string()
  .max(100)
  .meta({ examples: ['view/task'] })
const scope = z
  .enum(['all', 'team', 'own'])
  .describe('How far it reaches: everything, what belongs to the own teams, or what is the own')

const restriction = {
  dataTypeId: id.toLowerCase(),
  restrictedFields: z
    .array(z.string().max(200))
    .max(500)
    .meta({ examples: [[]] })
    .describe('Keys of fields that stay hidden'),
}

/** A permission as it is shown. */
export const permissionDetail = z.object({
  permissionName,
  scope,
  dataTypes: z.array(z.object(restriction)).optional(),
})

export const role = z.object({
  _id: id,
  name: z.string(),
  isDefault: z.boolean().describe('One of Owner, Admin, Planner and Field user, which nobody changes'),
  permissionDetails: z.array(permissionDetail),
  createdAt: z.date(),
  updatedAt: z.date(),
})

export const newRole = z.strictObject({
  name: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .meta({ examples: ['Dispatcher'] }),
  permissionDetails: z
    .array(
      z.strictObject({
        permissionName,
        scope: scope.default('all'),
        dataTypes: z
          .array(z.strictObject(restriction))
          .max(500)
          .meta({ examples: [[]] })
          .optional()
          .describe('The data types that it holds for; without it, all of them'),
      }),
    )
    .max(500)
    .default([]),
})

export const permission = z.object({ permissionName, description: z.string() })
