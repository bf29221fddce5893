import type { Queryable } from '../client.ts'

/** The rows of one statement: nobody else has a turn at the embedded database meanwhile. */
const STEP_ROWS = 2_000

/** Deletes some of the rows that match the condition. Resolves to whether there may be more. */
export async function deleteSome(
  db: Queryable,
  table: string,
  condition: string,
  rows = STEP_ROWS,
): Promise<boolean> {
  const [deleted] = await db.query<{ count: number }>(
    `WITH deleted AS (
       DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${rows}))
       RETURNING 1)
     SELECT count(*)::int4 AS count FROM deleted`,
  )
  return deleted?.count === rows
}
