import type { Queryable } from '../../db/client.ts'
import { type Caller, findStanding } from '../../db/queries/sessions.ts'
import { lockMemberships } from '../../db/queries/users.ts'
import { forbidden, sessionEnded } from './errors.ts'
import { type Permission, scopeOf } from './permissions.ts'

/**
 * The caller as it is now. Keeps every other change of users and roles of the organization waiting until this
 * transaction ends, so that what is checked against the answer holds when it is used: of two administrators who
 * suspend each other at once, one does. First in its transaction. 401 where the caller is not active any more, 403
 * where its role has lost the permission.
 */
export async function reauthorize(tx: Queryable, caller: Caller, permission: Permission): Promise<Caller> {
  await lockMemberships(tx, caller.organizationId)
  const standing = await findStanding(tx, caller.userId)
  if (!standing) throw sessionEnded()
  if (!scopeOf(standing.permissionDetails, permission)) {
    throw forbidden(`Your role lacks the permission ${permission}.`)
  }
  return { ...caller, ...standing }
}
