import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const EVENTS = ['data-source-created']

/** An owner of webhooks, with records of a type that cause events. */
interface Tenant {
  owner: Client
  typeId: string
}

describe('Webhooks', () => {
  let database: TestDatabase
  let server: ServerProcess
  let home: Tenant
  let owner: Client
  let receiver: Receiver
  let typeId: string
  /** The part of the gigabyte that was read. */
  let floodedMiB = 0
  /** The time when the first connection to /hangs was given up, by Date.now(). */
  let givenUpAt = Number.POSITIVE_INFINITY

  async function addTenant(): Promise<Tenant> {
    const { client } = await addOrganization(server, await signIn(server))
    const type = await client.post('/data-type', {
      name: 'Customer',
      fields: ['name', 'phone', 'note'].map(key => ({ key, label: key, type: 'text' })),
    })
    return { owner: client, typeId: type.body.data._id }
  }

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await startServer(database, { WEBHOOK_ALLOW_PRIVATE: 'true' })
    home = await addTenant()
    owner = home.owner
    typeId = home.typeId
    receiver = await startReceiver((request, response, count) => {
      const path = request.url ?? ''
      if (path === '/once-500' && count === 1) response.writeHead(500).end('not yet')
      else if (path === '/gone') response.writeHead(410).end()
      else if (path === '/redirect') response.writeHead(302, { location: '/redirected' }).end()
      else if (path === '/busy' && count === 1) response.writeHead(429, { 'retry-after': '9' }).end()
      else if (path === '/closes') request.socket.destroy()
      else if (path === '/hangs')
        request.socket.once('close', () => {
          givenUpAt = Math.min(givenUpAt, Date.now())
        })
      else if (path === '/gigabyte') flood(response, mebibytes => (floodedMiB = mebibytes))
      else if (path === '/nul') response.writeHead(500).end('nul \0 \ufffd')
      else response.end('fine')
    })
  })
  afterAll(async () => {
    await server.stop()
    await receiver.close()
    await database.remove()
  })

  const addWebhook = async (path: string, of = home) => {
    const answer = await of.owner.post('/webhook', { url: `${receiver.url}${path}`, events: EVENTS })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body.data
  }
  const addRecord = async (data: object, of = home) => {
    const answer = await of.owner.post('/data', { dataTypeId: of.typeId, data })
    expect(answer.status).toBe(201)
    return answer.body.data
  }
  const deliveries = async (webhookId: string, of = home) =>
    (await of.owner.get(`/webhook/${webhookId}/deliveries?limit=500`)).body.data
  const attempted = async (webhookId: string, count = 1, of = home) => {
    await until('attempts', async () => (await deliveries(webhookId, of)).at(-1)?.attempts.length >= count)
    return (await deliveries(webhookId, of)).at(-1)
  }
  const verify = (secret: string, { body, headers }: Received) =>
    new Webhook(secret).verify(body, headers as Record<string, string>)
  const removing = async (webhook: { _id: string }, work: () => Promise<void>) => {
    await work()
    await owner.delete(`/webhook/${webhook._id}`)
  }

  it('are told of a record with its fields and nothing else, and signed so that others can verify it', async () => {
    const webhook = await addWebhook('/plain')
    expect(webhook).toMatchObject({ events: EVENTS, status: 'active', description: '' })
    expect(webhook.secret).toMatch(/^whsec_[\w+/=]{32,}$/)
    await removing(webhook, async () => {
      await addRecord({ name: 'Acme', phone: '+49 30 1234567', note: null })
      const [got] = (await receiver.wait('/plain', 1)) as [Received]
      expect(JSON.parse(got.body)).toEqual({ name: 'Acme', phone: '+49 30 1234567' })
      expect(got.headers['webhook-event']).toBe('data-source-created')
      expect(got.headers['content-type']).toBe('application/json')
      expect(verify(webhook.secret, got)).toEqual(JSON.parse(got.body))
      expect(() => verify(`whsec_${Buffer.alloc(32).toString('base64')}`, got)).toThrow()
      const delivery = await attempted(webhook._id)
      expect(delivery).toMatchObject({
        webhookId: webhook._id,
        messageId: got.headers['webhook-id'],
        event: 'data-source-created',
        status: 'delivered',
        nextAttemptAt: null,
        payload: { name: 'Acme', phone: '+49 30 1234567' },
        attempts: [{ statusCode: 200, response: 'fine', error: null }],
      })
      expect(Math.abs(Date.parse(delivery.attempts[0].at) - Date.now())).toBeLessThan(120_000)
    })
  })

  it('a record that is not made tells nobody', async () => {
    const webhook = await addWebhook('/nothing')
    await removing(webhook, async () => {
      expect((await owner.post('/data', { dataTypeId: typeId, data: { shoe: 1 } })).status).toBe(400)
      // Events come in order: it would be told before this one.
      await addRecord({ name: 'Acme' })
      await attempted(webhook._id)
      expect(await deliveries(webhook._id)).toMatchObject([{ payload: { name: 'Acme' } }])
    })
  })

  it('a rotated secret signs along for a day', async () => {
    const webhook = await addWebhook('/rotated')
    await removing(webhook, async () => {
      const rotated = (await owner.post(`/webhook/${webhook._id}/rotate-secret`)).body.data
      expect(rotated.secret).not.toBe(webhook.secret)
      await addRecord({ name: 'Acme' })
      const [got] = (await receiver.wait('/rotated', 1)) as [Received]
      expect(String(got.headers['webhook-signature']).split(' ').length).toBe(2)
      for (const { secret } of [webhook, rotated]) verify(secret, got)
      expect((await owner.get(`/webhook/${webhook._id}`)).body.data).not.toHaveProperty('secret')
    })
  })

  it('410 disables a webhook, and what waits for it fails', async () => {
    const webhook = await addWebhook('/gone')
    await addRecord({ name: 'Acme' })
    expect(await attempted(webhook._id)).toMatchObject({ status: 'failed', nextAttemptAt: null })
    expect((await owner.get(`/webhook/${webhook._id}`)).body.data.status).toBe('disabled')
    await addRecord({ name: 'Later' })
    const [delivery] = await deliveries(webhook._id)
    expect((await owner.post(`/webhook-delivery/${delivery._id}/redeliver`)).status).toBe(409)
    const change = { url: `${receiver.url}/back`, events: EVENTS }
    expect((await owner.put(`/webhook/${webhook._id}`, change)).body.data.status).toBe('active')
    const again = await owner.post(`/webhook-delivery/${delivery._id}/redeliver`)
    expect([again.status, again.body.data.status]).toEqual([202, 'pending'])
    const [got] = (await receiver.wait('/back', 1)) as [Received]
    expect(got.headers['webhook-id']).toBe(delivery.messageId)
    await owner.delete(`/webhook/${webhook._id}`)
  })

  it.each([
    ['/redirect', 302, /redirects/],
    ['/closes', null, /./],
    ['/nul', 500, /500/],
  ])('a receiver at %s has its failure written down', async (path, statusCode, error) => {
    const webhook = await addWebhook(path)
    await removing(webhook, async () => {
      await addRecord({ name: 'Acme' })
      const { status, attempts } = await attempted(webhook._id)
      expect(status).toBe('pending')
      expect(attempts[0]).toMatchObject({ statusCode, error: expect.stringMatching(error) })
      expect(receiver.at('/redirected')).toEqual([])
    })
  })

  it('of a gigabyte that is answered the beginning is read', async () => {
    const webhook = await addWebhook('/gigabyte')
    await removing(webhook, async () => {
      await addRecord({ name: 'Acme' })
      const { status, attempts } = await attempted(webhook._id)
      expect([status, attempts[0].response.length]).toEqual(['delivered', 1024])
      expect(floodedMiB).toBeLessThan(128)
    })
  })

  // They wait for the clock, each with its own tenant, and at the same time.
  describe.concurrent('over time', () => {
    it('what fails is tried again after five seconds with the same webhook-id', async () => {
      const tenant = await addTenant()
      const webhook = await addWebhook('/once-500', tenant)
      await addRecord({ name: 'Acme' }, tenant)
      const [first, second] = (await receiver.wait('/once-500', 2)) as [Received, Received]
      expect(second.at - first.at).toBeGreaterThanOrEqual(4_900)
      expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
      verify(webhook.secret, second)
      const delivery = await attempted(webhook._id, 2, tenant)
      expect(delivery.attempts.map((one: { statusCode: number }) => one.statusCode)).toEqual([500, 200])
      expect(delivery.attempts[0]).toMatchObject({ response: 'not yet', error: 'The receiver answered 500' })
      expect(delivery.status).toBe('delivered')
    })

    it('Retry-After is waited for', async () => {
      const tenant = await addTenant()
      await addWebhook('/busy', tenant)
      await addRecord({ name: 'Acme' }, tenant)
      const [first, second] = (await receiver.wait('/busy', 2)) as [Received, Received]
      expect(second.at - first.at).toBeGreaterThanOrEqual(8_900)
    })

    it('an endpoint that never answers delays no other one, of the same organization either', async () => {
      const tenant = await addTenant()
      const hanging: { _id: string }[] = []
      for (let count = 0; count < 6; count++) hanging.push(await addWebhook('/hangs', tenant))
      await addWebhook('/quick', tenant)
      await Promise.all(Array.from({ length: 10 }, (_, n) => addRecord({ name: `Acme ${n}` }, tenant)))
      const got = await receiver.wait('/quick', 10)
      // The quick ones may be done before the last of the others has begun.
      await receiver.wait('/hangs', 6)
      // A delivery behind a hanging endpoint waits until that is given up.
      expect(givenUpAt).toBe(Number.POSITIVE_INFINITY)
      expect(new Set(got.map(({ headers }) => headers['webhook-id'])).size).toBe(10)
      const { attempts } = await attempted((hanging[0] as { _id: string })._id, 1, tenant)
      expect(attempts[0]).toMatchObject({ statusCode: null, error: 'No answer within 15 s' })
    })
  })

  it('after kill -9 everything is delivered at least once, under the same webhook-id', async () => {
    const webhook = await addWebhook('/killed')
    await Promise.all(Array.from({ length: 40 }, (_, count) => addRecord({ name: `Killed ${count}` })))
    await receiver.wait('/killed', 1)
    await server.kill9()
    server = await startServer(database, { WEBHOOK_ALLOW_PRIVATE: 'true' })
    owner = createClient(server, owner.token)
    home = { owner, typeId }
    // The dead process holds its jobs for the lease of half a minute.
    if (usualKind() === 'postgres') {
      const db = await openTestDatabase(database)
      await db.system.query(`UPDATE jobs SET lease_until = now() WHERE status = 'running'`)
      await db.close()
    }
    const names = () => new Set(receiver.at('/killed').map(({ body }) => JSON.parse(body).name))
    await until('all of them', () => names().size === 40)
    const ids = new Map<string, Set<unknown>>()
    for (const { body, headers } of receiver.at('/killed')) {
      const name = JSON.parse(body).name
      ids.set(name, (ids.get(name) ?? new Set()).add(headers['webhook-id']))
    }
    expect([...ids.values()].every(({ size }) => size === 1)).toBe(true)
    await owner.delete(`/webhook/${webhook._id}`)
  })

  it('what makes no sense is 400, another organization finds nothing', async () => {
    for (const [body, path] of [
      [{ events: EVENTS }, 'url'],
      [{ url: 'ftp://example.com', events: EVENTS }, 'url'],
      [{ url: 'https://user:pass@example.com', events: EVENTS }, 'url'],
      [{ url: 'https://example.com', events: [] }, 'events'],
      [{ url: 'https://example.com', events: ['no'] }, 'events.0'],
      [{ url: 'https://example.com', events: EVENTS, secret: 'x' }, 'secret'],
    ] as const) {
      const answer = await owner.post('/webhook', body)
      expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
    }
    const webhook = await addWebhook('/mine')
    await addRecord({ name: 'Acme' })
    const delivery = await attempted(webhook._id)
    const { client } = await addOrganization(server, await signIn(server))
    for (const answer of [
      await client.get(`/webhook/${webhook._id}`),
      await client.put(`/webhook/${webhook._id}`, { url: 'https://example.com', events: EVENTS }),
      await client.delete(`/webhook/${webhook._id}`),
      await client.post(`/webhook/${webhook._id}/rotate-secret`),
      await client.get(`/webhook/${webhook._id}/deliveries`),
      await client.post(`/webhook-delivery/${delivery._id}/redeliver`),
    ]) {
      expect(answer.status).toBe(404)
    }
    expect((await client.get('/webhooks')).body.data).toEqual([])
    await owner.delete(`/webhook/${webhook._id}`)
  })

  it('are made, changed and given secrets only by who may see every field of every type', async () => {
    const { _id } = await addWebhook('/sees-all')
    const own = ['view/webhook', 'create/webhook', 'update/webhook'].map(permissionName => ({
      permissionName,
    }))
    const viewing: object[][] = [
      [],
      [{ permissionName: 'view/data', dataTypes: [{ dataTypeId: typeId, restrictedFields: [] }] }],
      [{ permissionName: 'view/data', dataTypes: [{ dataTypeId: typeId, restrictedFields: ['phone'] }] }],
      [{ permissionName: 'view/data' }],
    ]
    for (const [at, details] of viewing.entries()) {
      const permissionDetails = [...own, ...details]
      const role = await owner.post('/role', { name: `Webhooks ${at}`, permissionDetails })
      const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
      const body = { url: receiver.url, events: EVENTS }
      const statuses = [
        (await client.post('/webhook', body)).status,
        (await client.put(`/webhook/${_id}`, body)).status,
        (await client.post(`/webhook/${_id}/rotate-secret`)).status,
      ]
      expect(statuses).toEqual(at === 3 ? [201, 200, 200] : [403, 403, 403])
    }
    for (const { _id } of (await owner.get('/webhooks')).body.data) await owner.delete(`/webhook/${_id}`)
  })

  it('a role that restricts fields sees none of them in deliveries, and makes no webhook', async () => {
    const role = await owner.post('/role', {
      name: 'Watches deliveries',
      permissionDetails: [
        { permissionName: 'view/data', dataTypes: [{ dataTypeId: typeId, restrictedFields: ['phone'] }] },
        { permissionName: 'view/webhook' },
        { permissionName: 'create/webhook' },
        { permissionName: 'update/webhook' },
      ],
    })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    const webhook = await addWebhook('/watched')
    await addRecord({ name: 'Acme', phone: 'secret-phone' })
    const { _id } = await attempted(webhook._id)
    for (const answer of [
      await client.get(`/webhook/${webhook._id}/deliveries`),
      await client.post(`/webhook-delivery/${_id}/redeliver`),
    ]) {
      expect(answer.status).toBeLessThan(300)
      expect(JSON.stringify(answer.body)).not.toContain('secret-phone')
      expect([answer.body.data].flat()[0]).toMatchObject({
        payload: { name: 'Acme' },
        attempts: [{ response: null }],
      })
    }
    expect((await client.post('/webhook', { url: receiver.url, events: EVENTS })).status).toBe(403)
    await owner.delete(`/webhook/${webhook._id}`)
  })

  it('are described in the OpenAPI document and in one of their own', async () => {
    const { body } = await createClient(server, '').get('/webhooks.json')
    expect(body).toMatchObject({ openapi: '3.1.0', info: { title: 'Webhooks', version: '1.0.0' } })
    expect(Object.keys(body).sort()).toEqual(['info', 'openapi', 'webhooks'])
    expect(JSON.stringify(body)).not.toContain('"security"')
    const event = body.webhooks['data-source-created'].post
    const { schema, example } = event.requestBody.content['application/json']
    expect([Object.keys(schema.properties), Object.keys(example)]).toEqual([
      ['name', 'phone'],
      ['name', 'phone'],
    ])
    const main = (await createClient(server, '').get('/openapi.json')).body
    const { requestBody, ...known } = main.webhooks['data-source-created'].post
    expect({ ...known, requestBody: event.requestBody }).toMatchObject({ ...event, security: [] })
    // Its fields are in the document of the events: with a class for them a generated TypeScript client does not
    // compile.
    const open = { type: 'object', additionalProperties: true }
    expect(requestBody.content['application/json']).toEqual({ schema: open, example })
  })
})

function flood(response: import('node:http').ServerResponse, count: (mebibytes: number) => void): void {
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  let written = 0
  const write = () => {
    while (written < 1024 && !response.destroyed) {
      count(++written)
      if (!response.write(chunk)) return void response.once('drain', write)
    }
    response.end()
  }
  response.on('error', () => {})
  write()
}
