import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { isUuid } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'

/** How long a token lives, in seconds. */
export const TOKEN_LIFETIME_S = 8 * 3600

export interface Claims {
  userId: string
  organizationId: string
  sessionId: string
}

/** The bearer tokens of users: JWT, HS256 with the bytes of the secret. A token is alive as long as its session. */
export interface Tokens {
  sign(claims: Claims): Promise<string>
  /** The claims of a token that is ours and not expired, or null. */
  verify(token: string): Claims | null
}

export function createTokens(secret: string): Tokens {
  const key = createSecretKey(Buffer.from(secret, 'utf8'))
  return {
    sign: ({ userId, organizationId, sessionId }) =>
      new SignJWT({ org: organizationId })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(userId)
        .setJti(sessionId)
        .setIssuedAt(Math.floor(timeOfDay() / 1000))
        .setExpirationTime(Math.floor(timeOfDay() / 1000) + TOKEN_LIFETIME_S)
        .sign(key),

    verify(token) {
      try {
        // At once: jose verifies in one of libuv's four threads, where it waits behind passwords.
        const signed = token.slice(0, token.lastIndexOf('.'))
        const expected = Buffer.from(
          `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`,
        )
        const given = Buffer.from(token)
        if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
        // The algorithm is pinned: a token must not choose how it is checked.
        if (decodeProtectedHeader(token).alg !== 'HS256') return null
        const { sub, jti, org, exp } = decodeJwt(token)
        if (exp === undefined || exp <= timeOfDay() / 1000) return null
        return isUuid(sub) && isUuid(jti) && isUuid(org)
          ? { userId: sub, organizationId: org, sessionId: jti }
          : null
      } catch {
        return null
      }
    },
  }
}
