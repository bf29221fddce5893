import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** How often something may be done within a window, which begins with the first time. */
export interface Allowance {
  max: number
  windowS: number
}

/**
 * Counts one more time, in one statement, so that requests at the same moment are all counted. Returns 0, or the seconds
 * until the window ends if that was too often.
 */
export async function useAllowance(db: Queryable, key: string, { max, windowS }: Allowance): Promise<number> {
  const [row] = await db.query<{ used: number; remainingS: number }>(
    `INSERT INTO allowances AS a (key, used, ends_at)
     VALUES ($1, 1, clock_timestamp() + make_interval(secs => $2))
     ON CONFLICT (key) DO UPDATE SET
       used = CASE WHEN a.ends_at <= clock_timestamp() THEN 1 ELSE least(a.used, 1000000) + 1 END,
       ends_at = CASE WHEN a.ends_at <= clock_timestamp() THEN excluded.ends_at ELSE a.ends_at END
     RETURNING used, greatest(extract(epoch FROM ends_at - clock_timestamp()), 1)::float8 AS "remainingS"`,
    [key, windowS],
  )
  return row && row.used > max ? Math.ceil(row.remainingS) : 0
}

/** Deletes windows that have ended. */
export const pruneAllowances = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'allowances', 'ends_at < now()')
