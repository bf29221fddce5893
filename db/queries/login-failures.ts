import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** The failures in a row under each key, and the age of the last one. */
export interface Failures {
  failures: number
  secondsAgo: number
}

export async function readFailures(db: Queryable, keys: readonly string[]): Promise<Map<string, Failures>> {
  const rows = await db.query<Failures & { key: string }>(
    `SELECT key, failures, extract(epoch FROM clock_timestamp() - last_at)::float8 AS "secondsAgo"
     FROM login_failures WHERE key = ANY($1::text[])`,
    [keys],
  )
  return new Map(rows.map(({ key, ...row }) => [key, row]))
}

/** Counts one more failure under each key; starts again at one if the last was more than `forgetAfterS` ago. */
export async function addFailure(
  db: Queryable,
  keys: readonly { key: string; forgetAfterS: number }[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ key: string; failures: number }>(
    `INSERT INTO login_failures AS old (key, failures, last_at)
     SELECT key, 1, clock_timestamp() FROM unnest($1::text[]) AS given(key) ORDER BY key
     ON CONFLICT (key) DO UPDATE SET last_at = clock_timestamp(), failures = CASE WHEN old.last_at <
         clock_timestamp() - make_interval(secs => ($2::float8[])[array_position($1::text[], old.key)])
       THEN 1 ELSE old.failures + 1 END
     RETURNING key, failures`,
    [keys.map(({ key }) => key), keys.map(({ forgetAfterS }) => forgetAfterS)],
  )
  return new Map(rows.map(row => [row.key, row.failures]))
}

/** `withAddresses` also clears what is counted under the key and a network address behind it. */
export async function clearFailures(
  db: Queryable,
  key: string,
  { withAddresses = false } = {},
): Promise<void> {
  await db.query(`DELETE FROM login_failures WHERE key = $1 OR ($2 AND starts_with(key, $1 || ':'))`, [
    key,
    withAddresses,
  ])
}

/** Deletes forgotten failures. */
export const pruneFailures = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'login_failures', `last_at < now() - interval '1 day'`)
