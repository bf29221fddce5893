import type { Queryable } from '../../../db/client.ts'
import { listMemberships } from '../../../db/queries/accounts.ts'
import type { Changes } from '../../../db/schema/audit-log.ts'
import { record } from '../../http/audit.ts'

/**
 * Writes what happened to an account into the audit log of every organization in which it is active: its password opens all of
 * them. Nobody is signed in. An organization that has only invited it learns nothing.
 */
export async function recordForAccount(
  tx: Queryable,
  accountId: string,
  action: string,
  changes: Changes = {},
): Promise<void> {
  for (const { organizationId, userId } of await listMemberships(tx, accountId)) {
    const actor = { organizationId, userId: null }
    await record(tx, actor, { action, resource: 'user', resourceId: userId, changes })
  }
}
