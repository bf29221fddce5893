import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** The longest that a mail is tried; without a mail, its link ends then as well. */
const UNSENT_LIFETIME = "interval '2 days'"

/** Stores a link for a new password, whose mail is not sent yet. */
export async function insertReset(
  tx: Queryable,
  reset: { id: string; accountId: string; tokenHash: Buffer; sealedToken: Buffer; language: string | null },
): Promise<void> {
  await tx.query(
    `INSERT INTO password_resets (id, account_id, token_hash, sealed_token, language, expires_at)
     VALUES ($1, $2, $3, $4, $5, now() + ${UNSENT_LIFETIME})`,
    [reset.id, reset.accountId, reset.tokenHash, reset.sealedToken, reset.language],
  )
}

/** A reset whose mail is about to be sent. */
export interface UnsentReset {
  accountId: string
  email: string
  sealedToken: Buffer
  /** As the browser that asked for it prefers; null if it did not say. */
  language: string | null
}

/** Begins the lifetime of a link whose mail is about to be handed over. Null if it is of no use any more. */
export async function beginReset(tx: Queryable, id: string, lifetimeS: number): Promise<UnsentReset | null> {
  const [row] = await tx.query<UnsentReset>(
    `UPDATE password_resets r SET expires_at = now() + make_interval(secs => $2)
     FROM accounts a WHERE r.id = $1 AND a.id = r.account_id AND r.sealed_token IS NOT NULL
     RETURNING a.id AS "accountId", a.email, r.sealed_token AS "sealedToken", r.language`,
    [id, lifetimeS],
  )
  return row ?? null
}

/** Forgets the sealed token of a mail that was handed over. Returns the account, or null if a link has been used since. */
export async function endResetMail(tx: Queryable, id: string): Promise<string | null> {
  const [row] = await tx.query<{ accountId: string }>(
    'UPDATE password_resets SET sealed_token = NULL WHERE id = $1 RETURNING account_id AS "accountId"',
    [id],
  )
  return row?.accountId ?? null
}

/** Deletes a link whose mail reaches nobody. Returns its account, or null. */
export async function deleteReset(tx: Queryable, id: string): Promise<string | null> {
  const [row] = await tx.query<{ accountId: string }>(
    'DELETE FROM password_resets WHERE id = $1 RETURNING account_id AS "accountId"',
    [id],
  )
  return row?.accountId ?? null
}

/**
 * The account of a link that is still good, or null. Locked until the transaction ends, so that it is used only once. The account
 * comes first, as in every change of a password, which then deletes its links: otherwise the two could wait for each other.
 */
export async function findReset(
  tx: Queryable,
  tokenHash: Buffer,
): Promise<{ accountId: string; email: string } | null> {
  await tx.query(
    `SELECT FROM accounts WHERE id = (SELECT account_id FROM password_resets WHERE token_hash = $1) FOR UPDATE`,
    [tokenHash],
  )
  // A statement of its own sees what was committed while it waited.
  const [row] = await tx.query<{ accountId: string; email: string }>(
    `SELECT a.id AS "accountId", a.email FROM password_resets r JOIN accounts a ON a.id = r.account_id
     WHERE r.token_hash = $1 AND r.expires_at > now() AND a.password_hash IS NOT NULL`,
    [tokenHash],
  )
  return row ?? null
}

/** Deletes links that expired. */
export const pruneResets = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'password_resets', `expires_at < now() - interval '1 day'`)

/** Where the sealed tokens of mails that wait are stored: their tables and keys. */
const SEALED = { invitations: 'user_id', password_resets: 'id' } as const

/** Tokens of mails that wait, by the identifier under which each is sealed. */
export async function listSealedTokens(
  db: Queryable,
): Promise<{ table: keyof typeof SEALED; id: string; sealed: Buffer }[]> {
  return db.query(
    `SELECT 'invitations' AS table, user_id AS id, sealed_token AS sealed FROM invitations WHERE sealed_token IS NOT NULL
     UNION ALL SELECT 'password_resets', id, sealed_token FROM password_resets WHERE sealed_token IS NOT NULL LIMIT 10000`,
  )
}

/** Replaces a sealed token, unless it has changed since it was read. */
export async function replaceSealedToken(
  db: Queryable,
  { table, id, from, to }: { table: keyof typeof SEALED; id: string; from: Buffer; to: Buffer },
): Promise<void> {
  await db.query(`UPDATE ${table} SET sealed_token = $3 WHERE ${SEALED[table]} = $1 AND sealed_token = $2`, [
    id,
    from,
    to,
  ])
}
