import type { Queryable } from '../client.ts'

/** A user or device that was heard from, and how many seconds ago, since the database's clock counts. */
export interface Heard {
  id: string
  secondsAgo: number
}

const COLUMNS = { user: 'users.last_active_at', device: 'devices.last_seen_at' } as const

/**
 * Writes when these users or devices were last heard from; the time never goes back. Locked rows are skipped, so that
 * nothing waits: the next minute writes again.
 */
export async function updateLastSeen(
  db: Queryable,
  kind: keyof typeof COLUMNS,
  heard: readonly Heard[],
): Promise<void> {
  const [table, column] = COLUMNS[kind].split('.')
  await db.query(
    `WITH held AS (
       SELECT t.id, now() - make_interval(secs => h.seconds_ago) AS at
       FROM unnest($1::uuid[], $2::float8[]) AS h(id, seconds_ago) JOIN ${table} t ON t.id = h.id
       FOR NO KEY UPDATE OF t SKIP LOCKED
     )
     UPDATE ${table} t SET ${column} = held.at FROM held
     WHERE t.id = held.id AND (t.${column} IS NULL OR t.${column} < held.at)`,
    [heard.map(({ id }) => id), heard.map(({ secondsAgo }) => secondsAgo)],
  )
}

/** Writes when and from where these API keys were last used, in the same way. */
export async function updateKeyUse(
  db: Queryable,
  used: readonly (Heard & { address: string | null })[],
): Promise<void> {
  await db.query(
    `WITH held AS (
       SELECT t.id, now() - make_interval(secs => u.seconds_ago) AS at, u.address
       FROM unnest($1::uuid[], $2::float8[], $3::text[]) AS u(id, seconds_ago, address) JOIN api_keys t ON t.id = u.id
       FOR NO KEY UPDATE OF t SKIP LOCKED
     )
     UPDATE api_keys t SET last_used_at = held.at, last_used_from = coalesce(held.address, t.last_used_from) FROM held
     WHERE t.id = held.id AND (t.last_used_at IS NULL OR t.last_used_at < held.at)`,
    [used.map(({ id }) => id), used.map(({ secondsAgo }) => secondsAgo), used.map(({ address }) => address)],
  )
}
