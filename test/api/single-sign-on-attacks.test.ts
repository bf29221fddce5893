import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { mailEnv } from '../support/mail.ts'
import { addPerson, PASSWORD, type Person } from '../support/people.ts'
import { addSecondFactor } from '../support/second-factor.ts'
import { openServer, type Server } from '../support/server.ts'
import { useOrganization } from '../support/shared-server.ts'
import { beginSignOn, codeFrom, createTestBrowser, passProvider, signOn, trade } from '../support/sign-on.ts'
import { startSmtp } from '../support/smtp.ts'
import { until } from '../support/wait.ts'

const PUBLIC_URL = 'https://fieldline.example'
const FAILED = [401, 'single-sign-on-failed']

describe('Single sign-on is refused', () => {
  let database: TestDatabase
  let provider: IdentityProvider
  let other: IdentityProvider
  let server: Server
  let person: Person

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    provider = await startIdentityProvider(PUBLIC_URL)
    other = await startIdentityProvider(PUBLIC_URL)
    server = await openServer(database, provider.env)
    person = await addPerson(server, await signIn(server))
    provider.person = me()
    other.person = me()
  })
  afterEach(() => {
    Object.assign(provider, { tamper: null, intercept: null, isAway: false, person: me() })
  })
  afterAll(async () => {
    await server.stop()
    await provider.close()
    await other.close()
    await database.remove()
  })

  const me = () => ({ sub: 'the person', email: person.email, email_verified: true as unknown })
  const told = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code]

  /** Signs in with a changed address at the provider, or a changed callback. */
  async function signOnWith(change: { atProvider?: (url: URL) => void; atCallback?: (url: URL) => void }) {
    const browser = createTestBrowser(server)
    const url = await beginSignOn(server, browser)
    change.atProvider?.(url)
    const callback = await passProvider(server, browser, url)
    change.atCallback?.(callback)
    return browser.get(callback.href)
  }
  const set = (name: string, value: string) => (url: URL) => url.searchParams.set(name, value)
  const drop = (name: string) => (url: URL) => url.searchParams.delete(name)

  it('in no case that fits', async () => {
    expect(codeFrom(await signOnWith({}))).toMatch(/^[\w-]{43}$/)
  })

  it.each([
    ['the nonce is another one', { atProvider: set('nonce', 'n'.repeat(43)) }],
    ['the code was asked for with another proof key', { atProvider: set('code_challenge', 'c'.repeat(43)) }],
    ['the state is another one', { atCallback: set('state', 's'.repeat(43)) }],
    ['there is no state', { atCallback: drop('state') }],
    ['the code is another one', { atCallback: set('code', 'x') }],
    ['there is no code', { atCallback: drop('code') }],
    ['the answer names another issuer', { atCallback: set('iss', 'http://127.0.0.1:1') }],
    ['the answer names no issuer, though the provider always does', { atCallback: drop('iss') }],
    ['the provider refuses', { atCallback: set('error', 'access_denied') }],
  ])('when %s', async (_, change) => {
    expect(await told(await signOnWith(change))).toEqual(FAILED)
  })

  it('when the state was made in another browser', async () => {
    const [mine, stranger] = [createTestBrowser(server), createTestBrowser(server)]
    const callback = await passProvider(server, stranger, await beginSignOn(server, stranger))
    expect(await told(await mine.get(callback.href))).toEqual(FAILED)
    // A browser that has begun its own one is not tricked into the stranger's, and goes on with its own.
    const own = await passProvider(server, mine, await beginSignOn(server, mine))
    expect(await told(await mine.get(callback.href))).toEqual(FAILED)
    expect(codeFrom(await mine.get(own.href))).toMatch(/./)
  })

  it('when its callback comes a second time, with the cookie or without it', async () => {
    const browser = createTestBrowser(server)
    const callback = await passProvider(server, browser, await beginSignOn(server, browser))
    const cookie = browser.cookies.at(-1)?.split(';')[0] as string
    expect((await browser.get(callback.href)).status).toBe(303)
    expect(browser.cookies.at(-1)).toMatch(/Max-Age=0/)
    expect(await told(await browser.get(callback.href))).toEqual(FAILED)
    const again = await fetch(callback, { redirect: 'manual', headers: { cookie } })
    expect(await told(again)).toEqual(FAILED)
  })

  it('when the cookie is somebody’s own, or a piece of one', async () => {
    const browser = createTestBrowser(server)
    const callback = await passProvider(server, browser, await beginSignOn(server, browser))
    const [name, value = ''] = (browser.cookies[0] as string).split(';')[0]?.split('=') ?? []
    for (const forged of [
      '',
      'x',
      value.slice(0, -4),
      Buffer.from('{"returnTo":"//evil"}').toString('base64url'),
    ]) {
      const headers = { cookie: `${name}=${forged}` }
      expect(await told(await fetch(callback, { redirect: 'manual', headers }))).toEqual(FAILED)
    }
  })

  it('when the code is of another provider', async () => {
    const browser = createTestBrowser(server)
    const url = await beginSignOn(server, browser)
    const there = new URL(`${other.issuer}${url.pathname}${url.search}`)
    const callback = await passProvider(server, browser, there)
    expect(await told(await browser.get(callback.href))).toEqual(FAILED)
  })

  describe('when its token', () => {
    const claims = async (changes: object) => {
      const now = Math.floor(Date.now() / 1_000)
      return {
        iss: provider.issuer,
        aud: 'fieldline',
        sub: 'the person',
        iat: now,
        exp: now + 600,
        ...changes,
      }
    }
    /** Signs in while the token endpoint answers another token, made of the claims of the right one. */
    async function withToken(make: (right: Record<string, unknown>) => Promise<string> | string) {
      provider.tamper = async answer => {
        const [, payload = ''] = answer.id_token.split('.')
        const right = JSON.parse(Buffer.from(payload, 'base64url').toString())
        return { ...answer, id_token: await make({ ...(await claims({})), ...right }) }
      }
      return signOnWith({})
    }

    it('is signed anew by the provider, and right: it is taken', async () => {
      expect((await withToken(right => provider.sign(right))).status).toBe(303)
    })

    it.each([
      ['is for another client', { aud: 'another client' }],
      ['is of another issuer', { iss: 'https://evil.example' }],
      ['has expired', { exp: 1_700_000_000 }],
      ['has another nonce', { nonce: 'another' }],
      ['has no nonce', { nonce: undefined }],
      ['names nobody', { sub: undefined }],
    ])('%s', async (_, changes) => {
      expect(await told(await withToken(right => provider.sign({ ...right, ...changes })))).toEqual(FAILED)
    })

    it('is signed by somebody else, by nobody, or changed', async () => {
      const { privateKey } = await generateKeyPair('RS256', { extractable: true })
      const forged = await exportJWK(privateKey)
      for (const make of [
        (right: object) => new SignJWT({ ...right }).setProtectedHeader({ alg: 'RS256' }).sign(forged),
        (right: object) => new UnsecuredJWT({ ...right }).encode(),
        async (right: object) => {
          const [head, , signature] = (await provider.sign(right)).split('.')
          const payload = Buffer.from(JSON.stringify({ ...right, sub: 'another' })).toString('base64url')
          return `${head}.${payload}.${signature}`
        },
        (right: object) =>
          new SignJWT({ ...right })
            .setProtectedHeader({ alg: 'HS256' })
            .sign(Buffer.from('the secret of the client at the provider')),
      ])
        expect(await told(await withToken(make))).toEqual(FAILED)
    })
  })

  it('not when the provider signs with new keys, from one sign-in to the next', async () => {
    codeFrom(await signOn(server, provider, me()))
    for (let round = 0; round < 2; round++) {
      await provider.rotateKeys()
      expect((await trade(server, codeFrom(await signOn(server, provider, me())))).status).toBe(200)
    }
  })

  it('while the provider is away, with a sentence, and passwords go on', async () => {
    const browser = createTestBrowser(server)
    const callback = await passProvider(server, browser, await beginSignOn(server, browser))
    provider.isAway = true
    const answer = await browser.get(callback.href)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await told(answer)).toEqual([503, 'unavailable'])
    await signIn(server, { email: person.email, password: PASSWORD })
    provider.isAway = false
    const start = () => fetch(`${server.url}/api/v3/auth/oidc/start`, { redirect: 'manual' })
    await until('it is asked again', async () => (await start()).status === 303)
    codeFrom(await signOn(server, provider, me()))
  })

  it('while the provider has not been reached yet: the server starts, and asks again', async () => {
    const files = await createTestDatabase(usualKind())
    const late = await openServer(files, other.env)
    const ask = (headers = {}) => fetch(`${late.url}/api/v3/auth/oidc/start`, { redirect: 'manual', headers })
    other.isAway = true
    expect(await told(await ask())).toEqual([503, 'unavailable'])
    const page = await ask({ accept: 'text/html' })
    expect(page.headers.get('location')).toBe('/sign-in?problem=unavailable')
    await signIn(late)
    other.isAway = false
    let cut = 0
    other.intercept = (_request, response) => {
      response.setHeader('content-type', 'application/json')
      const more = () => void response.write('x'.repeat(65_536))
      response.on('drain', more).on('close', () => cut++)
      more()
      return true
    }
    await until('an endless answer is cut off', async () => {
      expect((await ask()).status).toBe(503)
      return cut > 0
    })
    other.intercept = null
    await until('the provider is found', async () => (await ask()).status === 303)
    await late.stop()
    await files.remove()
  })

  it('leaves no secret in the log', async () => {
    const browser = createTestBrowser(server)
    const callback = await passProvider(server, browser, await beginSignOn(server, browser))
    await browser.get(callback.href)
    await browser.get(callback.href)
    for (const name of ['code', 'state'])
      expect(server.output.stderr).not.toContain(callback.searchParams.get(name))
    await until('its log says so', () => server.output.stderr.includes('Single sign-on failed'))
    for (const secret of ['the secret of the client', 'id_token', person.email])
      expect(server.output.stderr).not.toContain(secret)
  })
})

describe('Where no provider is set up', () => {
  const { server } = useOrganization()

  it('single sign-on is 404, and the page knows of none', async () => {
    for (const path of ['start', 'callback?state=x&code=y'])
      expect((await fetch(`${server.url}/api/v3/auth/oidc/${path}`)).status).toBe(404)
    expect((await trade(server, 'x')).status).toBe(404)
    const page = await (await fetch(`${server.url}/sign-in`)).text()
    expect(page).toContain('&quot;oidc&quot;:null,')
  })
})

/** A server of its own with a provider, there once the tests run. */
function useSignOnServer(env: Record<string, string>): { server: Server; provider: IdentityProvider } {
  const own = {} as { database: TestDatabase; server: Server; provider: IdentityProvider }
  beforeAll(async () => {
    own.database = await createTestDatabase(usualKind())
    own.provider = await startIdentityProvider(PUBLIC_URL)
    own.server = await openServer(own.database, { ...own.provider.env, ...env })
  })
  afterAll(async () => {
    await own.server.stop()
    await own.provider.close()
    await own.database.remove()
  })
  return own
}

describe('With OIDC_ONLY', () => {
  const own = useSignOnServer({ OIDC_ONLY: 'true', ALLOW_SIGNUP: 'true' })

  it('every password is refused alike, but that of the first owner', async () => {
    const { server, provider } = own
    const owner = await signIn(server)
    const roles = (await owner.get('/roles')).body.data as { _id: string; name: string }[]
    const email = 'planner@example.com'
    const invited = await owner.post('/users/invite', {
      ...{ email, name: 'Planner', roleId: roles.find(({ name }) => name === 'Admin')?._id },
    })
    const { token } = invited.body.data.invitation
    const stranger = createClient(server, '')
    const accept = await stranger.post('/auth/accept-invitation', { token, name: 'P', password: PASSWORD })
    expect(accept.body.code).toBe('single-sign-on-required')
    const answer = await signOn(server, provider, { sub: 'planner', email, email_verified: true })
    const session = await trade(server, codeFrom(answer))
    expect(session.status).toBe(200)
    const others = (await owner.get('/users')).body.data as { _id: string; email: string }[]
    const id = others.find(one => one.email === email)?._id
    expect((await owner.post(`/user/${id}/reset-password`, { newPassword: PASSWORD })).status).toBe(403)
    const answers = await Promise.all(
      [
        { email, password: PASSWORD },
        { email, password: 'not the password' },
        { email: 'nobody@example.com', password: PASSWORD },
        { email: 'owner@example.com', password: 'not the password' },
      ].map(body => stranger.post('/auth/login', body)),
    )
    const told = answers.map(({ status, body }) => JSON.stringify([status, body.code, body.message]))
    expect(new Set(told)).toEqual(
      new Set([JSON.stringify([403, 'single-sign-on-required', answers[0]?.body.message])]),
    )
    const register = {
      ...{ name: 'New', email: 'new@example.com', password: PASSWORD, organizationName: 'New one' },
      ...{ hubName: 'Hub', hubLat: 1, hubLng: 2 },
    }
    expect((await stranger.post('/auth/register', register)).body.code).toBe('single-sign-on-required')
    expect((await owner.get('/user')).status).toBe(200)
    await signIn(server)
  })
})

describe('Where everybody may register', () => {
  const own = useSignOnServer({ ALLOW_SIGNUP: 'true' })

  it('the first single sign-on of an address ends what somebody else registered it with', async () => {
    const { server, provider } = own
    const email = 'victim@example.com'
    const stranger = createClient(server, '')
    const registered = await stranger.post('/auth/register', {
      ...{ name: 'Eve', email, password: PASSWORD, organizationName: 'Squatters' },
      ...{ hubName: 'Hub', hubLat: 1, hubLng: 2 },
    })
    const eve = createClient(server, registered.body.token)
    await addSecondFactor(eve)
    const owner = await signIn(server)
    const roleId = (await owner.get('/roles')).body.data[0]._id
    expect((await owner.post('/users/invite', { email, name: 'Victim', roleId })).status).toBe(201)
    const answer = await signOn(server, provider, { sub: 'victim', email, email_verified: true })
    const { body } = await trade(server, codeFrom(answer))
    const self = (await createClient(server, body.token).get('/user')).body.data
    expect(self).toMatchObject({ hasPassword: false, secondFactor: { isOn: false } })
    expect((await eve.get('/user')).status).toBe(401)
    expect((await stranger.post('/auth/login', { email, password: PASSWORD })).body.code).toBe(
      'wrong-credentials',
    )
  })

  it('a tracking link begins with PUBLIC_URL, whatever the Host of the request', async () => {
    const { server } = own
    const owner = await signIn(server)
    const subjectId = (await createDevice(owner)).id
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const { body } = await owner.post('/tracking-link', { subjectId, subjectType: 'device', expiresAt })
    expect(body.data.url).toBe(`${PUBLIC_URL}/track/${body.data.token}`)
  })

  it('the server’s first account keeps its password', async () => {
    const { server, provider } = own
    const email = 'owner@example.com'
    const owner = await signIn(server)
    const answer = await signOn(server, provider, { sub: 'owner', email, email_verified: true })
    expect((await trade(server, codeFrom(answer))).status).toBe(200)
    expect((await owner.get('/user')).body.data.hasPassword).toBe(true)
    await signIn(server)
  })
})

/** Gives an account a password beside the server, which PGlite does not allow. */
describe.runIf(usualKind() === 'postgres')('With OIDC_ONLY and mail', () => {
  it('a forgotten password is replaced for the server’s first account alone', async () => {
    const database = await createTestDatabase('postgres')
    const provider = await startIdentityProvider(PUBLIC_URL)
    const smtp = await startSmtp()
    const env = { ...mailEnv(smtp), ...provider.env, OIDC_ONLY: 'true' }
    const server = await openServer(database, env)
    try {
      const owner = await signIn(server)
      const { body } = await owner.get('/roles')
      const email = 'member@example.com'
      await owner.post('/users/invite', { email, name: 'Member', roleId: body.data[0]._id })
      await smtp.wait(email)
      const db = await openTestDatabase(database)
      await db.system.query(`UPDATE accounts SET password_hash = 'from before' WHERE email = $1`, [email])
      for (const asking of [email, 'owner@example.com'])
        expect((await createClient(server, '').post('/auth/forgot-password', { email: asking })).status).toBe(
          200,
        )
      await smtp.wait('owner@example.com')
      const left = `SELECT FROM jobs WHERE status IN ('queued', 'running') AND kind LIKE '%password%'`
      await until('no job waits', async () => (await db.system.query(left)).length === 0)
      await db.close()
      expect(smtp.mails.filter(({ to }) => to.includes(email))).toHaveLength(1)
    } finally {
      await server.stop()
      await smtp.close()
      await provider.close()
      await database.remove()
    }
  })
})
