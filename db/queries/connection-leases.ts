import type { Queryable } from '../client.ts'
import type { Broker } from '../schema/connections.ts'
import { PROFILE_ID } from './connections.ts'

/** How long a process is the client of a broker without saying so again; then another one may be. */
export const LEASE_MS = 9_000
/** The connections that a process takes at once, so that those of a dead one are shared by the others. */
const TAKEN_AT_ONCE = 20

/** Holds on to these brokers' connections, and takes some that nobody holds. Resolves to those held. */
export async function holdConnections(db: Queryable, processId: string, max: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `WITH own AS (
       SELECT s.connection_id FROM connection_states s JOIN connections c ON c.id = s.connection_id
       WHERE s.held_by = $1 AND c.is_active ORDER BY 1 FOR UPDATE OF s
     ), free AS (
       SELECT s.connection_id FROM connection_states s JOIN connections c ON c.id = s.connection_id
       WHERE c.kind = 'broker' AND c.is_active AND s.held_until < now() AND s.held_by IS DISTINCT FROM $1
       ORDER BY s.held_until, 1 LIMIT greatest(0, least(${TAKEN_AT_ONCE}, $2 - (SELECT count(*) FROM own)))
       FOR UPDATE OF s SKIP LOCKED
     )
     UPDATE connection_states SET held_by = $1, held_until = now() + make_interval(secs => ${LEASE_MS / 1000})
     WHERE connection_id IN (SELECT connection_id FROM own UNION ALL SELECT connection_id FROM free)
     RETURNING connection_id AS id`,
    [processId, max],
  )
  return rows.map(({ id }) => id)
}

/** Lets go of everything that the process holds. */
export async function releaseConnections(db: Queryable, processId: string): Promise<void> {
  await db.query(`UPDATE connection_states SET held_by = NULL, held_until = '-infinity' WHERE held_by = $1`, [
    processId,
  ])
}

/** What a process needs to be the client of a broker. */
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
    `SELECT c.id, c.organization_id AS "organizationId", coalesce(o.root, o.id) AS root, c.key_hash AS "keyHash",
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
