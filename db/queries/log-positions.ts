import type { Database, Queryable } from '../client.ts'
import { lockUntilCommit } from '../locks.ts'

/** How far each partition of the log is stored. */
export async function readLogPositions(db: Pick<Queryable, 'query'>): Promise<Map<number, number>> {
  const rows = await db.query<{ log_partition: number; next_offset: number }>(
    'SELECT log_partition, next_offset FROM log_positions',
  )
  return new Map(rows.map(row => [row.log_partition, row.next_offset]))
}

/**
 * Says which log the positions count in from now on. Returns what the offsets of each partition are raised by: what
 * is stored, at the time when the log was another one. `begin` runs before, alone among all processes, and says whether
 * the log of this name has begun again at 0.
 */
export function claimLog(
  db: Database,
  log: string,
  partitions: number,
  begin: () => Promise<boolean> = async () => false,
): Promise<Map<number, number>> {
  return db.system.transaction(async tx => {
    await lockUntilCommit(tx, 'logPositions')
    await tx.query(
      `INSERT INTO log_positions AS old (log_partition, next_offset, log, base)
       SELECT p, 0, $1, 0 FROM generate_series(0, $2::int4 - 1) AS p ORDER BY p
       ON CONFLICT (log_partition) DO UPDATE SET log = excluded.log, base = old.next_offset
       WHERE old.log <> excluded.log OR $3`,
      [log, partitions, await begin()],
    )
    const rows = await tx.query<{ p: number; base: number }>(
      'SELECT log_partition AS p, base FROM log_positions WHERE log_partition < $1',
      [partitions],
    )
    return new Map(rows.map(row => [row.p, row.base]))
  })
}
