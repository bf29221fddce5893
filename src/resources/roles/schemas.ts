import { z } from 'zod'
import { ROLE_SORTS } from '../../../db/queries/roles.ts'
import { deleted, failures, id, list, pathId, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const permissionName = z
  .string()
  .max(100)
  .meta({ examples: ['view/task'] })
const scope = z
  .enum(['all', 'team', 'own'])
  .describe('Its scope: everything, the records of the own teams, or the own records')

const restriction = z.strictObject({
  dataTypeId: id.toLowerCase(),
  restrictedFields: z
    .array(z.string().max(200))
    .max(500)
    .meta({ examples: [[]] })
    .describe('Keys of fields that stay hidden'),
})

/** A permission in an answer. */
export const permissionDetail = z.object({
  permissionName,
  scope,
  dataTypes: z.array(restriction).optional(),
})

const role = z.object({
  _id: id,
  name: text('Dispatcher'),
  isDefault: z.boolean().describe('One of Owner, Admin, Planner and Field user, which nobody changes'),
  permissionDetails: z.array(permissionDetail),
  createdAt: z.date(),
  updatedAt: z.date(),
})

const roleWithGone = role.extend({
  gone: z
    .array(
      z.object({
        path: text('permissionDetails.0.dataTypes.0.restrictedFields.1'),
        message: text('The data type has no such field.'),
      }),
    )
    .describe(
      'Data types and fields that `permissionDetails` names and that have been deleted, by their places',
    ),
})

const newRole = z.strictObject({
  name: newName(100).meta({ examples: ['Dispatcher'] }),
  permissionDetails: z
    .array(
      z.strictObject({
        permissionName,
        scope: scope.default('all'),
        dataTypes: z
          .array(restriction)
          .min(1, 'Name a data type, or leave dataTypes out to mean all of them.')
          .max(500)
          .optional()
          .describe(
            'The data types that it holds for; without it, all of them. Only for permissions of `data`',
          ),
      }),
    )
    .max(500)
    .default([]),
})

const permission = z.object({
  permissionName,
  description: text('See teams'),
  scopes: z.array(scope).describe('The scopes that it may have, the widest first'),
  isPerDataType: z
    .boolean()
    .describe('Whether it may be limited to some data types, with fields that stay hidden'),
})

nameSchemas({
  PermissionDetail: permissionDetail,
  Role: role,
  RoleWithGone: roleWithGone,
  GonePermission: roleWithGone.shape.gone.element,
  NewRole: newRole,
  Permission: permission,
  Restriction: restriction,
})

const tags = ['Roles']
const params = z.object({ id: pathId })

export const listPermissions = operation({
  access: 'view/role',
  tags,
  summary: 'The catalogue of permissions',
  description: 'Every permission that a role can carry, as `action/resource`.',
  response: { 200: list(permission) },
})

export const listRoles = operation({
  access: 'view/role',
  tags,
  summary: 'The roles of the organization',
  description: 'The four default ones and those that were created here.',
  querystring: listQuery(ROLE_SORTS, 'createdAt'),
  response: { 200: list(role) },
})

export const getRole = operation({
  access: 'view/role',
  tags,
  summary: 'A role',
  description: 'With its permissions, and the deleted data types and fields that it still names.',
  params,
  response: { 200: success(roleWithGone) },
})

export const createRole = operation({
  access: 'create/role',
  tags,
  summary: 'Create a role',
  description: `Nobody grants a permission that the own role lacks. Written as JSON, \`permissionDetails\` has at most 32 KiB (400); an
organization has at most 200 roles (409). Not for an API key that is to end.`,
  body: newRole,
  response: { 201: success(roleWithGone), ...failures(409) },
})

export const replaceRole = operation({
  access: 'update/role',
  tags,
  summary: 'Replace a role',
  description:
    'Holds at once for everybody who has it, on open live sockets too. Default roles stay as they are, and so does one that users hold and that reaches further than the own. A deleted data type or field that the role named before may still be named. Not for an API key that is to end.',
  params,
  body: newRole,
  response: { 200: success(roleWithGone), ...failures(409) },
})

export const deleteRole = operation({
  access: 'delete/role',
  tags,
  summary: 'Delete a role',
  description: 'Possible once nobody holds it. Default roles stay.',
  params,
  response: { 200: deleted, ...failures(409) },
})
