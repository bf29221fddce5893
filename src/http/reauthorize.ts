import type { Queryable } from '../../db/client.ts'
import { type Caller, findSessionEnd, findStanding } from '../../db/queries/sessions.ts'
import { lockMemberships } from '../../db/queries/users.ts'
import { lacksPermission, sessionEnded } from './errors.ts'
import { checkEndless } from './key-life.ts'
import { type Permission, scopeOf } from './permissions.ts'

/**
 * Reads the caller again, first in its transaction. Blocks every other change of users and roles of the organization
 * until this transaction ends, so that the checked rights still hold when they are used: if two administrators suspend
 * each other at once, only one succeeds. Throws 401 if the caller is no longer active or its session has ended, as that of an
 * API key that is rotated at the same moment; 403 if its role has lost the permission, or a key is to end and what it would
 * do outlives it.
 */
export async function reauthorize(tx: Queryable, caller: Caller, permission: Permission): Promise<Caller> {
  await lockMemberships(tx, caller.organizationId)
  const standing = await findStanding(tx, caller.userId)
  const expiresAt = standing && (await findSessionEnd(tx, caller.sessionId))
  if (!standing || expiresAt === null) throw sessionEnded()
  if (!scopeOf(standing.permissionDetails, permission)) {
    throw lacksPermission(permission)
  }
  const now = { ...caller, ...standing, expiresAt }
  checkEndless(now, permission)
  return now
}
