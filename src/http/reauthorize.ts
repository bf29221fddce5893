import type { Queryable } from '../../db/client.ts'
import { type Caller, findStanding } from '../../db/queries/sessions.ts'
import { lockMemberships } from '../../db/queries/users.ts'
import { lacksPermission, sessionEnded } from './errors.ts'
import { type Permission, scopeOf } from './permissions.ts'

/**
 * Reads the caller again, first in its transaction. Blocks every other change of users and roles of the organization
 * until this transaction ends, so that the checked rights still hold when they are used: if two administrators suspend
 * each other at once, only one succeeds. Throws 401 if the caller is no longer active, 403 if its role has lost the
 * permission.
 */
export async function reauthorize(tx: Queryable, caller: Caller, permission: Permission): Promise<Caller> {
  await lockMemberships(tx, caller.organizationId)
  const standing = await findStanding(tx, caller.userId)
  if (!standing) throw sessionEnded()
  if (!scopeOf(standing.permissionDetails, permission)) {
    throw lacksPermission(permission)
  }
  return { ...caller, ...standing }
}
