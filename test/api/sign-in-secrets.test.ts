import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { connectDevice } from '../support/mqtt.ts'
import { type JsonSchema, listOperations, type OpenApi, readDocument } from '../support/openapi.ts'
import { createMakers } from '../support/organization-makers.ts'
import { addOrganization, addPerson, PASSWORD } from '../support/people.ts'
import { createResolver, exampleBody, ownPaths } from '../support/references.ts'
import { addSecondFactor, challengeFor, codeOf, sendCode } from '../support/second-factor.ts'
import { openServer, type Server } from '../support/server.ts'
import { beginSignOn, codeFrom, createTestBrowser, passProvider, trade } from '../support/sign-on.ts'
import { listOneOfEach } from '../support/tenant-rows.ts'

/** It reads the whole database beside the server, which PGlite does not allow. */
describe.runIf(usualKind() === 'postgres')('The secrets of signing in', () => {
  let database: TestDatabase
  let provider: IdentityProvider
  let server: Server
  let owner: Client

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    provider = await startIdentityProvider('https://fieldline.example')
    server = await openServer(database, { ...provider.env, RATE_LIMIT_PER_MINUTE: '0' })
    owner = (await addOrganization(server, await signIn(server))).client
  })
  afterAll(async () => {
    await server.stop()
    await provider.close()
    await database.remove()
  })

  /** Every row of every table, as text. */
  async function readDatabase(): Promise<string> {
    const db = await openTestDatabase(database)
    const tables = await db.system.query<{ name: string }>(
      `SELECT quote_ident(relname) AS name FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
    )
    const rows: { row: string }[] = []
    for (const { name } of tables)
      rows.push(
        ...(await db.system.query<{ row: string }>(`SELECT row_to_json(t)::text AS row FROM ${name} t`)),
      )
    await db.close()
    expect(tables.length).toBeGreaterThan(40)
    return rows.map(({ row }) => row).join('\n')
  }

  it('stand in plain text in no table, no line of the log, no entry of the audit log and no failure', async () => {
    const secrets = new Map<string, string>()
    const refusals: Answer[] = []
    const person = await addPerson(server, owner)
    const headers = { 'idempotency-key': 'a second factor' }
    const begun = await person.client.post('/auth/totp', {}, headers)
    secrets.set('the first secret', begun.body.data.secret)
    const factor = await addSecondFactor(person.client)
    secrets.set('the secret of the second factor', factor.secret)
    for (const code of factor.recoveryCodes) {
      secrets.set(`the recovery code ${code}`, code)
      secrets.set(`the recovery code ${code}, without its hyphens`, code.replaceAll('-', ''))
    }
    const [used, another] = [
      await challengeFor(server, { email: person.email, password: PASSWORD }),
      await challengeFor(server, { email: person.email, password: PASSWORD }),
    ]
    for (const [at, challenge] of [used, another].entries()) secrets.set(`challenge ${at}`, challenge)
    refusals.push(await sendCode(server, another, 'aaaa-bbbb-cccc-dddd'))
    const token = (await sendCode(server, used, codeOf(factor.secret))).body.token
    secrets.set('the token', token)
    refusals.push(await sendCode(server, used, factor.recoveryCodes[1] as string))
    refusals.push(await createClient(server, token).post('/auth/totp'))

    const browser = createTestBrowser(server)
    provider.person = { sub: 'me', email: person.email, email_verified: true }
    const url = await beginSignOn(server, browser)
    const callback = await passProvider(server, browser, url)
    for (const name of ['state', 'nonce', 'code_challenge'])
      secrets.set(`${name} of single sign-on`, url.searchParams.get(name) as string)
    secrets.set('the code of the provider', callback.searchParams.get('code') as string)
    const [cookie = ''] = browser.cookies
    secrets.set('the cookie', cookie.split(';')[0]?.split('=')[1] as string)
    const code = codeFrom(await browser.get(callback.href))
    const failed = await (await browser.get(callback.href)).text()
    secrets.set('the code of single sign-on', code)
    const waiting = await readDatabase()
    secrets.set('another token', (await trade(server, code)).body.token)
    refusals.push(await trade(server, code))
    secrets.set('the secret at the provider', provider.env.OIDC_CLIENT_SECRET as string)
    const removal = { password: PASSWORD, code: factor.recoveryCodes[2] }
    const stored = await readDatabase()
    expect((await person.client.delete('/auth/totp', removal)).status).toBe(200)

    const audit = JSON.stringify((await owner.get('/audit-log?limit=500')).body)
    expect(audit).toContain('remove-second-factor')
    const failures = JSON.stringify(refusals.map(({ body }) => body)) + failed
    const places = {
      waiting,
      stored,
      later: await readDatabase(),
      audit,
      failures,
      log: server.output.stderr,
    }
    expectNone(secrets, places)
  })

  /** The values of an answer that the document says are shown once. */
  function shownOnce(document: OpenApi, schema: JsonSchema, answer: unknown): string[] {
    const known = createResolver(document)(schema)
    if (schema.description?.includes('hown once') || known.description?.includes('hown once'))
      return [answer].flat().filter(one => typeof one === 'string')
    if (typeof answer !== 'object' || answer === null) return []
    return Object.entries(known.properties ?? {}).flatMap(([name, inner]) =>
      shownOnce(document, inner, (answer as { [name: string]: unknown })[name]),
    )
  }

  /** Uses a secret at each place where it, or another one, belongs. */
  async function useEverywhere(secret: string, id: string): Promise<Answer[]> {
    const [holder, stranger] = [createClient(server, secret), createClient(server, '')]
    const text = encodeURIComponent(secret)
    const basic = { authorization: `Basic ${Buffer.from(`${secret}:${secret}`).toString('base64')}` }
    const point = { _type: 'location', lat: 1, lon: 2, tst: Math.floor(Date.now() / 1_000) }
    for (const password of [secret, 'none'])
      for (const username of ['token', secret, crypto.randomUUID()])
        await connectDevice(server, { id: username, key: password }, { clientId: secret }).then(
          connection => connection.endAsync(),
          () => {},
        )
    for (const topic of [`owntracks/${secret}/phone`, `other/${secret}`]) {
      const device = await connectDevice(server, { id, key: secret }).catch(() => null)
      if (!device) continue
      const closed = new Promise<void>(done => device.once('close', () => done()))
      device.publish(topic, secret, { qos: 1 }, () => device.end())
      await closed
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    return Promise.all([
      holder.get('/user'),
      holder.post('/location-history/bulk', { points: [{ deviceId: secret, lat: 91 }] }),
      owner.get(`/hub/${text}`),
      owner.get(`/hubs?search=${text}`),
      owner.delete(`/device/${text}`),
      stranger.get(`/location-history/tracking/${text}`),
      stranger.post('/ingest/owntracks', point, basic),
      stranger.post(`/ingest/owntracks?token=${text}`, point),
      stranger.post(`/ingest/osmand?id=${text}&lat=1&lon=2`, undefined, basic),
      stranger.post(`/ingest/connection/${id}?key=${text}`, `id=${text}&key=${text}`, form),
      stranger.post('/auth/login', { email: secret, password: secret }),
      stranger.post('/auth/invitation', { token: secret }),
      stranger.post('/auth/accept-invitation', { token: secret, name: 'Guest', password: 'short' }),
      stranger.post('/auth/reset-forgotten-password', { token: secret, password: PASSWORD }),
      stranger.post('/auth/login/totp', { challenge: secret, code: '000000' }),
      stranger.post('/auth/oidc/session', { code: secret }),
    ])
  }

  it('that an operation shows once stand nowhere else, also where they are used at the wrong place', async () => {
    const document = await readDocument(server)
    const operations = listOperations(document).filter(({ path }) => path.startsWith('/api/v3/'))
    const db = await openTestDatabase(database)
    const makers = createMakers({ server, db, document, operations, first: await signIn(server) })
    const { client, organizationId } = await makers.build('Secretive')
    const own = await listOneOfEach(db, organizationId)
    await db.close()
    const telling = operations.filter(
      ({ spec }) => spec['x-answers-secret'] && spec['x-permission']?.includes('/'),
    )
    expect(telling.length).toBeGreaterThan(9)
    const secrets = new Map([['the token', client.token]])
    const answers: Answer[] = []
    // What was created first is there to be renewed.
    for (const operation of telling.sort((one, other) => one.path.length - other.path.length)) {
      const body = exampleBody(operation, document, own)
      Object.assign(
        body ?? {},
        'email' in Object(body) && { email: `guest-${crypto.randomUUID()}@example.com` },
      )
      const [path = ''] = ownPaths(operation, own)
      const headers = { 'idempotency-key': crypto.randomUUID() }
      const made = await client.post(path.replace('/api/v3', ''), body, headers)
      const { schema } = operation.spec.responses[made.status]?.content?.['application/json'] ?? {}
      const shown = shownOnce(document, schema ?? {}, made.body)
      expect([operation.name, made.status < 300, shown.length > 0]).toEqual([operation.name, true, true])
      expect((await client.post(path.replace('/api/v3', ''), body, headers)).body).toEqual(made.body)
      for (const [at, secret] of shown.entries()) {
        expect(secret.length).toBeGreaterThan(30)
        secrets.set(`${operation.name} ${at}`, secret)
        secrets.set(`${operation.name} ${at}, as bytes`, Buffer.from(secret).toString('hex'))
        answers.push(...(await useEverywhere(secret, made.body.data._id)))
      }
      if (operation.path.endsWith('/invite')) own.set('userId', made.body.data._id)
    }
    const audit = JSON.stringify((await client.get('/audit-log?limit=500')).body)
    expect(audit).toContain('rotate')
    const failures = JSON.stringify(answers.filter(({ status }) => status >= 400).map(({ body }) => body))
    expectNone(secrets, { stored: await readDatabase(), audit, failures, log: server.output.stderr })
  })

  /** No secret stands in any of these texts. */
  function expectNone(secrets: Map<string, string>, places: { [place: string]: string }): void {
    for (const [place, text] of Object.entries(places)) {
      expect(text.length).toBeGreaterThan(50)
      const found = [...secrets].filter(([, secret]) => text.includes(secret)).map(([name]) => name)
      expect([place, found]).toEqual([place, []])
    }
  }
})
