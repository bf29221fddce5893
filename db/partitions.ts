import type { Database, Queryable } from './client.ts'
import { isLockTimeout } from './errors.ts'
import { lockUntilCommit } from './locks.ts'
import { lookAtClock, readClock } from './queries/clock.ts'
import { retentionMs } from './retention.ts'

/**
 * The partitions of `points`, each a week. TimescaleDB creates its chunks itself. Elsewhere, partitions from the
 * end of the retention to a month ahead are created before they are needed, since creating one beside a slow reader blocks inserts.
 */
const WEEK_MS = 7 * 24 * 3600_000
/** Monday 1970-01-05, so that a partition is a calendar week. */
const FIRST_MONDAY_MS = 4 * 24 * 3600_000
const AHEAD_MS = 30 * 24 * 3600_000

export interface Partition {
  name: string
  from: Date
  to: Date
}

/** The weeks needed at `now`: from that of the oldest acceptable point to a month ahead. */
export function neededPartitions(now: number): Partition[] {
  const first = Math.floor((now - retentionMs() - FIRST_MONDAY_MS) / WEEK_MS)
  const last = Math.floor((now + AHEAD_MS - FIRST_MONDAY_MS) / WEEK_MS)
  return Array.from({ length: last - first + 1 }, (_, index) => describe(first + index))
}

function describe(week: number): Partition {
  const from = new Date(FIRST_MONDAY_MS + week * WEEK_MS)
  const to = new Date(from.getTime() + WEEK_MS)
  return { name: `points_${from.toISOString().slice(0, 10).replaceAll('-', '_')}`, from, to }
}

/** Whether `points` is a hypertable, as was decided when the database was first set up. */
export async function isHypertable(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ partitioned: boolean }>(
    `SELECT relkind = 'p' AS partitioned FROM pg_class WHERE oid = 'points'::regclass`,
  )
  return !row?.partitioned
}

/** Creates the missing partitions, by the database's clock. Returns their names. */
export function createPartitions(db: Database, now?: number): Promise<string[]> {
  return attachMissing(db, async tx => neededPartitions(now ?? (await readClock(tx))))
}

/**
 * Creates the missing partitions for points of these times, which were accepted by another clock, or whose partition
 * was dropped while they waited.
 */
export function createPartitionsFor(db: Database, times: readonly number[]): Promise<string[]> {
  const weeks = new Set(times.map(time => Math.floor((time - FIRST_MONDAY_MS) / WEEK_MS)))
  return attachMissing(db, async () => [...weeks].sort((a, b) => a - b).map(describe))
}

async function attachMissing(db: Database, list: (tx: Queryable) => Promise<Partition[]>): Promise<string[]> {
  return db.system.transaction(async tx => {
    if (await isHypertable(tx)) return []
    await lockUntilCommit(tx, 'partitions')
    const existing = new Set((await listPartitions(tx)).map(partition => partition.name))
    const missing = (await list(tx)).filter(partition => !existing.has(partition.name))
    for (const { name, from, to } of missing) {
      // ATTACH takes a lock that permits inserts (SHARE UPDATE EXCLUSIVE); CREATE … PARTITION OF does not.
      await tx.query(`CREATE TABLE IF NOT EXISTS ${name} (LIKE points INCLUDING ALL)`)
      await tx.query(
        `ALTER TABLE points ATTACH PARTITION ${name}
         FOR VALUES FROM ('${from.toISOString()}') TO ('${to.toISOString()}')`,
      )
    }
    return missing.map(partition => partition.name)
  })
}

/**
 * Drops whole partitions whose points are all older than the retention, by the database's clock. Returns their names.
 * Throws if that clock has jumped ahead.
 *
 * No write waits for it. A hypertable's chunk is dropped only if its lock is granted within 100 ms; otherwise a slow
 * reader of the chunk would block every later reader. The next run tries again. A plain partition leaves with DETACH
 * CONCURRENTLY, which waits for readers without a lock that writers need, and is dropped when no transaction sees it.
 */
export async function dropOldPartitions(db: Database, now?: number): Promise<string[]> {
  if (now === undefined) {
    const clock = await lookAtClock(db.system)
    if (!clock.believed) {
      throw new Error(
        `The clock says ${new Date(clock.now).toISOString()}, ${Math.floor(clock.leapDays)} days after it was last looked ` +
          'at. No history is dropped by it before it has said so for 3 days. Set it right if it is wrong.',
      )
    }
    return dropOldPartitions(db, clock.now)
  }
  const cutoff = new Date(now - retentionMs())
  return (await isHypertable(db.system)) ? dropChunks(db, cutoff) : dropDetached(db, cutoff)
}

async function dropChunks(db: Database, cutoff: Date): Promise<string[]> {
  try {
    const dropped = await db.system.transaction(async tx => {
      await tx.query(`SET LOCAL lock_timeout = '100ms'`)
      return tx.query<{ name: string }>(
        `SELECT drop_chunks('points', older_than => $1::timestamptz) AS name`,
        [cutoff],
      )
    })
    return dropped.map(({ name }) => name)
  } catch (error) {
    if (isLockTimeout(error)) return []
    throw error
  }
}

async function dropDetached(db: Database, cutoff: Date): Promise<string[]> {
  const old = (await listPartitions(db.system)).filter(({ to }) => to <= cutoff)
  for (const { name, detaching } of old) {
    // A process that died in the middle leaves the partition half detached.
    await db.system.query(
      `ALTER TABLE points DETACH PARTITION ${name} ${detaching ? 'FINALIZE' : 'CONCURRENTLY'}`,
    )
  }
  const detached = await db.system.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
       AND relname ~ '^points_[0-9]{4}_[0-9]{2}_[0-9]{2}$' AND relname < $1
       AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid) ORDER BY 1`,
    [describe(Math.floor((cutoff.getTime() - FIRST_MONDAY_MS) / WEEK_MS)).name],
  )
  for (const { name } of detached) await db.system.query(`DROP TABLE IF EXISTS ${name}`)
  return detached.map(({ name }) => name)
}

/** The attached partitions by name, oldest first; `detaching` marks one that is being detached. */
export async function listPartitions(
  db: Queryable,
): Promise<{ name: string; to: Date; detaching: boolean }[]> {
  return db.query(
    `SELECT relname AS name, inhdetachpending AS detaching,
       (regexp_match(pg_get_expr(relpartbound, oid), 'TO \\(''([^'']+)''\\)'))[1]::timestamptz AS "to"
     FROM pg_class JOIN pg_inherits ON inhrelid = oid WHERE inhparent = 'points'::regclass ORDER BY relname`,
  )
}
