import type { Database, Queryable } from '../client.ts'
import { lockUntilCommit } from '../locks.ts'

/** How far each partition of the log is stored. */
export async function readLogPositions(db: Pick<Queryable, 'query'>): Promise<Map<number, number>> {
  const rows = await db.query<{ log_partition: number; next_offset: number }>(
    'SELECT log_partition, next_offset FROM log_positions',
  )
  return new Map(rows.map(row => [row.log_partition, row.next_offset]))
}

/** The keys of those subjects that are here under the same key: after a dump was restored a key may be another's. */
export async function listKnownSubjects(
  db: Pick<Queryable, 'query'>,
  subjects: readonly { subject: number; id: string }[],
): Promise<Set<number>> {
  const rows = await db.query<{ key: number }>(
    `SELECT s.key FROM unnest($1::int4[], $2::uuid[]) AS g(key, id) JOIN subjects s ON s.key = g.key AND s.id = g.id`,
    [subjects.map(({ subject }) => subject), subjects.map(({ id }) => id)],
  )
  return new Set(rows.map(({ key }) => key))
}

/**
 * Has new subjects get keys above this one: a dump takes back the count of keys as well, and who follows the log would take the
 * points of one for those of another.
 */
export async function reserveSubjectKeys(db: Pick<Queryable, 'query'>, key: number): Promise<void> {
  await db.query(
    `SELECT setval(counter, greatest($1::int8, nextval(counter)))
     FROM (SELECT pg_get_serial_sequence('subjects', 'key')::regclass AS counter) AS keys`,
    [key],
  )
}

/**
 * Says which log the positions count in from now on. Returns what the offsets of each partition are raised by, so that those
 * of the log that are not stored yet lie above what is stored of another one. `begin` runs before, alone among all processes, and says whether
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
    const begins = await begin()
    await tx.query(
      `INSERT INTO log_ends (log, log_partition, next_offset)
       SELECT log, log_partition, next_offset - base FROM log_positions WHERE log <> $1 AND log_partition < $2
       ON CONFLICT (log, log_partition) DO UPDATE SET next_offset = excluded.next_offset`,
      [log, partitions],
    )
    if (begins) await tx.query('DELETE FROM log_ends WHERE log = $1', [log])
    await tx.query(
      `INSERT INTO log_positions AS old (log_partition, next_offset, log, base)
       SELECT p, 0, $1, 0 FROM generate_series(0, $2::int4 - 1) AS p ORDER BY p
       ON CONFLICT (log_partition) DO UPDATE SET log = excluded.log, base = old.next_offset - coalesce((
           SELECT e.next_offset FROM log_ends e WHERE e.log = excluded.log AND e.log_partition = old.log_partition
         ), 0)
       WHERE old.log <> excluded.log OR $3`,
      [log, partitions, begins],
    )
    const rows = await tx.query<{ p: number; base: number }>(
      'SELECT log_partition AS p, base FROM log_positions WHERE log_partition < $1',
      [partitions],
    )
    return new Map(rows.map(row => [row.p, row.base]))
  })
}
