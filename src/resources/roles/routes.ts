import type { Queryable } from '../../../db/client.ts'
import { isPerDataType, scopesOf } from '../../../db/grants.ts'
import {
  deleteRole,
  findRole,
  insertRole,
  isRoleHeld,
  listRoles,
  ROLE_SORTS,
  type Role,
  updateRole,
} from '../../../db/queries/roles.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import type { PermissionDetail } from '../../../db/schema/roles.ts'
import { audited } from '../../http/audit.ts'
import { unique, unreferenced } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, type FieldError, forbidden, found } from '../../http/errors.ts'
import { listed, listedWhole, readPageRequest } from '../../http/lists.ts'
import {
  beyondReach,
  covers,
  DEFAULT_ROLES,
  describePermission,
  PERMISSIONS,
} from '../../http/permissions.ts'
import { reauthorize } from '../../http/reauthorize.ts'
import type { App, Services } from '../../services.ts'
import { checkDetails, listGone } from './details.ts'
import * as operations from './schemas.ts'

export function roleRoutes(app: App, { db }: Services): void {
  app.get('/permissions', operations.listPermissions, async () =>
    listedWhole(
      PERMISSIONS.map(name => ({
        permissionName: name,
        description: describePermission(name),
        scopes: [...scopesOf(name)],
        isPerDataType: isPerDataType(name),
      })),
    ),
  )

  app.get('/roles', operations.listRoles, async ({ caller, query }) => {
    const page = readPageRequest(query, ROLE_SORTS)
    return listed(await db.tenant(caller.organizationId, tx => listRoles(tx, page)), query)
  })

  app.get('/role/:id', operations.getRole, async ({ caller: { organizationId }, params }) =>
    db.tenant(organizationId, async tx => {
      const role = found('role', await findRole(tx, params.id))
      return ok({ ...role, gone: await listGone(tx, organizationId, role.permissionDetails) })
    }),
  )

  app.post('/role', operations.createRole, async (request, reply) => {
    const { name, permissionDetails } = request.body
    const role = await audited(db, request, async tx => {
      const caller = await reauthorize(tx, request.caller, 'create/role')
      await checkDetails(tx, caller.organizationId, permissionDetails)
      checkGrant(caller, permissionDetails)
      checkName(name)
      const roleId = await unique('role named', name, () =>
        insertRole(tx, caller.organizationId, request.body),
      )
      return { before: null, after: found('role', await findRole(tx, roleId)) }
    })
    return created(reply, { ...role, gone: [] }, 'Role created')
  })

  app.put('/role/:id', operations.replaceRole, async request => {
    const { name, permissionDetails } = request.body
    let gone: FieldError[] = []
    const role = await audited(db, request, async tx => {
      const caller = await reauthorize(tx, request.caller, 'update/role')
      const before = await findOwnRole(tx, request.params.id)
      const further = beyondReach(caller, before)
      if (further && (await isRoleHeld(tx, before._id))) {
        throw forbidden(
          `Users or API keys hold this role, and yours ${further}, so you cannot change what they may do.`,
        )
      }
      gone = await checkDetails(tx, caller.organizationId, permissionDetails, before.permissionDetails)
      // Permissions that the role has already are not granted anew.
      checkGrant(
        caller,
        permissionDetails.filter(detail => !covers(before.permissionDetails, detail)),
      )
      checkName(name)
      await unique('role named', name, () => updateRole(tx, before._id, { name, permissionDetails }))
      return { before, after: found('role', await findRole(tx, before._id)) }
    })
    return ok({ ...role, gone }, 'Role changed')
  })

  app.delete('/role/:id', operations.deleteRole, async request => {
    const { id } = request.params
    await audited(db, request, async tx => {
      await reauthorize(tx, request.caller, 'delete/role')
      const before = await findOwnRole(tx, id)
      const held = 'Users or API keys still hold this role. Give them another one first.'
      await unreferenced(held, () => deleteRole(tx, id))
      return { before, after: null }
    })
    return ok({ _id: id }, 'Role deleted')
  })
}

/** A custom role, which may be changed. */
async function findOwnRole(tx: Queryable, roleId: string): Promise<Role> {
  const role = found('role', await findRole(tx, roleId))
  if (role.isDefault) throw conflict(`${role.name} is a default role and stays as it is.`)
  return role
}

/** Nobody may grant permissions that they lack (contract section 4). */
function checkGrant(caller: Caller, details: readonly PermissionDetail[]): void {
  const lacking = details.find(detail => !covers(caller.permissionDetails, detail))
  if (lacking) {
    const { permissionName, scope } = lacking
    throw forbidden(`Your role lacks ${permissionName} with scope ${scope}, so you cannot grant it.`)
  }
}

function checkName(name: string): void {
  const taken = DEFAULT_ROLES.find(given => given.name.toLowerCase() === name.toLowerCase())
  if (taken) throw conflict(`${taken.name} is the name of a default role.`, 'not-unique')
}
