import type { FastifyRequest } from 'fastify'
import type { Database, Queryable } from '../../db/client.ts'
import { hasAuditEntry, insertAuditEntry } from '../../db/queries/audit-log.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { Changes } from '../../db/schema/audit-log.ts'

/** Who acts; a caller is one. Null is nobody signed in. */
interface Actor {
  organizationId: string
  userId: string | null
}

/** A record before and after a change; null where it is not there. */
interface Change<Record> {
  before: { _id: string } | null
  after: Record
}

/**
 * Carries out what a route declares: `work` in a transaction of the caller's organization, and in the same one an entry
 * of the audit log that says what changed. Resolves to the record afterwards.
 */
export function audited<Record extends { _id: string } | null>(
  db: Database,
  request: FastifyRequest,
  work: (tx: Queryable, caller: Caller) => Promise<Change<Record>>,
  action?: string,
): Promise<Record> {
  const { caller } = request
  return db.tenant(caller.organizationId, async tx =>
    recordChange(tx, request, await work(tx, caller), action),
  )
}

/**
 * Writes what a route changed into the audit log, in the transaction of the change. Action and resource are those of
 * the route's permission, `update/hub`, unless an action has a name of its own. Resolves to the record afterwards.
 */
export async function recordChange<Record extends { _id: string } | null>(
  tx: Queryable,
  { caller, routeOptions }: FastifyRequest,
  { before, after }: Change<Record>,
  action?: string,
): Promise<Record> {
  const [declared, resource] = String(routeOptions.config.access).split('/') as [string, string]
  const resourceId = after?._id ?? before?._id ?? null
  const changes = differences(before, after)
  await record(tx, caller, { action: action ?? declared, resource, resourceId, changes })
  return after
}

/** Writes into the audit log, in the transaction of what it tells of. Secrets have no place in `changes`. */
export function record(
  tx: Queryable,
  { organizationId, userId }: Actor,
  what: {
    action: string
    resource: string
    resourceId: string | null
    changes?: Changes
    /** The types of the data records whose values `changes` names. */
    dataTypeIds?: string[]
  },
): Promise<void> {
  return insertAuditEntry(tx, { organizationId, userId, changes: {}, dataTypeIds: [], ...what })
}

/** As `record`, and once in an hour: of what changes nothing, however often somebody does it. */
export async function recordHourly(
  tx: Queryable,
  actor: Actor,
  what: Parameters<typeof record>[2],
): Promise<void> {
  const { organizationId, userId } = actor
  if (!(await hasAuditEntry(tx, { organizationId, userId, changes: {}, ...what })))
    await record(tx, actor, what)
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
