import type { Queryable } from '../client.ts'

/** The second factor of an account. */
export interface SecondFactor {
  /** Sealed. */
  secret: string
  isConfirmed: boolean
}

/** The second factor of an account, or one that is being set up; null if there is none. */
export async function findSecondFactor(db: Queryable, accountId: string): Promise<SecondFactor | null> {
  const [row] = await db.query<SecondFactor>(
    `SELECT secret, confirmed_at IS NOT NULL AS "isConfirmed" FROM second_factors WHERE account_id = $1`,
    [accountId],
  )
  return row ?? null
}

/** Begins to set up a second factor, in place of one that was begun before. Returns false if the account has one. */
export async function beginSecondFactor(tx: Queryable, accountId: string, secret: string): Promise<boolean> {
  const begun = await tx.query(
    `INSERT INTO second_factors AS f (account_id, secret) VALUES ($1, $2)
     ON CONFLICT (account_id) DO UPDATE SET secret = excluded.secret, created_at = now()
       WHERE f.confirmed_at IS NULL
     RETURNING account_id`,
    [accountId, secret],
  )
  return begun.length > 0
}

/** Confirms the second factor with this sealed secret. Returns false if it is confirmed already, or has another secret. */
export async function confirmSecondFactor(
  tx: Queryable,
  accountId: string,
  { secret, step }: { secret: string; step: number },
): Promise<boolean> {
  const confirmed = await tx.query(
    `UPDATE second_factors SET confirmed_at = now(), last_step = $3
     WHERE account_id = $1 AND secret = $2 AND confirmed_at IS NULL RETURNING account_id`,
    [accountId, secret, step],
  )
  return confirmed.length > 0
}

/** Uses the code of a step. Returns false if it, or a later one, was used before: in whichever process. */
export async function takeStep(db: Queryable, accountId: string, step: number): Promise<boolean> {
  const taken = await db.query(
    `UPDATE second_factors SET last_step = $2
     WHERE account_id = $1 AND confirmed_at IS NOT NULL AND last_step < $2 RETURNING account_id`,
    [accountId, step],
  )
  return taken.length > 0
}

/** Uses a recovery code. Returns false if there is none with this digest. */
export async function takeRecoveryCode(db: Queryable, accountId: string, digest: Buffer): Promise<boolean> {
  const taken = await db.query(
    'DELETE FROM recovery_codes WHERE account_id = $1 AND digest = $2 RETURNING account_id',
    [accountId, digest],
  )
  return taken.length > 0
}

/** Replaces the recovery codes of an account. */
export async function setRecoveryCodes(
  tx: Queryable,
  accountId: string,
  digests: readonly Buffer[],
): Promise<void> {
  await tx.query('DELETE FROM recovery_codes WHERE account_id = $1', [accountId])
  await tx.query(
    `INSERT INTO recovery_codes (account_id, digest)
     SELECT $1, decode(digest, 'hex') FROM unnest($2::text[]) AS digest ORDER BY digest`,
    [accountId, digests.map(digest => digest.toString('hex'))],
  )
}

/** Removes the second factor, its recovery codes, and sign-ins that wait for a code. Returns false if there was none. */
export async function deleteSecondFactor(tx: Queryable, accountId: string): Promise<boolean> {
  await tx.query('DELETE FROM recovery_codes WHERE account_id = $1', [accountId])
  await tx.query('DELETE FROM login_challenges WHERE account_id = $1', [accountId])
  const deleted = await tx.query(
    'DELETE FROM second_factors WHERE account_id = $1 AND confirmed_at IS NOT NULL RETURNING account_id',
    [accountId],
  )
  return deleted.length > 0
}

/** The organizations that demand a second factor of an account. */
export async function listDemanding(tx: Queryable, accountId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT o.id FROM users u JOIN organizations o ON o.id = u.organization_id
     WHERE u.account_id = $1 AND o.settings @> '{"requireSecondFactor": true}' ORDER BY o.id`,
    [accountId],
  )
  return rows.map(({ id }) => id)
}

/** Whether a user's account has a second factor, and the number of its recovery codes. */
export async function describeSecondFactor(
  tx: Queryable,
  accountId: string,
): Promise<{ isOn: boolean; recoveryCodesLeft: number }> {
  const [row] = await tx.query<{ isOn: boolean; recoveryCodesLeft: number }>(
    `SELECT EXISTS (SELECT FROM second_factors WHERE account_id = $1 AND confirmed_at IS NOT NULL) AS "isOn",
       (SELECT count(*)::int4 FROM recovery_codes WHERE account_id = $1) AS "recoveryCodesLeft"`,
    [accountId],
  )
  return row ?? { isOn: false, recoveryCodesLeft: 0 }
}

/** A member who has no second factor. */
export interface Unsecured {
  _id: string
  name: string
  email: string
}

/**
 * The active members of an organization without a second factor who sign in with a password, by name: the first `limit`,
 * and how many there are.
 */
export async function listUnsecured(
  tx: Queryable,
  organizationId: string,
  limit: number,
): Promise<{ total: number; users: Unsecured[] }> {
  const rows = await tx.query<Unsecured & { total: number }>(
    `SELECT u.id AS "_id", u.name, a.email, count(*) OVER ()::int4 AS total
     FROM users u JOIN accounts a ON a.id = u.account_id
     WHERE u.organization_id = $1 AND u.status = 'active' AND a.password_hash IS NOT NULL
       AND NOT EXISTS (SELECT FROM second_factors f WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL)
     ORDER BY lower(u.name), u.id LIMIT $2`,
    [organizationId, limit],
  )
  return { total: rows[0]?.total ?? 0, users: rows.map(({ total: _, ...user }) => user) }
}

/** A page of the sealed secrets of all accounts, after the account `after`. */
export function listFactorSecrets(
  db: Queryable,
  after: string | null,
): Promise<{ accountId: string; secret: string }[]> {
  return db.query(
    `SELECT account_id AS "accountId", secret FROM second_factors
     WHERE $1::uuid IS NULL OR account_id > $1 ORDER BY account_id LIMIT 500`,
    [after],
  )
}

/** Stores a secret in another form, unless it was changed meanwhile. */
export async function replaceFactorSecret(
  db: Queryable,
  accountId: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query('UPDATE second_factors SET secret = $3 WHERE account_id = $1 AND secret = $2', [
    accountId,
    from,
    to,
  ])
}
