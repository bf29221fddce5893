import type { FastifyRequest } from 'fastify'
import type { Database, Queryable } from '../../db/client.ts'
import { hasAuditEntry, insertAuditEntry } from '../../db/queries/audit-log.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import { retryConflict } from '../../db/retry.ts'
import type { Changes } from '../../db/schema/audit-log.ts'

/** How often a request's transaction is tried when others work on the same records. */
const ATTEMPTS = 3

/** The member who acts, such as a caller; `userId` is null where nobody is signed in. */
interface Actor {
  organizationId: string
  userId: string | null
  apiKey?: Caller['apiKey']
}

/** A record before and after a change; null where it does not exist. */
interface Change<Record> {
  before: { _id: string } | null
  after: Record
}

/**
 * Does the work of a route in a transaction of the caller's organization, and writes what `work` changed into the audit
 * log in the same transaction. Where others work on the same records at once and the database ends this transaction, such as in
 * a deadlock, `work` runs again, so it changes nothing else. Resolves to the record afterwards.
 */
export function audited<Record extends { _id: string } | null>(
  db: Database,
  request: FastifyRequest,
  work: (tx: Queryable, caller: Caller) => Promise<Change<Record>>,
  action?: string,
): Promise<Record> {
  const { caller } = request
  const once = () =>
    db.tenant(caller.organizationId, async tx => recordChange(tx, request, await work(tx, caller), action))
  return retryConflict(once, ATTEMPTS)
}

/**
 * Writes what a route changed into the audit log, in the transaction of the change. Action and resource are those of
 * the route's permission, such as `update/hub`, unless `action` names another action, or another of both: `create/key`. Resolves to the record afterwards.
 */
export async function recordChange<Record extends { _id: string } | null>(
  tx: Queryable,
  { caller, routeOptions }: FastifyRequest,
  { before, after }: Change<Record>,
  action?: string,
): Promise<Record> {
  const [declared, resource] = String(routeOptions.config.access).split('/') as [string, string]
  const [acted = declared, on = resource] = action?.split('/') ?? []
  const resourceId = after?._id ?? before?._id ?? null
  const changes = differences(before, after)
  await record(tx, caller, { action: acted, resource: on, resourceId, changes })
  return after
}

/** Writes an entry into the audit log, in the transaction of the change. `changes` must hold no secrets. */
export function record(
  tx: Queryable,
  { organizationId, userId, apiKey }: Actor,
  entry: {
    action: string
    resource: string
    resourceId: string | null
    changes?: Changes
    /** The data types of the records whose fields `changes` names. */
    dataTypeIds?: string[]
  },
): Promise<void> {
  const by = { organizationId, userId, apiKeyName: apiKey?.name ?? null }
  return insertAuditEntry(tx, { ...by, changes: {}, dataTypeIds: [], ...entry })
}

/**
 * Like `record`, but at most once an hour for the same entry. For actions that change nothing and may be repeated
 * often.
 */
export async function recordHourly(
  tx: Queryable,
  actor: Actor,
  entry: Parameters<typeof record>[2],
): Promise<void> {
  const { organizationId, userId } = actor
  if (!(await hasAuditEntry(tx, { organizationId, userId, changes: {}, ...entry })))
    await record(tx, actor, entry)
}

/** An invitation and its mail have entries of their own. */
const NOT_AUDITED = new Set(['_id', 'createdAt', 'updatedAt', 'organizationId', 'invitation'])

/** The fields in which two states of a record differ; null is a record that does not exist. */
export function differences(before: object | null, after: object | null): Changes {
  const from = new Map(Object.entries(before ?? {}))
  const to = new Map(Object.entries(after ?? {}))
  const changes: Changes = {}
  for (const field of new Set([...from.keys(), ...to.keys()])) {
    if (NOT_AUDITED.has(field) || JSON.stringify(from.get(field)) === JSON.stringify(to.get(field))) continue
    changes[field] = {
      ...(before ? { from: from.get(field) ?? null } : {}),
      ...(after ? { to: to.get(field) ?? null } : {}),
    }
  }
  return changes
}
