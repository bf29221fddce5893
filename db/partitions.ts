import type { Queryable } from './client.ts'

/**
 * The partitions of `points`, a week each. On TimescaleDB they are chunks that make themselves; elsewhere a year
 * back and a month ahead are made before they are needed, since making one beside a slow reader blocks inserts.
 */
const WEEK_MS = 7 * 24 * 3600_000
/** Monday 1970-01-05, so that a partition is a calendar week. */
const FIRST_MONDAY_MS = 4 * 24 * 3600_000
const AHEAD_MS = 30 * 24 * 3600_000

/** How long points are kept; older ones are refused at the door. */
export const RETENTION_MS = 365 * 24 * 3600_000

export interface Partition {
  name: string
  from: Date
  to: Date
}

/** The weeks that have to exist at `now`: from the oldest point that may still come to a month ahead. */
export function neededPartitions(now: number): Partition[] {
  const first = Math.floor((now - RETENTION_MS - FIRST_MONDAY_MS) / WEEK_MS)
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

/** Makes the partitions that are missing. Returns their names. */
export async function createPartitions(db: Queryable, now: number): Promise<string[]> {
  if (await isHypertable(db)) return []
  const existing = new Set((await listPartitions(db)).map(partition => partition.name))
  const missing = neededPartitions(now).filter(partition => !existing.has(partition.name))
  for (const { name, from, to } of missing) {
    // ATTACH takes a lock that lets inserts go on (SHARE UPDATE EXCLUSIVE); CREATE … PARTITION OF does not.
    await db.query(`CREATE TABLE IF NOT EXISTS ${name} (LIKE points INCLUDING ALL)`)
    await db.query(
      `ALTER TABLE points ATTACH PARTITION ${name}
       FOR VALUES FROM ('${from.toISOString()}') TO ('${to.toISOString()}')`,
    )
  }
  return missing.map(partition => partition.name)
}

/** The attached partitions by name, oldest first. */
export async function listPartitions(db: Queryable): Promise<{ name: string; to: Date }[]> {
  return db.query(
    `SELECT relname AS name, (regexp_match(pg_get_expr(relpartbound, oid), 'TO \\(''([^'']+)''\\)'))[1]::timestamptz AS "to"
     FROM pg_class WHERE oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'points'::regclass) ORDER BY relname`,
  )
}
