import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
import { isDuplicate, isReferenced } from '../../db/errors.ts'
import { raiseSight } from '../../db/queries/organizations.ts'
import {
  deleteRole,
  findRole,
  insertRole,
  listRoles,
  ROLE_SORTS,
  type Role,
  updateRole,
} from '../../db/queries/roles.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { PermissionDetail } from '../../db/schema/roles.ts'
import { differences, record } from '../audit/record.ts'
import { checkDataTypes } from '../data-types/known.ts'
import { failures, id, list, ok, success } from '../envelope.ts'
import { conflict, FieldErrors, forbidden, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest } from '../lists.ts'
import { covers, DEFAULT_ROLES, describePermission, PERMISSIONS } from '../permissions.ts'
import type { App, Services } from '../services.ts'
import { newRole, permission, role } from './schemas.ts'

const tags = ['Roles']
const params = z.object({ id })

export function roleRoutes(app: App, { db }: Services): void {
  app.get(
    '/permissions',
    {
      config: { access: 'view/role' },
      schema: {
        tags,
        summary: 'The catalogue of permissions',
        description: 'Every permission that a role can carry, as `action/resource`.',
        response: { 200: success(z.array(permission)) },
      },
    },
    async () =>
      ok(PERMISSIONS.map(name => ({ permissionName: name, description: describePermission(name) }))),
  )

  app.get(
    '/roles',
    {
      config: { access: 'view/role' },
      schema: {
        tags,
        summary: 'The roles of the organization',
        description: 'The four default ones and those that were made here.',
        querystring: listQuery(ROLE_SORTS, 'createdAt'),
        response: { 200: list(role) },
      },
    },
    async request => {
      const page = readPageRequest(request.query, ROLE_SORTS)
      const found = await db.tenant(request.caller.organizationId, tx => listRoles(tx, page))
      return listed(found, request.query)
    },
  )

  app.get(
    '/role/:id',
    {
      config: { access: 'view/role' },
      schema: {
        tags,
        summary: 'A role',
        description: 'With what it permits.',
        params,
        response: { 200: success(role) },
      },
    },
    async request => ok(await db.tenant(request.caller.organizationId, tx => getRole(tx, request.params.id))),
  )

  app.post(
    '/role',
    {
      config: { access: 'create/role' },
      schema: {
        tags,
        summary: 'Make a role',
        description: 'Nobody grants a permission that the own role lacks.',
        body: newRole,
        response: { 201: success(role), ...failures(409) },
      },
    },
    async (request, reply) => {
      const { organizationId } = request.caller
      const made = await db.tenant(organizationId, async tx => {
        await checkDetails(tx, organizationId, request.body.permissionDetails)
        checkGrant(request.caller, request.body.permissionDetails)
        checkName(request.body.name)
        const roleId = await named(request.body.name, () => insertRole(tx, organizationId, request.body))
        const found = await getRole(tx, roleId)
        await record(tx, request.caller, {
          action: 'create',
          resource: 'role',
          resourceId: roleId,
          changes: differences(null, found),
        })
        return found
      })
      reply.code(201)
      return ok(made, 'Role made')
    },
  )

  app.put(
    '/role/:id',
    {
      config: { access: 'update/role' },
      schema: {
        tags,
        summary: 'Replace a role',
        description:
          'Holds at once for everybody who has it, on open live sockets too. Default roles stay as they are.',
        params,
        body: newRole,
        response: { 200: success(role), ...failures(409) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const { name, permissionDetails } = request.body
      const changed = await db.tenant(organizationId, async tx => {
        const before = await getOwnRole(tx, request.params.id)
        await checkDetails(tx, organizationId, permissionDetails)
        // What the role permits already is nobody's new grant.
        checkGrant(
          request.caller,
          permissionDetails.filter(detail => !covers(before.permissionDetails, detail)),
        )
        checkName(name)
        await named(name, () => updateRole(tx, before._id, { name, permissionDetails }))
        const after = await getRole(tx, before._id)
        await record(tx, request.caller, {
          action: 'update',
          resource: 'role',
          resourceId: before._id,
          changes: differences(before, after),
        })
        await raiseSight(tx, organizationId)
        return after
      })
      return ok(changed, 'Role changed')
    },
  )

  app.delete(
    '/role/:id',
    {
      config: { access: 'delete/role' },
      schema: {
        tags,
        summary: 'Remove a role',
        description: 'Possible once nobody holds it. Default roles stay.',
        params,
        response: { 200: success(z.object({ _id: id })), ...failures(409) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const removed = await db.tenant(organizationId, async tx => {
        const before = await getOwnRole(tx, request.params.id)
        try {
          await deleteRole(tx, before._id)
        } catch (error) {
          if (!isReferenced(error)) throw error
          throw conflict('Users still hold this role. Give them another one first.')
        }
        await record(tx, request.caller, {
          action: 'delete',
          resource: 'role',
          resourceId: before._id,
          changes: differences(before, null),
        })
        return before._id
      })
      return ok({ _id: removed }, 'Role removed')
    },
  )
}

async function getRole(tx: Queryable, roleId: string): Promise<Role> {
  const found = isUuid(roleId) ? await findRole(tx, roleId) : null
  if (!found) throw notFound('role')
  return found
}

/** A role that was made here, and so may be changed. */
async function getOwnRole(tx: Queryable, roleId: string): Promise<Role> {
  const found = await getRole(tx, roleId)
  if (found.isDefault) throw conflict(`${found.name} is a default role and stays as it is.`)
  return found
}

async function checkDetails(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
): Promise<void> {
  const known = new Set<string>(PERMISSIONS)
  const errors = details.flatMap(({ permissionName }, index) => {
    if (known.has(permissionName)) return []
    const path = `permissionDetails.${index}.permissionName`
    return [{ path, message: `There is no permission ${permissionName}.` }]
  })
  const [first] = errors
  if (first) throw new FieldErrors(errors, first.message)
  const dataTypes = details.flatMap(({ dataTypes = [] }, index) =>
    dataTypes.map(({ dataTypeId }, at) => ({
      path: `permissionDetails.${index}.dataTypes.${at}.dataTypeId`,
      dataTypeId,
    })),
  )
  await checkDataTypes(tx, organizationId, dataTypes)
}

/** Nobody grants what they lack (contract section 4). */
export function checkGrant(caller: Caller, details: readonly PermissionDetail[]): void {
  const lacking = details.find(detail => !covers(caller.permissionDetails, detail))
  if (lacking) {
    const { permissionName, scope } = lacking
    throw forbidden(`Your role lacks ${permissionName} with scope ${scope}, so you cannot grant it.`)
  }
}

function checkName(name: string): void {
  const taken = DEFAULT_ROLES.find(given => given.name.toLowerCase() === name.toLowerCase())
  if (taken) throw conflict(`${taken.name} is the name of a default role.`)
}

async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw conflict(`There is a role named ${name} already.`)
  }
}
