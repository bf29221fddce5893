import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newName } from '../../src/http/names.ts'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { listPlaces, put } from '../support/hostile.ts'
import { listOperations, readDocument } from '../support/openapi.ts'
import { useServer } from '../support/own-server.ts'
import { addHub, addOrganization, addPerson, newEmail } from '../support/people.ts'
import { bodySchema, createResolver, exampleBody } from '../support/references.ts'
import { OWNER, openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Contract section 2. */
describe('The conventions', () => {
  const { server, database } = useServer({ ALLOW_SIGNUP: 'true' })
  let owner: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server), { hubName: 'hub 00' })).client
    for (let n = 1; n < 12; n++) await addHub(owner, `Hub ${String(n % 6).padStart(2, '0')}`)
  })

  describe('of lists', () => {
    const names = (body: { data: { name: string }[] }) => body.data.map(({ name }) => name)

    it.each(['name', '-name', 'createdAt', '-createdAt'])(
      'pages sorted by %s hold every record once, in order',
      async sort => {
        const seen: { _id: string; name: string; createdAt: string }[] = []
        let cursor: string | null = null
        let pages = 0
        do {
          const { body } = await owner.get(`/hubs?limit=5&sort=${sort}${cursor ? `&cursor=${cursor}` : ''}`)
          expect(body.pagination).toMatchObject({ limit: 5, total: 12 })
          seen.push(...body.data)
          cursor = body.pagination.nextCursor
          pages++
        } while (cursor)
        expect(pages).toBe(3)
        expect(new Set(seen.map(({ _id }) => _id)).size).toBe(12)
        const key = sort.replace('-', '') as 'name' | 'createdAt'
        const keys = seen.map(hub => hub[key].toLowerCase())
        const ordered = [...keys].sort()
        expect(keys).toEqual(sort.startsWith('-') ? ordered.reverse() : ordered)
      },
    )

    it('a page stays where it was when records come and go before it', async () => {
      const first = (await owner.get('/hubs?limit=4&sort=name')).body
      const early = await addHub(owner, 'A very early one')
      const second = (await owner.get(`/hubs?limit=4&sort=name&cursor=${first.pagination.nextCursor}`)).body
      await owner.delete(`/hub/${early}`)
      const ids = [...first.data, ...second.data].map(({ _id }: { _id: string }) => _id)
      expect(new Set(ids).size).toBe(8)
    })

    it.each([
      ['limit', 'limit=501'],
      ['limit', 'limit=0'],
      ['limit', 'limit=ten'],
      ['limit', 'limit=1&limit=2'],
      ['sort', 'sort=colour'],
      ['cursor', 'cursor=nonsense'],
      ['cursor', `cursor=${Buffer.from('{"sort":"name","key":"x","id":"y"}').toString('base64url')}`],
    ])('a wrong %s is 400: %s', async (path, query) => {
      const answer = await owner.get(`/hubs?${query}`)
      expect([answer.status, answer.body.errors[0].path]).toEqual([400, path])
    })

    it('a cursor of another order is 400', async () => {
      const { nextCursor } = (await owner.get('/hubs?limit=2&sort=name')).body.pagination
      expect((await owner.get(`/hubs?limit=2&sort=-createdAt&cursor=${nextCursor}`)).status).toBe(400)
      const forged = { sort: 'createdAt', key: 'not a time', id: crypto.randomUUID() }
      const cursor = Buffer.from(JSON.stringify(forged)).toString('base64url')
      expect((await owner.get(`/hubs?sort=createdAt&cursor=${cursor}`)).status).toBe(400)
    })

    it('a search finds text in any case and knows no wildcards', async () => {
      expect(names((await owner.get('/hubs?search=HUB%2003')).body)).toEqual(['Hub 03', 'Hub 03'])
      for (const wildcard of ['%25', '_', '%5C'])
        expect((await owner.get(`/hubs?search=${wildcard}`)).body.data).toEqual([])
    })

    it('the largest limit is allowed, the default is 50', async () => {
      expect((await owner.get('/hubs?limit=500')).body.pagination.limit).toBe(500)
      expect((await owner.get('/hubs')).body.pagination.limit).toBe(50)
    })
  })

  it.each(['/user', '/hubs', '/organization', '/auth/sessions', '/roles', '/openapi.json'])(
    '%s answers with and without a trailing slash',
    async path => {
      expect((await owner.get(path)).status).toBe(200)
      expect((await owner.get(`${path}/`)).status).toBe(200)
    },
  )

  it('a name has something to see and turns nothing round, whatever it is the name of', async () => {
    const HIDDEN = ['\u200b\u200b\u200b', '\u2060\u3164 \u00ad', '\u2800\u2800\u2800']
    const TURNING = ['\u202egnihtemos', 'Van\u202d 7', '\u2066Van 7\u2069']
    const UNSEEN = [
      'Van\u0007 7',
      'Van\u200b7',
      '\u{e0041}Van',
      'Van\ufff9',
      'V\u00adan',
      'Van\ufffe',
      'Van\u{1ffff}',
    ]
    const document = await readDocument(server)
    const resolve = createResolver(document)
    const resources = new Set<string>()
    const wrong: string[] = []
    const tried = new Set<string>()
    let turn = 0
    for (const operation of listOperations(document)) {
      const schema = bodySchema(operation)
      if (!schema || !operation.path.startsWith('/api/v3/')) continue
      const body = exampleBody(operation, document, new Map()) as object
      for (const [field, known] of Object.entries(resolve(schema).properties ?? {})) {
        // A field that names an existing record is looked up.
        if (!/^(name|hubName|organizationName)$/.test(field) || resolve(known).type !== 'string') continue
        resources.add(operation.path.replace(/\/\{.*/, ''))
        const path = operation.path.replace('/api/v3', '').replace(/\{\w+\}/g, () => crypto.randomUUID())
        const method = operation.method as 'post' | 'put' | 'patch'
        // All operations have the same rule: one name of each kind in turn shows that it is there.
        turn++
        for (const name of [HIDDEN, TURNING, UNSEEN].map(names => names[turn % names.length] as string)) {
          tried.add(name)
          const answer = await owner[method](path, { ...body, [field]: name })
          const said = answer.body.errors?.find((one: { path: string }) => one.path === field)?.message ?? ''
          const other = TURNING.includes(name)
            ? /turns the direction of writing/
            : /that cannot be seen: type/
          const expected = HIDDEN.includes(name) ? /that can be seen\.$/ : other
          if (answer.status !== 400 || !expected.test(said))
            wrong.push(`${operation.name} ${field} ${escape(name)}: ${answer.status} ${said}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(resources.size).toBeGreaterThan(12)
    expect(tried).toEqual(new Set([...HIDDEN, ...TURNING, ...UNSEEN]))
    for (const name of ['שלום 7', '車両 1', 'Lkw № 4', '🚚', '-', 'می\u200cخواهم', '👩‍🚒', '🏴󠁧󠁢󠁥󠁮󠁧󠁿 1'])
      expect([name, (await owner.post('/team', { name })).body.data?.name]).toEqual([name, name])
    // No pattern is applied to a text that is too long: for 1 MB it would take minutes.
    const tooLong = 'Van\u0007'.repeat(50)
    expect(
      newName(100)
        .safeParse(tooLong)
        .error?.issues.map(({ code }) => code),
    ).toEqual(['too_big'])
    for (const name of ['One\u00a0line', ' One \r\n\tline', 'One\u2028line'])
      expect((await owner.post('/vehicle', { name })).body.data?.name).toBe('One line')
  })

  // The test writes to the database beside the server, which PGlite does not allow.
  it.runIf(usualKind() === 'postgres')(
    'a name that was given before there was a rule for names is read as it is',
    async () => {
      const { client, organizationId } = await addOrganization(server, await signIn(server))
      const document = await readDocument(server)
      const operations = listOperations(document).filter(({ path }) => !path.includes('{'))
      for (const operation of operations.filter(({ method }) => method === 'post')) {
        const path = operation.path.replace('/api/v3', '')
        if (!/^\/(team|hub|geofence|vehicle|device|role|flow|data-type|task|task-schedule)$/.test(path))
          continue
        const { status } = await client.post(path, exampleBody(operation, document, new Map()))
        expect([path, [201, 400, 409].includes(status)]).toEqual([path, true])
      }
      const db = await openTestDatabase(database)
      const tables = await db.system.query<{ name: string }>(
        `SELECT table_name AS name FROM information_schema.columns
         WHERE table_schema = 'public' AND column_name IN ('name', 'organization_id')
         GROUP BY 1 HAVING count(*) = 2`,
      )
      for (const { name } of tables)
        await db.system.query(`UPDATE "${name}" SET name = chr(8238) || name WHERE organization_id = $1`, [
          organizationId,
        ])
      await db.close()
      const wrong: string[] = []
      let old = 0
      for (const { name, path } of operations.filter(({ method }) => method === 'get')) {
        if (!path.startsWith('/api/v3/')) continue
        const { status, body } = await client.get(path.replace('/api/v3', ''))
        if (status >= 500) wrong.push(`${name}: ${status}`)
        if (JSON.stringify(body ?? null).includes('\u202e')) old++
      }
      expect(wrong).toEqual([])
      expect(old).toBeGreaterThan(5)
    },
  )

  it('records have an _id and times in ISO 8601 with milliseconds in UTC', async () => {
    const [hub] = (await owner.get('/hubs?limit=1')).body.data
    expect(hub._id).toEqual(expect.any(String))
    for (const time of [hub.createdAt, hub.updatedAt])
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('specification 7 rule 1: a failure has status false and a message, a requestId, and a 400 what is wrong where', async () => {
    const missing = await owner.get('/hub/nonsense')
    expect(missing.body).toEqual({
      status: false,
      message: expect.stringMatching(/^[A-Z].*\.$/),
      requestId: expect.any(String),
      code: 'not-found',
    })
    const nowhere = await owner.get('/nowhere')
    expect([nowhere.status, Object.keys(nowhere.body).sort()]).toEqual([
      404,
      ['code', 'message', 'requestId', 'status'],
    ])
    const wrong = await owner.post('/hub', { name: 7, lat: 1, lng: 2, shoe: 43 })
    expect(wrong.body.errors.map((error: { path: string }) => error.path).sort()).toEqual(['name', 'shoe'])
  })

  it('a PATCH that merges may say so', async () => {
    const { body } = await owner.post('/vehicle', { name: 'Van', plate: 'B 1' })
    const merge = { 'content-type': 'application/merge-patch+json' }
    const patched = await owner.patch(`/vehicle/${body.data._id}`, { plate: null }, merge)
    expect(patched.status).toBe(200)
    expect(patched.body.data).toMatchObject({ name: 'Van', plate: null })
  })

  it('a body that is no JSON is 400, one of another media type 415, one that is too large 413', async () => {
    const broken = await owner.post('/hub', '{"name":')
    expect(broken.status).toBe(400)
    expect(broken.body.errors).toHaveLength(1)
    const text = await owner.post('/hub', 'name', { 'content-type': 'text/plain' })
    expect(text.status).toBe(415)
    const large = await owner.post('/hub', { name: 'x'.repeat(2_000_000), lat: 1, lng: 2 })
    expect(large.status).toBe(413)
    const array = await owner.post('/hub', [1, 2])
    expect(array.status).toBe(400)
    const empty = await owner.post('/hub')
    expect(empty.status).toBe(400)
  })

  it.each([
    ['NUL', 'a\u0000b'],
    ['a lone surrogate', 'a\ud800b'],
  ])('%s in a text is refused wherever it stands, and breaks nothing', async (_name, text) => {
    const body = await owner.post('/hub', JSON.stringify({ name: text, lat: 1, lng: 2 }))
    expect([body.status, body.body.errors[0].path]).toEqual([400, 'name'])
    const task = { name: 'Visit', content: { deep: [{ [text]: 1 }] } }
    expect((await owner.post('/task', JSON.stringify(task))).status).toBe(400)
    if (text.includes('\0')) {
      expect((await owner.get(`/hubs?search=${encodeURIComponent(text)}`)).status).toBe(400)
      expect((await owner.get(`/user/email/${encodeURIComponent(text)}`)).status).toBe(404)
    }
    expect((await createClient(server, '').post('/auth/login', { email: text, password: 'x' })).status).toBe(
      400,
    )
  })

  it('a body that is nested endlessly is 400', async () => {
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const answer = await owner.post('/task', `{"name":"Visit","content":{"deep":${nested}}}`)
    expect(answer.status).toBe(400)
  })

  it('__proto__ is a field like any other, in every object of every body and in every query: unknown', async () => {
    const MARK = '<here>'
    const document = await readDocument(server)
    const resolve = createResolver(document)
    const wrong: string[] = []
    const tried: string[] = []
    for (const operation of listOperations(document)) {
      const { method, spec, name } = operation
      // Unknown keys of points and of other apps' messages are ignored; files come with a form.
      if (!/^\/api\/v3\/(?!ingest\/|location-history\/bulk|data\/import)/.test(operation.path)) continue
      if (spec['x-permission'] === 'public') continue
      const path = operation.path.replace('/api/v3', '').replace(/\{\w+\}/g, () => crypto.randomUUID())
      const send = async (where: string, query: string, text?: string) => {
        const call = method as 'post' | 'put' | 'patch' | 'delete'
        const answer = method === 'get' ? owner.get(`${path}${query}`) : owner[call](`${path}${query}`, text)
        const { status, body: said } = await answer
        tried.push(`${name} ${where}`)
        const named = said.errors?.some((one: { path: string }) => one.path.endsWith('__proto__'))
        if (status !== 400 || !named) wrong.push(`${name} ${where}: ${status} ${said.message}`)
      }
      await send('query', '?__proto__=x')
      for (const { name, schema } of (spec.parameters ?? []).filter(one => one.in === 'query'))
        if (schema?.type === 'object') await send(name, `?${name}[__proto__]=x`)
      const schema = bodySchema(operation)
      if (!schema) continue
      const example = exampleBody(operation, document, new Map())
      for (const { place, schema: at } of listPlaces(schema, resolve)) {
        if (resolve(at).type !== 'object') continue
        const text = JSON.stringify(put(example, place, MARK)).replace(
          JSON.stringify(MARK),
          '{"__proto__":"x"}',
        )
        await send(place.join('.'), '', text)
      }
    }
    expect(wrong).toEqual([])
    expect(tried.length).toBeGreaterThan(150)
    expect(tried).toEqual(
      expect.arrayContaining(['get /api/v3/data filter', 'post /api/v3/tasks/export filter']),
    )
  })

  describe('rate limits', () => {
    let own: TestDatabase
    beforeAll(async () => {
      own = await createTestDatabase(usualKind())
    })
    afterAll(() => own.remove())

    it('a caller is limited to RATE_LIMIT_PER_MINUTE with Retry-After, and each has its own', async () => {
      const limited = await openServer(own, { RATE_LIMIT_PER_MINUTE: '40' })
      const first = await signIn(limited)
      const other = await addPerson(limited, first, { email: newEmail() })
      const statuses = new Set<number>()
      let refused: Awaited<ReturnType<Client['get']>> | undefined
      // While the machine pauses, further ones are free.
      for (let n = 0; n < 60 || (!refused && n < 1_000); n++) {
        const answer = await first.get('/user')
        statuses.add(answer.status)
        if (answer.status === 429) refused = answer
      }
      expect([...statuses]).toEqual([200, 429])
      expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(refused?.body).toMatchObject({ status: false, requestId: expect.any(String) })
      expect((await other.client.get('/user')).status).toBe(200)
      // Routes for points are limited by back-pressure instead, and health and metrics are not counted.
      const points = [{ lat: 1, lng: 2, timestamp: Date.now() }]
      for (let n = 0; n < 5; n++)
        expect((await first.post('/location-history/bulk', { points })).status).toBe(200)
      for (const path of ['/health', '/ready', '/metrics'])
        expect((await fetch(`${limited.url}${path}`)).status).toBe(200)
      await limited.stop()
    })

    it('an address that tries wrong device keys is limited to 60, where points are accepted too, and known keys go on', async () => {
      const limited = await openServer(own, { RATE_LIMIT_PER_MINUTE: '1200' })
      const member = await signIn(limited)
      const [known, unseen] = [await createDevice(member), await createDevice(member)]
      const send = async (key: string) => {
        const points = [{ lat: 1, lng: 2, timestamp: Date.now() - 1000 }]
        return (await createClient(limited, key).post('/location-history/bulk', { points })).status
      }
      expect(await send(known.key)).toBe(200)
      const wrong = await Promise.all(Array.from({ length: 100 }, (_, n) => send(`fld_nobody${n}`)))
      expect(new Set(wrong)).toEqual(new Set([401, 429]))
      expect(await send(known.key)).toBe(200)
      expect((await member.get('/user')).status).toBe(200)
      // The limit applies before the database is asked, even to a valid key that is new here. A further one is free each
      // second, in which the machine may have paused.
      const guess = () => Promise.all(Array.from({ length: 10 }, () => send('fld_nobody')))
      await until('one is not asked for', async () => (await guess()).includes(429))
      await until('the new key is let in', async () => (await send(unseen.key)) === 200)
      await limited.stop()
    })

    it('an address without a token is limited to 60, whatever it calls', async () => {
      const limited = await openServer(own, { RATE_LIMIT_PER_MINUTE: '1200' })
      const member = await signIn(limited)
      const stranger = createClient(limited, '')
      const forger = createClient(limited, 'forged')
      const answers: number[] = []
      for (let n = 0; n < 30; n++) {
        answers.push((await stranger.get('/user')).status, (await forger.get('/user')).status)
      }
      expect(answers.filter(status => status === 429).length).toBeLessThanOrEqual(2)
      // A further one is free each second, which a slow machine may have taken for the last ones.
      await until(
        'signing in is limited too',
        async () => (await stranger.post('/auth/login', OWNER)).status === 429,
      )
      expect((await member.get('/user')).status).toBe(200)
      await limited.stop()
    })
  })
})
