import type { Queryable } from '../../db/client.ts'
import { insertAuditEntry } from '../../db/queries/audit-log.ts'
import type { Changes } from '../../db/schema/audit-log.ts'

/** Who acts; a caller is one. Null is nobody signed in. */
interface Actor {
  organizationId: string
  userId: string | null
}

/** Writes into the audit log, in the transaction of what it tells of. Secrets have no place in `changes`. */
export function record(
  tx: Queryable,
  { organizationId, userId }: Actor,
  what: { action: string; resource: string; resourceId: string | null; changes?: Changes },
): Promise<void> {
  return insertAuditEntry(tx, { organizationId, userId, changes: {}, ...what })
}

const NOT_TOLD = new Set(['_id', 'createdAt', 'updatedAt', 'organizationId'])

/** What differs between two states of a record; null is one that is not there. */
export function differences(before: object | null, after: object | null): Changes {
  const from = new Map(Object.entries(before ?? {}))
  const to = new Map(Object.entries(after ?? {}))
  const changes: Changes = {}
  for (const field of new Set([...from.keys(), ...to.keys()])) {
    if (NOT_TOLD.has(field) || JSON.stringify(from.get(field)) === JSON.stringify(to.get(field))) continue
    changes[field] = {
      ...(before ? { from: from.get(field) ?? null } : {}),
      ...(after ? { to: to.get(field) ?? null } : {}),
    }
  }
  return changes
}
