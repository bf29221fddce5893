import { randomBytes } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { listPlainSecrets, replaceSecrets } from '../../../db/queries/webhooks.ts'
import { createBox } from '../../http/secrets.ts'

/** Secrets of webhooks as they are stored: sealed, so that a copy of the database signs nothing. */
export interface WebhookSecrets {
  seal(secret: string, webhookId: string): string
  /** Null where it was sealed with another `JWT_SECRET`. */
  open(stored: string, webhookId: string): string | null
}

/** How a secret looks before it is sealed, as Standard Webhooks writes it. */
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

/** Seals what an earlier version stored as it is. Several processes may do it at once. */
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
