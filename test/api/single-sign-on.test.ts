import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { addOrganization, addPerson, newEmail, PASSWORD, roleId } from '../support/people.ts'
import { addSecondFactor } from '../support/second-factor.ts'
import { openServer, type Server } from '../support/server.ts'
import { beginSignOn, codeFrom, createTestBrowser, passProvider, signOn, trade } from '../support/sign-on.ts'

const PUBLIC_URL = 'https://fieldline.example'

describe('Single sign-on', () => {
  let database: TestDatabase
  let provider: IdentityProvider
  let server: Server
  let owner: ReturnType<typeof createClient>
  let organizationId: string

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    provider = await startIdentityProvider(PUBLIC_URL)
    server = await openServer(database, provider.env)
    const organization = await addOrganization(server, await signIn(server))
    owner = organization.client
    organizationId = organization.organizationId
  })
  afterAll(async () => {
    await server.stop()
    await provider.close()
    await database.remove()
  })

  const at = (email: string, sub = `sub of ${email}`) => ({ sub, email, email_verified: true as unknown })
  const invite = async (email: string, by = owner) => {
    const role = await roleId(by, 'Planner')
    const { status, body } = await by.post('/users/invite', { email, name: 'As invited', roleId: role })
    expect(status).toBe(201)
    return body.data as { _id: string; invitation: { token: string } }
  }
  const refusal = async (answer: Response) => [
    answer.status,
    ((await answer.json()) as { code: string }).code,
  ]

  it('goes to the provider with PKCE, state and nonce, and keeps them in a cookie of this browser alone', async () => {
    const browser = createTestBrowser(server)
    const url = await beginSignOn(server, browser)
    expect(url.origin).toBe(provider.issuer)
    const sent = Object.fromEntries(url.searchParams)
    expect(sent).toMatchObject({
      ...{ response_type: 'code', client_id: 'fieldline', code_challenge_method: 'S256' },
      redirect_uri: `${PUBLIC_URL}/api/v3/auth/oidc/callback`,
    })
    for (const name of ['state', 'nonce', 'code_challenge']) expect(sent[name]).toMatch(/^[\w-]{40,}$/)
    const [cookie = ''] = browser.cookies
    expect(cookie).toMatch(
      /^__Host-fieldline-sign-in=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    for (const secret of [sent.state, sent.nonce]) expect(cookie).not.toContain(secret)
  })

  it('answers 303 to the own path with a code that is traded once for what signing in answers', async () => {
    const { email } = await addPerson(server, owner)
    const answer = await signOn(server, provider, at(email), { returnTo: '/tasks?day=2026-01-02#top' })
    expect(answer.status).toBe(303)
    const location = answer.headers.get('location') ?? ''
    expect(location).toMatch(/^\/tasks\?day=2026-01-02&code=[\w-]{43}#top$/)
    const code = codeFrom(answer)
    const traded = await trade(server, code)
    expect(traded.body).toMatchObject({ expires_in: 28_800, data: { email, organizationId }, isHubSet: true })
    expect((await createClient(server, traded.body.token).get('/hubs')).status).toBe(200)
    expect((await trade(server, code)).body.code).toBe('single-sign-on-failed')
    const twice = codeFrom(await signOn(server, provider, at(email)))
    const both = await Promise.all([trade(server, twice), trade(server, twice)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    // The password goes on.
    await signIn(server, { email, password: PASSWORD })
  })

  it.runIf(usualKind() === 'postgres')('has codes of a minute, and attempts of ten', async () => {
    const { email } = await addPerson(server, owner)
    const code = codeFrom(await signOn(server, provider, at(email)))
    const db = await openTestDatabase(database)
    const [row] = await db.system.query<{ seconds: number }>(
      'SELECT extract(epoch FROM max(expires_at) - now())::float8 AS seconds FROM sign_in_codes',
    )
    expect(row?.seconds).toBeGreaterThan(0)
    expect(row?.seconds).toBeLessThanOrEqual(60)
    await db.system.query(`UPDATE sign_in_codes SET expires_at = now() - interval '1 second'`)
    await db.close()
    expect((await trade(server, code)).body.code).toBe('single-sign-on-failed')
  })

  it('creates nobody without an invitation, and accepts the invitations of a verified address', async () => {
    const email = newEmail('invited')
    expect(await refusal(await signOn(server, provider, at(email)))).toEqual([403, 'no-organization'])
    const user = await invite(email)
    const answer = await trade(
      server,
      codeFrom(await signOn(server, provider, at(email.toUpperCase(), 'first'))),
    )
    expect(answer.body.data).toMatchObject({ _id: user._id, name: 'As invited', organizationId })
    const known = (await owner.get(`/user/${user._id}`)).body.data
    expect([known.status, known.email]).toEqual(['active', email])
    const entries = (await owner.get(`/audit-log?resourceId=${user._id}`)).body.data
    expect(entries.map(({ action }: { action: string }) => action)).toContain('accept-invitation')
    // Another one is accepted at the next sign-in, which leads there.
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const other = await addOrganization(server, admin.client)
    await invite(email, other.client)
    const next = await trade(server, codeFrom(await signOn(server, provider, at(email, 'first'))))
    expect(next.body.data.organizationId).toBe(other.organizationId)
    expect(next.body.organizations).toHaveLength(2)
  })

  it('opens an account that never had a password, and no administrator chooses one for it', async () => {
    const email = newEmail('by-provider')
    const user = await invite(email)
    const { token } = (await trade(server, codeFrom(await signOn(server, provider, at(email))))).body
    const hasPassword = async (client: Client) => (await client.get('/user')).body.data.hasPassword
    expect(await hasPassword(createClient(server, token))).toBe(false)
    expect(await hasPassword(owner)).toBe(true)
    const reset = await owner.post(`/user/${user._id}/reset-password`, { newPassword: PASSWORD })
    expect([reset.status, reset.body.code]).toEqual([403, 'forbidden'])
    const login = await createClient(server, '').post('/auth/login', { email, password: PASSWORD })
    expect(login.body.code).toBe('wrong-credentials')
  })

  it('tells who is suspended, and whose invitation does not hold any more, that there is no organization', async () => {
    const person = await addPerson(server, owner)
    const code = codeFrom(await signOn(server, provider, at(person.email)))
    await owner.patch(`/user/${person.userId}`, { status: 'suspended' })
    expect((await trade(server, code)).body.code).toBe('no-organization')
    expect(await refusal(await signOn(server, provider, at(person.email)))).toEqual([403, 'no-organization'])
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const email = newEmail()
    await invite(email, admin.client)
    await owner.patch(`/user/${admin.userId}`, { status: 'suspended' })
    expect(await refusal(await signOn(server, provider, at(email)))).toEqual([403, 'no-organization'])
  })

  it('binds an account to issuer and subject: another subject with its address is refused', async () => {
    const { email } = await addPerson(server, owner)
    await trade(server, codeFrom(await signOn(server, provider, at(email, 'mine'))))
    expect(await refusal(await signOn(server, provider, at(email, 'of another')))).toEqual([
      403,
      'other-identity',
    ])
    // The subject counts, also when the provider gives it another address, even that of somebody else.
    const somebody = await addPerson(server, owner)
    const moved = await trade(server, codeFrom(await signOn(server, provider, at(somebody.email, 'mine'))))
    expect(moved.body.data.email).toBe(email)
  })

  it('refuses an address that the provider has not verified', async () => {
    const { email } = await addPerson(server, owner)
    for (const verified of [false, 'true', 1, undefined, null]) {
      const person = { ...at(email), email_verified: verified }
      expect(await refusal(await signOn(server, provider, person))).toEqual([403, 'address-not-verified'])
    }
  })

  it('leaves an account without a password to nobody who passes an invitation on', async () => {
    const email = newEmail('sso')
    const first = await invite(email)
    await trade(server, codeFrom(await signOn(server, provider, at(email))))
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const other = await addOrganization(server, admin.client)
    const { invitation } = await invite(email, other.client)
    for (const { token } of [first.invitation, invitation]) {
      const body = { token, name: 'Taken', password: 'a password of the inviter' }
      const { status } = await createClient(server, '').post('/auth/accept-invitation', body)
      expect([403, 404]).toContain(status)
    }
    const login = { email, password: 'a password of the inviter' }
    expect((await createClient(server, '').post('/auth/login', login)).status).toBe(401)
  })

  it('asks for no second factor: the provider does, also where the organization demands one', async () => {
    const addDemanding = async () => {
      const admin = await addPerson(server, owner, { role: 'Admin' })
      const demanding = await addOrganization(server, admin.client)
      await addSecondFactor(demanding.client)
      return { admin, demanding }
    }
    const { admin, demanding } = await addDemanding()
    const person = await addPerson(server, demanding.client)
    const elsewhere = (await addDemanding()).demanding
    await invite(person.email, elsewhere.client)
    for (const one of [demanding, elsewhere])
      await one.client.patch('/organization', { settings: { requireSecondFactor: true } })
    const secured = await trade(server, codeFrom(await signOn(server, provider, at(admin.email))))
    expect(secured.status).toBe(200)
    const single = await trade(server, codeFrom(await signOn(server, provider, at(person.email))))
    const client = createClient(server, single.body.token)
    expect((await client.get('/hubs')).status).toBe(200)
    // A session that goes on elsewhere stays what it was.
    const into = { organizationId: demanding.organizationId }
    const switched = await client.post('/auth/switch-organization', into)
    expect((await createClient(server, switched.body.token).get('/hubs')).status).toBe(200)
    for (const { organizationId } of [demanding, elsewhere]) {
      const opened = await createClient(server, switched.body.token).post('/auth/open-organization', {
        organizationId,
      })
      expect((await createClient(server, opened.body.token).get('/hubs')).status).toBe(200)
    }
    const byPassword = await signIn(server, person)
    expect((await byPassword.get('/hubs')).body.code).toBe('second-factor-required')
  })

  it.each([
    '//evil.example',
    '/\\evil.example',
    '/.//evil.example',
    '/%2e//evil.example',
    '/tasks/..//evil.example',
    '/tasks/%2E%2e//evil.example/',
    'javascript:alert(1)',
    'https://evil.example',
    '/\t/evil.example',
    'tasks',
    '/ /',
    `/${'a'.repeat(1_000)}`,
  ])('goes back to a path of our own alone: not to %j', async returnTo => {
    const path = `/api/v3/auth/oidc/start?returnTo=${encodeURIComponent(returnTo)}`
    const answer = await fetch(`${server.url}${path}`, { redirect: 'manual' })
    expect(answer.status).toBe(400)
    expect(((await answer.json()) as { errors: { path: string }[] }).errors[0]?.path).toBe('returnTo')
  })

  it('brings a person who fails back to the page with the code of the failure', async () => {
    const browser = createTestBrowser(server)
    const person = { ...at(newEmail()), email_verified: false }
    provider.person = person
    const callback = await passProvider(
      server,
      browser,
      await beginSignOn(server, browser, '/sign-in?next=%2Ftasks'),
    )
    const answer = await browser.get(callback.href, { accept: 'text/html' })
    expect(answer.headers.get('location')).toBe('/sign-in?next=%2Ftasks&problem=address-not-verified')
    const lost = await fetch(callback, { redirect: 'manual', headers: { accept: 'text/html' } })
    expect(lost.headers.get('location')).toBe('/sign-in?problem=single-sign-on-failed')
  })

  it('tells a page how it is called', async () => {
    const methods = { password: true, forgotPassword: false, oidc: { label: 'Contoso' }, signUp: false }
    const page = await (await fetch(`${server.url}/sign-in`)).text()
    expect(page).toContain(
      `<meta name="sign-in" content="${JSON.stringify(methods).replaceAll('"', '&quot;')}"`,
    )
    expect((await createClient(server, '').get('/auth/methods')).body.data).toEqual(methods)
  })
})
