import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createTokens } from '../../ingest/identity/tokens.ts'
import { hashPassword, verifyPassword } from '../../src/api/auth/passwords.ts'
import { RequestError } from '../../src/http/errors.ts'

describe('Passwords', () => {
  it('of one address without end hold up no other, and beyond a hundred that wait are 429', async () => {
    const hash = await hashPassword('correct horse', 'setup')
    const done: string[] = []
    const guesses = Array.from({ length: 130 }, () =>
      verifyPassword(hash, 'wrong', 'attacker').then(
        matches => done.push(matches ? 'opened' : 'attacker'),
        (error: unknown) => done.push(error instanceof RequestError ? error.code : 'failed'),
      ),
    )
    const own = verifyPassword(hash, 'correct horse', 'somebody').then(matches => {
      expect(matches).toBe(true)
      return done.filter(what => what === 'attacker').length
    })
    // Who is first, who comes next in turn, and as many as there are cores at once.
    expect(await own).toBeLessThan(30)
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

  it('that is expired, changed, of another secret or another algorithm says nothing', async () => {
    const good = await tokens.sign(claims)
    const [head = '', body = '', signature = ''] = good.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    for (const token of [
      await sign('HS256', '-1 s'),
      await sign('HS512', '1 hour'),
      await createTokens('another secret of thirty-two char').sign(claims),
      `${head}.${body}.${signature.slice(0, -2)}AA`,
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
