import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** The addresses remembered for an account; the newest ones. */
const MAX_KNOWN = 20

/** Whether the account has signed in from a network address before. An unknown account (null) takes as long. */
export async function isKnownAddress(
  db: Queryable,
  accountId: string | null,
  address: string,
): Promise<boolean> {
  const [row] = await db.query('SELECT FROM known_addresses WHERE account_id = $1 AND address = $2', [
    accountId,
    address,
  ])
  return row !== undefined
}

/** Remembers that the account has signed in from a network address. Written at most once an hour. */
export async function rememberAddress(tx: Queryable, accountId: string, address: string): Promise<void> {
  const written = await tx.query(
    `INSERT INTO known_addresses AS k (account_id, address) VALUES ($1, $2)
     ON CONFLICT (account_id, address) DO UPDATE SET last_at = now() WHERE k.last_at < now() - interval '1 hour'
     RETURNING address`,
    [accountId, address],
  )
  if (written.length === 0) return
  await tx.query(
    `DELETE FROM known_addresses WHERE account_id = $1 AND address IN (
       SELECT address FROM known_addresses WHERE account_id = $1 ORDER BY last_at DESC, address OFFSET ${MAX_KNOWN})`,
    [accountId],
  )
}

/** Forgets addresses that were not used for 90 days. */
export const pruneAddresses = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'known_addresses', "last_at < now() - interval '90 days'")
