import type { Database, Queryable } from '../client.ts'
import { isReferenced } from '../errors.ts'

/**
 * Deletes everything of a deleted organization, in batches, so that nothing waits for it long. The tables are found by
 * their column `organization_id`: a new one needs no line here. Points know only their subject, and are deleted by it.
 */
const BATCH = 5_000

/** The keys of an organization's subjects. */
export async function listSubjectKeys(db: Queryable, organizationId: string): Promise<number[]> {
  const rows = await db.query<{ key: number }>('SELECT key FROM subjects WHERE organization_id = $1', [
    organizationId,
  ])
  return rows.map(row => row.key)
}

/** Deletes the points of subjects, and their newest fixes. */
export async function deletePoints(
  db: Database,
  subjects: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  for (const subject of subjects) {
    for (;;) {
      signal.throwIfAborted()
      // Up to a time, so that partitions without these points are skipped.
      const [row] = await db.system.query<{ until: Date | null }>(
        `SELECT max(recorded_at) AS until FROM (
           SELECT recorded_at FROM points WHERE subject_key = $1 ORDER BY recorded_at LIMIT ${BATCH}) first`,
        [subject],
      )
      if (!row?.until) break
      await db.system.query('DELETE FROM points WHERE subject_key = $1 AND recorded_at <= $2', [
        subject,
        row.until,
      ])
    }
  }
  await db.system.query('DELETE FROM newest_fixes WHERE subject_key = ANY($1::int4[])', [subjects])
}

/** Deletes the rows of every table, starting with those that nothing refers to, and the organization last. */
export async function deleteTenantRows(
  db: Database,
  organizationId: string,
  signal: AbortSignal,
): Promise<void> {
  const tables = await db.system.query<{ name: string }>(
    `SELECT quote_ident(c.relname) AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE a.attname = 'organization_id' AND NOT a.attisdropped AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname`,
  )
  let left = tables.map(({ name }) => name)
  while (left.length > 0) {
    const blocked: string[] = []
    for (const table of left) {
      if (!(await emptyTable(db, table, organizationId, signal))) blocked.push(table)
    }
    // A running import writes its last rows; the next attempt begins with all tables.
    if (blocked.length === left.length)
      throw new Error(
        `Rows of ${blocked.join(', ')} are still referred to, perhaps by some written meanwhile`,
      )
    left = blocked
  }
  await db.system.query('DELETE FROM organizations WHERE id = $1', [organizationId])
}

/** Returns false if rows of other tables refer to these. */
async function emptyTable(
  db: Database,
  table: string,
  organizationId: string,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    signal.throwIfAborted()
    try {
      const [row] = await db.system.query<{ count: number }>(
        `WITH gone AS (
           DELETE FROM ${table} WHERE (tableoid, ctid) IN (
             SELECT tableoid, ctid FROM ${table} WHERE organization_id = $1 LIMIT ${BATCH})
           RETURNING 1
         ) SELECT count(*)::int4 AS count FROM gone`,
        [organizationId],
      )
      if ((row?.count ?? 0) < BATCH) return true
    } catch (error) {
      if (isReferenced(error)) return false
      throw error
    }
  }
}
