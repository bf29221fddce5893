import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** A sign-in that has shown the password and still has to show a code. */
export interface LoginChallenge {
  accountId: string
  email: string
  passwordDigest: Buffer
  /** The organization that the sign-in named; null for the one used last. */
  wanted: string | null
  /** The digest of an invitation that is accepted with the code, and the name to join under. */
  invitation: Buffer | null
  name: string | null
}

/** Each right password makes one; further ones push out the oldest. */
const MAX_OPEN = 20

export async function insertChallenge(
  tx: Queryable,
  challenge: Omit<LoginChallenge, 'email'> & { digest: Buffer; lifetimeS: number },
): Promise<void> {
  const { digest, accountId, passwordDigest, wanted, invitation, name, lifetimeS } = challenge
  await tx.query(
    `INSERT INTO login_challenges (digest, account_id, password_digest, wanted, invitation, name, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))`,
    [digest, accountId, passwordDigest, wanted, invitation, name, lifetimeS],
  )
  await tx.query(
    `DELETE FROM login_challenges WHERE account_id = $1 AND digest IN (
       SELECT digest FROM login_challenges WHERE account_id = $1 ORDER BY created_at DESC, digest OFFSET ${MAX_OPEN})`,
    [accountId],
  )
}

/** The open challenge with this digest and fewer than `maxFailures` wrong codes, or null. */
export async function findChallenge(
  db: Queryable,
  digest: Buffer,
  maxFailures: number,
): Promise<LoginChallenge | null> {
  const [row] = await db.query<LoginChallenge>(
    `SELECT c.account_id AS "accountId", a.email, c.password_digest AS "passwordDigest", c.wanted, c.invitation, c.name
     FROM login_challenges c JOIN accounts a ON a.id = c.account_id
     WHERE c.digest = $1 AND c.expires_at > now() AND c.failures < $2`,
    [digest, maxFailures],
  )
  return row ?? null
}

/** Counts an attempt. Returns false if there were as many as there may be, or the challenge has ended. */
export async function countAttempt(db: Queryable, digest: Buffer, max: number): Promise<boolean> {
  const counted = await db.query(
    `UPDATE login_challenges SET failures = failures + 1
     WHERE digest = $1 AND expires_at > now() AND failures < $2 RETURNING digest`,
    [digest, max],
  )
  return counted.length > 0
}

/** Ends a challenge. Returns false if another request has ended it. */
export async function deleteChallenge(tx: Queryable, digest: Buffer): Promise<boolean> {
  return (
    (await tx.query('DELETE FROM login_challenges WHERE digest = $1 RETURNING digest', [digest])).length > 0
  )
}

export const pruneChallenges = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'login_challenges', 'expires_at < now()')
