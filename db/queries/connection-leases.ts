import type { Queryable } from '../client.ts'
import type { Broker } from '../schema/connections.ts'
import { PROFILE_ID } from './connections.ts'
import { ROOT } from './root.ts'

/** How long a process is the client of a broker without saying so again; then another one may be. */
export const LEASE_MS = 9_000
/** The connections that a process takes at once, so that those of a dead one are shared by the others. */
const TAKEN_AT_ONCE = 20

/** Why a connection waits that no process has a place for. */
const NO_PLACE =
  'All places for connections to brokers are taken. This one is opened as soon as one is free: stop another connection that is not needed.'

/**
 * Holds on to connections to brokers, and takes some that nobody holds. Places go round by root (fair/roots.ts): everybody
 * has a first one before somebody has a second one, and who has more than this share gives up a place for another.
 * Connections without a place say so. Resolves to those held.
 */
export async function holdConnections(db: Queryable, processId: string, max: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `WITH wanted AS (
       SELECT s.connection_id, s.held_by IS NOT DISTINCT FROM $1 AS is_own, s.held_until, ${ROOT} AS root
       FROM connection_states s JOIN connections c ON c.id = s.connection_id JOIN organizations o ON o.id = c.organization_id
       WHERE c.kind = 'broker' AND c.is_active AND (s.held_by = $1 OR s.held_until < now())
     ), ranked AS (
       SELECT *, row_number() OVER (PARTITION BY root ORDER BY is_own DESC, held_until, connection_id) AS place FROM wanted
     ), chosen AS (
       SELECT * FROM ranked ORDER BY place, is_own DESC, held_until, connection_id LIMIT $2
     ), own AS (
       SELECT connection_id FROM connection_states
       WHERE connection_id IN (SELECT connection_id FROM chosen WHERE is_own) ORDER BY 1 FOR UPDATE
     ), free AS (
       SELECT connection_id FROM connection_states
       WHERE connection_id IN (SELECT connection_id FROM chosen WHERE NOT is_own ORDER BY place, held_until LIMIT ${TAKEN_AT_ONCE})
         AND held_until < now()
       ORDER BY 1 FOR UPDATE SKIP LOCKED
     ), without AS (
       UPDATE connection_states s SET state = 'connecting', last_error = $3, held_by = NULL, held_until = '-infinity'
       FROM ranked r WHERE s.connection_id = r.connection_id
         AND r.connection_id NOT IN (SELECT connection_id FROM chosen)
         AND (s.held_by = $1 OR s.held_until < now()) AND (s.held_by IS NOT NULL OR s.last_error IS DISTINCT FROM $3)
     )
     UPDATE connection_states SET held_by = $1, held_until = now() + make_interval(secs => ${LEASE_MS / 1000})
     WHERE connection_id IN (SELECT connection_id FROM own UNION ALL SELECT connection_id FROM free)
     RETURNING connection_id AS id`,
    [processId, max, NO_PLACE],
  )
  return rows.map(({ id }) => id)
}

/** Lets go of everything that the process holds. */
export async function releaseConnections(db: Queryable, processId: string): Promise<void> {
  await db.query(`UPDATE connection_states SET held_by = NULL, held_until = '-infinity' WHERE held_by = $1`, [
    processId,
  ])
}

/** Everything that a process needs to be the client of a broker. */
export interface HeldConnection {
  id: string
  organizationId: string
  root: string
  keyHash: Buffer
  profileId: string
  broker: Broker
  secrets: string | null
  /** The topics that our session at the broker is subscribed to. */
  subscribed: string[]
}

export async function listHeldConnections(db: Queryable, ids: readonly string[]): Promise<HeldConnection[]> {
  const rows = await db.query<HeldConnection>(
    `SELECT c.id, c.organization_id AS "organizationId", ${ROOT} AS root, c.key_hash AS "keyHash",
       ${PROFILE_ID} AS "profileId", c.broker, c.secrets, s.subscribed
     FROM connections c JOIN connection_states s ON s.connection_id = c.id JOIN organizations o ON o.id = c.organization_id
     WHERE c.id = ANY($1::uuid[]) AND c.is_active AND c.kind = 'broker'`,
    [ids],
  )
  return rows.map(row => ({ ...row, keyHash: Buffer.from(row.keyHash) }))
}

export async function updateSubscribed(db: Queryable, id: string, topics: readonly string[]): Promise<void> {
  await db.query('UPDATE connection_states SET subscribed = $2::text[] WHERE connection_id = $1', [
    id,
    topics,
  ])
}
