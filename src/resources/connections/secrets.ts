import type { BrokerSecrets } from '../../../ingest/connections/broker/settings.ts'
import { createBox } from '../../http/secrets.ts'

/** Stores the secrets of brokers sealed, so that a copy of the database is not enough to sign in to them. */
export interface SealedSecrets {
  /** Null if there is no secret. */
  seal(secrets: BrokerSecrets, connectionId: string): string | null
  /** Null if they were sealed with another `JWT_SECRET`. */
  open(stored: string | null, connectionId: string): BrokerSecrets | null
}

const NONE: BrokerSecrets = { password: null, clientKey: null }

export function createBrokerSecrets(jwtSecret: string): SealedSecrets {
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
  }
}
