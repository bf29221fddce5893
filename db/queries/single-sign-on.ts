import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** A person at a provider. */
export interface Identity {
  issuer: string
  subject: string
}

/** The account that is bound to an identity, or null. */
export async function findBoundAccountId(
  tx: Queryable,
  { issuer, subject }: Identity,
): Promise<string | null> {
  const [row] = await tx.query<{ accountId: string }>(
    'SELECT account_id AS "accountId" FROM account_identities WHERE issuer = $1 AND subject = $2',
    [issuer, subject],
  )
  return row?.accountId ?? null
}

/** Binds an account to an identity. Returns false if either is bound to another one. */
export async function bindIdentity(
  tx: Queryable,
  accountId: string,
  { issuer, subject }: Identity,
): Promise<boolean> {
  await tx.query(
    `INSERT INTO account_identities (account_id, issuer, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [accountId, issuer, subject],
  )
  const bound = await tx.query(
    'SELECT FROM account_identities WHERE account_id = $1 AND issuer = $2 AND subject = $3',
    [accountId, issuer, subject],
  )
  return bound.length > 0
}

export async function insertSignInCode(
  tx: Queryable,
  code: { digest: Buffer; accountId: string; organizationId: string; lifetimeS: number },
): Promise<void> {
  await tx.query(
    `INSERT INTO sign_in_codes (digest, account_id, wanted, expires_at)
     VALUES ($1, $2, $3, now() + make_interval(secs => $4))`,
    [code.digest, code.accountId, code.organizationId, code.lifetimeS],
  )
}

/** Uses a code: the account and the organization that it opens, or null if it has expired or been used. */
export async function takeSignInCode(
  tx: Queryable,
  digest: Buffer,
): Promise<{ accountId: string; organizationId: string } | null> {
  const [row] = await tx.query<{ accountId: string; organizationId: string }>(
    `DELETE FROM sign_in_codes WHERE digest = $1 AND expires_at > now()
     RETURNING account_id AS "accountId", wanted AS "organizationId"`,
    [digest],
  )
  return row ?? null
}

export const pruneSignInCodes = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'sign_in_codes', 'expires_at < now()')
