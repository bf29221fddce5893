import { randomBytes } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { listPlainSecrets, replaceSecrets } from '../../../db/queries/webhooks.ts'
import { createBox } from '../../http/secrets.ts'

/** Stores secrets of webhooks sealed, so that a copy of the database is not enough to sign messages. */
export interface WebhookSecrets {
  seal(secret: string, webhookId: string): string
  /** Null if it was sealed with another `JWT_SECRET`. */
  open(stored: string, webhookId: string): string | null
}

/** The prefix of an unsealed secret, from Standard Webhooks. */
const PLAIN = 'whsec_'

export const newSecret = (): string => `${PLAIN}${randomBytes(32).toString('base64')}`

export function createWebhookSecrets(jwtSecret: string): WebhookSecrets {
  const box = createBox(jwtSecret, 'webhook secrets')
  return {
    seal: (secret, webhookId) => box.seal(secret, webhookId).toString('base64'),
    open: (stored, webhookId) =>
      stored.startsWith(PLAIN) ? stored : box.open(Buffer.from(stored, 'base64'), webhookId),
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
