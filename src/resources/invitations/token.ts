import { createHash, randomBytes } from 'node:crypto'

/** Long enough for a holiday, short enough that a forgotten one opens nothing. */
export const INVITATION_LIFETIME_S = 7 * 24 * 3600

/** 256 random bits cannot be guessed, so storing a SHA-256 hash is enough. */
export function createInvitationToken(): { token: string; hash: Buffer } {
  const token = `fli_${randomBytes(32).toString('base64url')}`
  return { token, hash: hashInvitationToken(token) }
}

export function hashInvitationToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
