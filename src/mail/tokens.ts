import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../../db/client.ts'
import { listSealedTokens, replaceSealedToken } from '../../db/queries/password-resets.ts'
import type { Secrets } from '../../db/secret.ts'
import { createBox } from '../http/secrets.ts'

/**
 * The token of a link. 256 random bits cannot be guessed, so storing a SHA-256 hash is enough. `prefix` says what it is
 * for, so that people and secret scanners recognize it.
 */
export function createLinkToken(prefix: string): { token: string; hash: Buffer } {
  const token = `${prefix}_${randomBytes(32).toString('base64url')}`
  return { token, hash: hashLinkToken(token) }
}

export function hashLinkToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * Stores the tokens of mails that wait sealed: an attempt that is repeated sends the same link, and a copy of the
 * database opens nothing.
 */
export interface SealedTokens {
  seal(token: string, id: string): Buffer
  /** Null if it was sealed with another `JWT_SECRET`. */
  open(sealed: Buffer, id: string): string | null
  /** Seals anew what was sealed with an older one of several secrets. */
  renew(db: Queryable): Promise<void>
}

export function createSealedTokens(jwtSecret: string | Secrets): SealedTokens {
  const box = createBox(jwtSecret, 'mail tokens')
  return {
    seal: (token, id) => box.seal(token, id),
    open: (sealed, id) => box.open(Buffer.from(sealed), id),
    async renew(db) {
      for (const { table, id, sealed } of await listSealedTokens(db)) {
        const to = box.renew(Buffer.from(sealed), id)
        if (to !== null) await replaceSealedToken(db, { table, id, from: Buffer.from(sealed), to })
      }
    },
  }
}
