import type { Queryable } from '../../../db/client.ts'
import { listFactorSecrets, replaceFactorSecret } from '../../../db/queries/second-factors.ts'
import type { Secrets } from '../../../db/secret.ts'
import { createBox } from '../../http/secrets.ts'

/** Stores the secrets of second factors sealed, so that a copy of the database is not enough to compute codes. */
export interface FactorSecrets {
  seal(secret: string, accountId: string): string
  /** Null if it was sealed with another `JWT_SECRET`. */
  open(stored: string, accountId: string): string | null
  /** Sealed with the first of several secrets; null if it is that, or cannot be opened. */
  renew(stored: string, accountId: string): string | null
}

export function createFactorSecrets(jwtSecret: string | Secrets): FactorSecrets {
  const box = createBox(jwtSecret, 'second factors')
  return {
    seal: (secret, accountId) => box.seal(secret, accountId).toString('base64'),
    open: (stored, accountId) => box.open(Buffer.from(stored, 'base64'), accountId),
    renew: (stored, accountId) =>
      box.renew(Buffer.from(stored, 'base64'), accountId)?.toString('base64') ?? null,
  }
}

/** Seals anew what was sealed with an older one of several secrets. */
export async function renewFactorSecrets(db: Queryable, { renew }: FactorSecrets): Promise<void> {
  for (let after: string | null = null; ; ) {
    const page = await listFactorSecrets(db, after)
    for (const { accountId, secret } of page) {
      const next = renew(secret, accountId)
      if (next !== null) await replaceFactorSecret(db, accountId, { from: secret, to: next })
    }
    after = page.at(-1)?.accountId ?? null
    if (after === null) return
  }
}
