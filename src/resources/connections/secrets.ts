import type { Queryable } from '../../../db/client.ts'
import { listConnectionSecrets, replaceConnectionSecrets } from '../../../db/queries/connection-secrets.ts'
import type { Secrets } from '../../../db/secret.ts'
import type { BrokerSecrets } from '../../../ingest/connections/broker/settings.ts'
import { createBox } from '../../http/secrets.ts'

/** Stores the secrets of brokers sealed, so that a copy of the database is not enough to sign in to them. */
export interface SealedSecrets {
  /** Null if there is no secret. */
  seal(secrets: BrokerSecrets, connectionId: string): string | null
  /** Null if they were sealed with another `JWT_SECRET`. */
  open(stored: string | null, connectionId: string): BrokerSecrets | null
  /** Sealed with the first of several secrets; null if they are that, or cannot be opened. */
  renew(stored: string, connectionId: string): string | null
}

const NONE: BrokerSecrets = { password: null, clientKey: null }

export function createBrokerSecrets(jwtSecret: string | Secrets): SealedSecrets {
  const box = createBox(jwtSecret, 'broker secrets')
  return {
    seal: (secrets, connectionId) =>
      secrets.password === null && secrets.clientKey === null
        ? null
        : box.seal(JSON.stringify(secrets), connectionId).toString('base64'),
    open(stored, connectionId) {
      if (stored === null) return NONE
      const text = box.open(Buffer.from(stored, 'base64'), connectionId)
      return text === null ? null : (JSON.parse(text) as BrokerSecrets)
    },
    renew: (stored, connectionId) =>
      box.renew(Buffer.from(stored, 'base64'), connectionId)?.toString('base64') ?? null,
  }
}

/** Seals anew what was sealed with an older one of several secrets. */
export async function renewBrokerSecrets(db: Queryable, { renew }: SealedSecrets): Promise<void> {
  for (let after: string | null = null; ; ) {
    const page = await listConnectionSecrets(db, after)
    for (const { _id, secrets } of page) {
      const next = renew(secrets, _id)
      if (next !== null) await replaceConnectionSecrets(db, _id, { from: secrets, to: next })
    }
    after = page.at(-1)?._id ?? null
    if (after === null) return
  }
}
