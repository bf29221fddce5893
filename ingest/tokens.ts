import { createSecretKey } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import { isUuid } from '../db/client.ts'

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
  verify(token: string): Promise<Claims | null>
}

export function createTokens(secret: string): Tokens {
  const key = createSecretKey(Buffer.from(secret, 'utf8'))
  return {
    sign: ({ userId, organizationId, sessionId }) =>
      new SignJWT({ org: organizationId })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(userId)
        .setJti(sessionId)
        .setIssuedAt()
        .setExpirationTime(`${TOKEN_LIFETIME_S} s`)
        .sign(key),

    async verify(token) {
      try {
        // The algorithm is pinned: a token must not choose how it is checked.
        const { payload } = await jwtVerify(token, key, {
          algorithms: ['HS256'],
          requiredClaims: ['exp', 'sub', 'jti'],
        })
        const { sub, jti, org } = payload
        return isUuid(sub) && isUuid(jti) && isUuid(org)
          ? { userId: sub, organizationId: org, sessionId: jti }
          : null
      } catch {
        return null
      }
    },
  }
}
