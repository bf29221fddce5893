import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** The state of a key. */
export type KeyState =
  /** Unused, or its user has died: the request is carried out. */
  | { kind: 'mine' }
  /** It was used with another request. */
  | { kind: 'other' }
  /** The first request with it is still in progress. */
  | { kind: 'busy' }
  | { kind: 'answered'; status: number; answer: Buffer }
  /** It was carried out, and its answer is not stored. */
  | { kind: 'repeated' }

/** Takes a key for a request, or returns the state of the key. */
export async function takeKey(
  db: Queryable,
  key: { id: Buffer; organizationId: string | null; fingerprint: Buffer; leaseMs: number },
): Promise<KeyState> {
  const mine = await db.query(
    `INSERT INTO idempotency_keys AS old (id, organization_id, fingerprint, lease_until)
     VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4::float8 / 1000))
     ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, lease_until = excluded.lease_until,
       status = NULL, answer = NULL, created_at = now()
     WHERE old.created_at < now() - interval '24 hours'
       OR (old.status IS NULL AND old.lease_until < clock_timestamp() AND old.fingerprint = excluded.fingerprint)
     RETURNING id`,
    [key.id, key.organizationId, key.fingerprint, key.leaseMs],
  )
  if (mine.length > 0) return { kind: 'mine' }
  const [row] = await db.query<{ same: boolean; status: number | null; answer: Uint8Array | null }>(
    'SELECT fingerprint = $2 AS same, status, answer FROM idempotency_keys WHERE id = $1',
    [key.id, key.fingerprint],
  )
  // The key was released since the insertion failed: the client's next attempt finds it free.
  if (!row) return { kind: 'busy' }
  if (!row.same) return { kind: 'other' }
  if (row.status === null) return { kind: 'busy' }
  if (row.answer === null) return { kind: 'repeated' }
  return { kind: 'answered', status: row.status, answer: Buffer.from(row.answer) }
}

/** Whether a key has been taken by a request. */
export async function isKeyUsed(db: Queryable, id: Buffer): Promise<boolean> {
  return (await db.query('SELECT FROM idempotency_keys WHERE id = $1', [id])).length > 0
}

export async function extendKey(db: Queryable, id: Buffer, leaseMs: number): Promise<void> {
  await db.query(
    `UPDATE idempotency_keys SET lease_until = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
     WHERE id = $1 AND status IS NULL`,
    [id, leaseMs],
  )
}

/** Stores the answer of a request; without the answer, only that it was carried out. */
export async function keepAnswer(
  db: Queryable,
  id: Buffer,
  status: number,
  answer: Buffer | null,
): Promise<void> {
  await db.query('UPDATE idempotency_keys SET status = $2, answer = $3 WHERE id = $1', [id, status, answer])
}

/** Releases a key: the same request counts as a new attempt. */
export async function releaseKey(db: Queryable, id: Buffer): Promise<void> {
  await db.query('DELETE FROM idempotency_keys WHERE id = $1', [id])
}

/** Deletes keys that are over a day old. */
export const pruneKeys = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'idempotency_keys', `created_at < now() - interval '24 hours'`)
