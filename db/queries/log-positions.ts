import type { Database, Queryable } from '../client.ts'
import { lockUntilCommit } from '../locks.ts'

/** The stored position of each partition of the log. */
export async function readLogPositions(db: Pick<Queryable, 'query'>): Promise<Map<number, number>> {
  const rows = await db.query<{ log_partition: number; next_offset: number }>(
    'SELECT log_partition, next_offset FROM log_positions',
  )
  return new Map(rows.map(row => [row.log_partition, row.next_offset]))
}

/**
 * The keys of the subjects that exist under the same key: after the restore of a dump a key may belong to another
 * subject.
 */
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
 * Makes new subjects get keys above this one. The restore of a dump also resets the counter, and a reader of the log
 * would assign the points of one subject to another.
 */
export async function reserveSubjectKeys(db: Pick<Queryable, 'query'>, key: number): Promise<void> {
  await db.query(
    `SELECT setval(counter, greatest($1::int8, nextval(counter)))
     FROM (SELECT pg_get_serial_sequence('subjects', 'key')::regclass AS counter) AS keys`,
    [key],
  )
}

/**
 * Sets the log in which positions are counted from now on. Returns the amount by which the offsets of each partition
 * are raised, so that those of the log that are not stored yet lie above the stored ones of another log. `begin` runs
 * first, in one process at a time, and says whether the log of this name has restarted at 0.
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
