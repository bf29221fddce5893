import type { Queryable } from '../client.ts'

/** The time of the database in milliseconds since 1970: one clock for all processes, whatever their own clocks say. */
export async function readClock(db: Queryable): Promise<number> {
  const [row] = await db.query<{ now: number }>(`SELECT (extract(epoch FROM now()) * 1000)::float8 AS now`)
  return (row as { now: number }).now
}

/** Somebody who watches over a wrong clock corrects it within hours. */
const LEAP = `interval '14 days'`
const STANDS_FOR = `interval '3 days'`

/**
 * The same, and whether history may be deleted by it. A clock more than 14 days after the last trusted reading is not
 * trusted, unless it has stayed there for 3 days, as after a year in a drawer.
 */
export async function lookAtClock(
  db: Queryable,
): Promise<{ now: number; believed: boolean; leapDays: number }> {
  const [row] = await db.query<{ now: number; believed: boolean; leapDays: number }>(
    `UPDATE clock SET seen_at = CASE WHEN believed THEN now ELSE clock.seen_at END,
       doubted_since = CASE WHEN NOT believed THEN least(clock.doubted_since, now) END
     FROM (SELECT now() AS now, extract(epoch FROM now() - seen_at)::float8 / 86400 AS leap,
         now() < seen_at + ${LEAP} OR coalesce(now() >= doubted_since + ${STANDS_FOR}, false) AS believed
       FROM clock FOR UPDATE) looked
     RETURNING (extract(epoch FROM looked.now) * 1000)::float8 AS now, believed, leap AS "leapDays"`,
  )
  return row as { now: number; believed: boolean; leapDays: number }
}

/** The present time of the database, and the latest time that it has stored, both in milliseconds since 1970. */
export async function readClocks(db: Queryable): Promise<{ now: number; seenAt: number }> {
  const [row] = await db.query<{ now: number; seenAt: number }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, (extract(epoch FROM greatest(
         (SELECT seen_at FROM clock), (SELECT max(received_at) FROM newest_fixes))) * 1000)::float8 AS "seenAt"`,
  )
  return row as { now: number; seenAt: number }
}
