import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { base64url, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { isUuid } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import { deriveEach, type Secrets } from '../../db/secret.ts'

/** How long a token lives, in seconds. */
export const TOKEN_LIFETIME_S = 8 * 3600

export interface Claims {
  userId: string
  organizationId: string
  sessionId: string
  /** How often the session had been renewed when the token was signed. */
  renewals: number
}

/**
 * The bearer tokens of users: JWT, HS256 with the bytes of the secret. The first of several secrets signs, all of them
 * verify. A token is valid as long as its session.
 */
export interface Tokens {
  sign(claims: Claims, lifetimeS?: number): Promise<string>
  /** The claims of a token that Fieldline has signed and that has not expired, or null. */
  verify(token: string): Claims | null
}

export function createTokens(secrets: string | Secrets): Tokens {
  const keys = deriveEach(secrets, secret => createSecretKey(Buffer.from(secret, 'utf8')))
  const isSigned = (signed: string, token: Buffer) => (key: KeyObject) => {
    const expected = Buffer.from(`${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`)
    return token.length === expected.length && timingSafeEqual(token, expected)
  }
  return {
    sign: ({ userId, organizationId, sessionId, renewals }, lifetimeS = TOKEN_LIFETIME_S) =>
      new SignJWT({ org: organizationId, renewals })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(userId)
        .setJti(sessionId)
        .setIssuedAt(Math.floor(timeOfDay() / 1000))
        .setExpirationTime(Math.floor(timeOfDay() / 1000) + lifetimeS)
        .sign(keys()[0] as KeyObject),

    verify(token) {
      try {
        // The signature is compared here, synchronously: jose verifies in one of libuv's four threads, where it waits
        // behind
        // passwords, files and host names.
        const signed = token.slice(0, token.lastIndexOf('.'))
        if (!keys().some(isSigned(signed, Buffer.from(token)))) return null
        const header = decodeProtectedHeader(token)
        // The algorithm is pinned: a token must not choose how it is checked.
        if (header.alg !== 'HS256') return null
        // jose checks everything else, RFC 7515 (`crit`, `b64`) and RFC 7519 (`exp`, `nbf`, `iat`). Without a signature
        // to verify it does so synchronously.
        const unsecured = base64url.encode(JSON.stringify({ ...header, alg: 'none' }))
        const payload = signed.slice(signed.indexOf('.') + 1)
        const {
          sub,
          jti,
          org,
          renewals = 0,
        } = UnsecuredJWT.decode(`${unsecured}.${payload}.`, {
          currentDate: new Date(timeOfDay()),
          requiredClaims: ['exp'],
        }).payload
        return isUuid(sub) && isUuid(jti) && isUuid(org) && Number.isInteger(renewals)
          ? { userId: sub, organizationId: org, sessionId: jti, renewals: renewals as number }
          : null
      } catch {
        return null
      }
    },
  }
}
