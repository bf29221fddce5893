import { createHmac } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createTokens } from '../../ingest/identity/tokens.ts'
import { RequestError } from '../../src/http/errors.ts'
import { hashPassword, verifyPassword } from '../../src/resources/auth/passwords.ts'

describe('Passwords', () => {
  it('of one address without end hold up no other, and beyond a hundred that wait are 429', async () => {
    const hash = await hashPassword('correct horse', 'setup')
    const done: string[] = []
    const cores = availableParallelism()
    const guesses = Array.from({ length: 130 + cores }, () =>
      verifyPassword(hash, 'wrong', 'attacker').then(
        matches => done.push(matches ? 'opened' : 'attacker'),
        (error: unknown) => done.push(error instanceof RequestError ? error.code : 'failed'),
      ),
    )
    const own = verifyPassword(hash, 'correct horse', 'somebody').then(matches => {
      expect(matches).toBe(true)
      return done.filter(what => what === 'attacker').length
    })
    // The first attempt, the next in turn, and as many as there are cores at once.
    expect(await own).toBeLessThan(30 + cores)
    await Promise.all(guesses)
    expect(done.filter(what => what === 'rate-limited').length).toBeGreaterThan(0)
    expect(new Set(done)).toEqual(new Set(['attacker', 'rate-limited']))
  })
})

describe('A token', () => {
  const secret = 'a secret of thirty-two characters'
  const key = new TextEncoder().encode(secret)
  const tokens = createTokens(secret)
  const claims = {
    userId: crypto.randomUUID(),
    organizationId: crypto.randomUUID(),
    sessionId: crypto.randomUUID(),
    renewals: 0,
  }
  const sign = (alg: string, expires: string) =>
    new SignJWT({ org: claims.organizationId })
      .setProtectedHeader({ alg })
      .setSubject(claims.userId)
      .setJti(claims.sessionId)
      .setExpirationTime(expires)
      .sign(key)

  it('that is ours and not expired says whose it is', async () => {
    expect(tokens.verify(await tokens.sign(claims))).toEqual(claims)
    expect(tokens.verify(await sign('HS256', '1 hour'))).toEqual(claims)
  })

  it('that is ours is read as RFC 7515 and 7519 say, whatever else its header and claims have', () => {
    const now = Math.floor(Date.now() / 1000)
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const make = (header: object, changed: object) => {
      const { userId: sub, organizationId: org, sessionId: jti } = claims
      const signed = `${encode({ alg: 'HS256', ...header })}.${encode({ sub, org, jti, exp: now + 3600, ...changed })}`
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
    }
    for (const [header, changed] of [
      [{}, {}],
      [
        { typ: 'at+jwt', kid: '1' },
        { nbf: now - 60, iat: now - 60 },
      ],
      [{ b64: true, crit: ['b64'] }, {}],
      [{}, { exp: now + 3600.5, iss: 'somebody' }],
    ] as const)
      expect(tokens.verify(make(header, changed)), JSON.stringify([header, changed])).toEqual(claims)
    for (const [header, changed] of [
      [{ crit: ['exp'], exp: now + 3600 }, {}],
      [{ crit: ['b64'] }, {}],
      [{ crit: [] }, {}],
      [{ crit: 'b64', b64: true }, {}],
      [{ crit: ['b64'], b64: false }, {}],
      [{ crit: ['b64'], b64: 'true' }, {}],
      [{}, { nbf: now + 3600 }],
      [{}, { nbf: String(now - 60) }],
      [{}, { iat: 'yesterday' }],
      [{}, { exp: String(now + 3600) }],
      [{}, { exp: [now + 3600] }],
      [{}, { exp: null }],
      [{}, { exp: undefined }],
      [{ alg: 'none' }, {}],
      [{ alg: ['HS256'] }, {}],
    ] as const)
      expect(tokens.verify(make(header, changed)), JSON.stringify([header, changed])).toBeNull()
  })

  it('that is expired, changed, of another secret or another algorithm says nothing', async () => {
    const good = await tokens.sign(claims)
    const [head = '', body = '', signature = ''] = good.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    for (const token of [
      await sign('HS256', '-1 s'),
      await sign('HS512', '1 hour'),
      await createTokens('another secret of thirty-two char').sign(claims),
      `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      `${head}.${body}.`,
      `${head}.${body}`,
      `${none}.${body}.${signature}`,
      `${none}.${body}.`,
      `${good}=`,
      `${good}.${signature}`,
      '',
      '.',
      '..',
    ])
      expect(tokens.verify(token), token).toBeNull()
  })
})
