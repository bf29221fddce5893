import { randomBytes } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { listPlainSecrets, listSealedSecrets, replaceSecrets } from '../../../db/queries/webhooks.ts'
import type { Secrets } from '../../../db/secret.ts'
import { createBox } from '../../http/secrets.ts'

/** Stores secrets of webhooks sealed, so that a copy of the database is not enough to sign messages. */
export interface WebhookSecrets {
  seal(secret: string, webhookId: string): string
  /** Null if it was sealed with another `JWT_SECRET`. */
  open(stored: string, webhookId: string): string | null
  /** Sealed with the first of several secrets; null if it is that, or cannot be opened. */
  renew(stored: string, webhookId: string): string | null
}

/** The prefix of an unsealed secret, from Standard Webhooks. */
const PLAIN = 'whsec_'

export const newSecret = (): string => `${PLAIN}${randomBytes(32).toString('base64')}`

export function createWebhookSecrets(jwtSecret: string | Secrets): WebhookSecrets {
  const box = createBox(jwtSecret, 'webhook secrets')
  return {
    seal: (secret, webhookId) => box.seal(secret, webhookId).toString('base64'),
    open: (stored, webhookId) =>
      stored.startsWith(PLAIN) ? stored : box.open(Buffer.from(stored, 'base64'), webhookId),
    renew: (stored, webhookId) =>
      box.renew(Buffer.from(stored, 'base64'), webhookId)?.toString('base64') ?? null,
  }
}

/** Seals secrets that an earlier version stored unsealed. Several processes may do so at once. */
export async function sealStoredSecrets(db: Queryable, { seal }: WebhookSecrets): Promise<void> {
  for (const { _id, secret, previous } of await listPlainSecrets(db, PLAIN)) {
    const sealed = (text: string | null) => (text?.startsWith(PLAIN) ? seal(text, _id) : text)
    await replaceSecrets(db, _id, {
      from: secret,
      secret: sealed(secret) ?? secret,
      previous: sealed(previous),
    })
  }
}

/** Seals anew what was sealed with an older one of several secrets. */
export async function renewWebhookSecrets(db: Queryable, { renew }: WebhookSecrets): Promise<void> {
  for (let after: string | null = null; ; ) {
    const page = await listSealedSecrets(db, after)
    for (const { _id, secret, previous } of page) {
      const [next, nextPrevious] = [renew(secret, _id), previous === null ? null : renew(previous, _id)]
      if (next === null && nextPrevious === null) continue
      await replaceSecrets(db, _id, {
        from: secret,
        secret: next ?? secret,
        previous: nextPrevious ?? previous,
      })
    }
    after = page.at(-1)?._id ?? null
    if (after === null) return
  }
}
