import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { auditLog, type Changes } from '../schema/audit-log.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'
import { deleteSome } from './prune.ts'

export type AuditEntry = Shown<typeof auditLog>

const COLUMNS = shownColumns(auditLog, 'l')

export interface NewAuditEntry {
  organizationId: string
  userId: string | null
  apiKeyName: string | null
  action: string
  resource: string
  resourceId: string | null
  changes: Changes
  dataTypeIds: string[]
}

/** Adds an entry that says who did what to which record, in the transaction of the change. */
export async function insertAuditEntry(tx: Queryable, entry: NewAuditEntry): Promise<void> {
  await tx.orm.insert(auditLog).values({ id: newId(), ...entry })
}

/** Whether the last hour has an identical entry. */
export async function hasAuditEntry(
  tx: Queryable,
  entry: Omit<NewAuditEntry, 'dataTypeIds' | 'apiKeyName'>,
): Promise<boolean> {
  const { organizationId, userId, action, resource, resourceId, changes } = entry
  const rows = await tx.query(
    `SELECT FROM audit_log WHERE organization_id = $1 AND resource_id IS NOT DISTINCT FROM $2::uuid
       AND at > now() - interval '1 hour' AND user_id = $3 AND action = $4 AND resource = $5 AND changes = $6::jsonb
     LIMIT 1`,
    [organizationId, resourceId, userId, action, resource, JSON.stringify(changes)],
  )
  return rows.length > 0
}

/**
 * If names of values are hidden from the reader, the length of a page must not reveal how many an entry has. So each
 * entry counts as a size that permits a page of the usual 50. A task's entry names at most the keys of 128 KiB of
 * content.
 */
const BYTES_OF_HIDDEN = `CASE WHEN l.resource IN ('data', 'task', 'task-schedule') THEN ${20 * 1024} ELSE ${storedBytes('l.changes')} END`

export const AUDIT_SORTS = { at: { sql: 'l.at', type: 'timestamptz' } } as const

/** `hidesSizes`: the reader may not see all names of values, and page lengths must not reveal them. */
export function listAuditEntries(
  tx: Queryable,
  filter: {
    userIds?: readonly string[]
    resource?: string
    resourceIds?: readonly string[]
    action?: string
    from?: Date
    to?: Date
  },
  page: PageRequest,
  { hidesSizes }: { hidesSizes: boolean },
): Promise<Page<AuditEntry>> {
  const { where, values, add } = conditions()
  // Entries over a year old are about to be deleted.
  where.push(`l.at > now() - interval '1 year'`)
  if (filter.userIds) add('l.user_id = ANY(?::uuid[])', filter.userIds)
  if (filter.resourceIds) add('l.resource_id = ANY(?::uuid[])', filter.resourceIds)
  if (filter.resource !== undefined) add('l.resource = ?', filter.resource)
  if (filter.action !== undefined) add('l.action = ?', filter.action)
  if (filter.from) add('l.at >= ?', filter.from)
  if (filter.to) add('l.at < ?', filter.to)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'audit_log l',
      where,
      values,
      bytes: hidesSizes ? BYTES_OF_HIDDEN : storedBytes('l.changes'),
      id: 'l.id',
      sorts: AUDIT_SORTS,
      search: ['l.resource', 'l.action'],
    },
    page,
  )
}

/** Deletes entries over a year old. */
export const pruneAuditLog = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'audit_log', `at < now() - interval '1 year'`)
