import type { MqttClient } from 'mqtt'
import { describe, expect, it } from 'vitest'
import { addApiKey, expireKey, type TestKey } from '../support/api-keys.ts'
import { createClient, createDevice, readHistory } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { addPerson } from '../support/people.ts'
import { openScreen, tryUpgrade } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until, untilTold } from '../support/wait.ts'

const closing = (client: MqttClient) => new Promise<void>(done => client.once('close', () => done()))
const point = () => ({ lat: 1, lng: 2, timestamp: new Date(Date.now() - 60_000).toISOString() })

describe('An API key', () => {
  const { server, database, owner } = useOrganization()

  const connectKey = ({ key }: Pick<TestKey, 'key'>, options = {}) =>
    connectDevice(server, { id: 'token', key }, options)
  const rotate = (id: string, body: object = {}) => owner.post(`/api-key/${id}/rotate`, body)

  /** A key with an open socket and an open MQTT connection; resolves when both are closed. */
  async function openBoth(given: TestKey) {
    const screen = await openScreen(server, given.key)
    const connection = await connectKey(given)
    return { ended: Promise.all([screen.closed, closing(connection)]), screen, connection }
  }

  describe('opens the live socket and MQTT, and both are closed when it', () => {
    const close = async (end: (key: TestKey) => Promise<unknown>) => {
      const given = await addApiKey(server, owner, { role: 'Admin' })
      const { ended } = await openBoth(given)
      await end(given)
      expect((await given.client.get('/hubs')).status).toBe(401)
      await untilTold(async () => {
        const [{ code }] = await ended
        expect(code).toBe(4401)
      })
      expect(await tryUpgrade(server, '/api/v3/live', given.key)).toBe(401)
      await expect(connectKey(given)).rejects.toThrow()
    }

    it('is deleted', () => close(({ id }) => owner.delete(`/api-key/${id}`)))
    it('is rotated without overlap', () => close(({ id }) => rotate(id)))
    it('is rotated by itself', () => close(({ client, id }) => client.post(`/api-key/${id}/rotate`, {})))
    it('expires', () => close(key => expireKey(owner, key)))
    it('is at the end of its overlap', () =>
      close(async ({ client, id }) => {
        await rotate(id, { overlapSeconds: 1 })
        await until('the overlap is over', async () => (await client.get('/hubs')).status === 401)
      }))
    it('loses the permission', async () => {
      const permissionDetails = [{ permissionName: 'create/location' }, { permissionName: 'view/location' }]
      const role = (await owner.post('/role', { name: 'Sends and sees', permissionDetails })).body.data
      const { ended } = await openBoth(await addApiKey(server, owner, { roleId: role._id }))
      await owner.put(`/role/${role._id}`, { name: 'Sends and sees', permissionDetails: [] })
      await untilTold(async () => {
        const [{ code }] = await ended
        expect(code).toBe(4403)
      })
    })
  })

  it('that has expired is not rotated, and does not come back to life', async () => {
    const { id, client } = await addApiKey(server, owner)
    await expireKey(owner, { id, client })
    expect((await rotate(id)).status).toBe(409)
    expect((await owner.patch(`/api-key/${id}`, { expiresAt: null })).status).toBe(409)
    expect((await owner.patch(`/api-key/${id}`, { name: 'Over' })).status).toBe(200)
    expect((await client.get('/hubs')).status).toBe(401)
  })

  describe('that is rotated', () => {
    it('makes no tracking link that outlives the secret it was made with', async () => {
      const device = await createDevice(owner)
      const { id, client } = await addApiKey(server, owner, { role: 'Admin' })
      await rotate(id, { overlapSeconds: 3_600 })
      const share = (minutes: number) =>
        client.post('/tracking-link', {
          ...{ subjectId: device.id, subjectType: 'device' },
          expiresAt: new Date(Date.now() + minutes * 60_000).toISOString(),
        })
      const late = await share(90)
      expect([late.status, late.body.message]).toEqual([
        403,
        'A key gives no link a longer life than its own.',
      ])
      expect((await share(30)).status).toBe(201)
    })

    it('has a former one for the overlap, and at most one', async () => {
      const first = await addApiKey(server, owner)
      const answer = await rotate(first.id, { overlapSeconds: 3_600 })
      expect(answer.body.data).toMatchObject({
        _id: first.id,
        name: 'Program',
        formerExpiresAt: expect.any(String),
      })
      const second = createClient(server, answer.body.data.key)
      for (const { get } of [first.client, second]) expect((await get('/user')).body.data._id).toBe(first.id)
      const third = createClient(server, (await rotate(first.id, { overlapSeconds: 3_600 })).body.data.key)
      const statuses = await Promise.all(
        [first.client, second, third].map(async one => (await one.get('/user')).status),
      )
      expect(statuses).toEqual([401, 200, 200])
      const shorter = new Date(Date.now() + 60_000).toISOString()
      const changed = await owner.patch(`/api-key/${first.id}`, { expiresAt: shorter })
      expect(changed.body.data).toMatchObject({ expiresAt: shorter, formerExpiresAt: shorter })
      const last = createClient(server, (await rotate(first.id)).body.data.key)
      expect((await owner.get(`/api-key/${first.id}`)).body.data.formerExpiresAt).toBeNull()
      for (const one of [second, third]) expect((await one.get('/user')).status).toBe(401)
      expect((await last.get('/user')).status).toBe(200)
    })

    it.each([-1, 0.5, 7 * 86_400 + 1, '60'])(
      'refuses an overlap of %s seconds: 400',
      async overlapSeconds => {
        const { id } = await addApiKey(server, owner)
        const answer = await rotate(id, { overlapSeconds })
        expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'overlapSeconds'])
      },
    )

    it('twice at once has one new key: the other rotation is 409', async () => {
      for (let round = 0; round < 5; round++) {
        const { id, client } = await addApiKey(server, owner, { role: 'Admin' })
        const answers = await Promise.all([rotate(id), rotate(id), client.post(`/api-key/${id}/rotate`, {})])
        const won = answers.filter(({ status }) => status === 200)
        expect(won).toHaveLength(1)
        for (const { status } of answers) expect([200, 409, 401]).toContain(status)
        expect((await createClient(server, won[0]?.body.data.key).get('/user')).status).toBe(200)
        expect((await client.get('/user')).status).toBe(401)
      }
    })

    it('is not carried on by the former one, nor is a key that is to end', async () => {
      const first = await addApiKey(server, owner, { role: 'Admin' })
      const roleId = (await first.client.get('/user')).body.data.role._id
      const spare = await addApiKey(server, owner, { role: 'Planner' })
      const second = createClient(server, (await rotate(first.id, { overlapSeconds: 3_600 })).body.data.key)
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const ending = await addApiKey(server, owner, { role: 'Admin', expiresAt })
      for (const { client, id } of [first, ending]) {
        expect((await client.post('/api-key', { name: 'Longer', roleId })).status).toBe(403)
        expect((await client.patch(`/api-key/${id}`, { expiresAt: null })).status).toBe(403)
        expect((await client.post(`/api-key/${spare.id}/rotate`, {})).status).toBe(403)
        const soon = new Date(Date.now() + 60_000).toISOString()
        expect((await client.post('/api-key', { name: 'Shorter', roleId, expiresAt: soon })).status).toBe(201)
      }
      expect((await first.client.post(`/api-key/${first.id}/rotate`, {})).status).toBe(403)
      expect((await ending.client.post(`/api-key/${ending.id}/rotate`, {})).status).toBe(200)
      expect((await second.post('/api-key', { name: 'Longer', roleId })).status).toBe(201)
    })

    it('creates nothing that outlives it with requests that were under way', async () => {
      for (let round = 0; round < 5; round++) {
        const { id, client } = await addApiKey(server, owner, { role: 'Admin' })
        const { body } = await client.get('/user')
        const leak = { name: `Leak ${round}`, roleId: body.data.role._id }
        const count = async () => (await owner.get('/api-keys?limit=1')).body.pagination.total
        const making = Array.from({ length: 8 }, () => client.post('/api-key', leak))
        expect((await rotate(id)).status).toBe(200)
        // Those that were carried out came before the rotation.
        const atRotation = await count()
        for (const { status } of await Promise.all(making)) expect([201, 401]).toContain(status)
        expect(await count()).toBe(atRotation)
        expect((await client.post('/api-key', leak)).status).toBe(401)
      }
    })
  })

  describe('over MQTT', () => {
    it('publishes for the devices of its organization, and is told what was rejected', async () => {
      const given = await addApiKey(server, owner, { role: 'Admin' })
      const [one, other] = [await createDevice(owner, 'One'), await createDevice(owner, 'Other')]
      const client = await connectKey(given)
      const told: { reason: string; deviceId: string }[] = []
      client.on('message', (_topic, payload) => told.push(JSON.parse(String(payload))))
      await client.subscribeAsync(`api-keys/${given.id}/rejections`, { qos: 1 })
      await publish(client, one, point())
      await publish(client, other, [point(), { lat: 100, lng: 0, timestamp: point().timestamp }], 2)
      await publish(client, { ...one, id: crypto.randomUUID() }, point())
      expect(await readHistory(owner, one.id)).toHaveLength(1)
      expect(await readHistory(owner, other.id)).toHaveLength(1)
      await until('it is told', () => told.length === 2)
      expect(told).toMatchObject([
        { reason: 'bad-coordinates', deviceId: other.id, index: 1 },
        { reason: 'unknown-device' },
      ])
      const shown = (await owner.get(`/api-key/${given.id}`)).body.data
      expect(shown.lastUsedFrom).toMatch(/127\.0\.0\.1/)
      await client.endAsync()
    })

    it('stores nothing for a device of another organization, and answers as for none', async () => {
      const given = await addApiKey(server, owner, { role: 'Admin' })
      const elsewhere = await addPerson(server, owner, { role: 'Admin' })
      const made = await elsewhere.client.post('/organization', {
        ...{ organizationName: 'Elsewhere', hubName: 'Hub', hubLat: 1, hubLng: 2 },
      })
      const there = createClient(server, made.body.token)
      const device = await createDevice(there)
      const client = await connectKey(given)
      await publish(client, device, point())
      expect(await readHistory(there, device.id)).toEqual([])
      await client.endAsync()
    })

    it.each([
      ['its own topic', (key: TestKey) => `users/${key.id}/location`],
      ['another topic of a device', () => `devices/${crypto.randomUUID()}/rejections`],
      ['a topic of an app', () => 'owntracks/any/phone'],
    ])('is disconnected for %s', async (_what, topicOf) => {
      const given = await addApiKey(server, owner, { role: 'Admin' })
      const client = await connectKey(given)
      const closed = closing(client)
      client.publish(topicOf(given), JSON.stringify(point()), { qos: 1 }, () => {})
      await closed
    })

    it('may subscribe to its own topics alone', async () => {
      const given = await addApiKey(server, owner, { role: 'Admin' })
      const device = await createDevice(owner)
      const client = await connectKey(given)
      const topics = [`devices/${device.id}/rejections`, '#', 'api-keys/#', `users/${given.id}/rejections`]
      for (const topic of topics) await expect(client.subscribeAsync(topic)).rejects.toThrow()
      await client.endAsync()
    })

    it('needs create/location for all, and sees the devices of its hubs alone', async () => {
      await expect(connectKey(await addApiKey(server, owner, { role: 'Field user' }))).rejects.toThrow()
      const hub = (await owner.post('/hub', { name: 'Far', lat: 1, lng: 2 })).body.data
      const device = await createDevice(owner, 'Far')
      await owner.patch(`/device/${device.id}`, { hubId: hub._id })
      const given = await addApiKey(server, owner, { role: 'Planner' })
      const client = await connectKey(given)
      await publish(client, device, point())
      expect(await readHistory(owner, device.id)).toEqual([])
      await owner.patch(`/api-key/${given.id}`, { hubId: [hub._id] })
      await until('its points arrive', async () => {
        await publish(client, device, point())
        return (await readHistory(owner, device.id)).length > 0
      })
      await client.endAsync()
    })

    it('leaves a will for a device, and none for others', async () => {
      const given = await addApiKey(server, owner, { role: 'Admin' })
      const device = await createDevice(owner)
      const will = (topic: string) => ({
        will: { topic, payload: Buffer.from(JSON.stringify(point())), qos: 1 as const },
      })
      await expect(connectKey(given, will(`users/${given.id}/location`))).rejects.toThrow()
      const client = await connectKey(given, will(`devices/${device.id}/location`))
      client.stream.destroy()
      await until('the will arrives', async () => (await readHistory(owner, device.id)).length === 1)
    })
  })

  // The test reads the database beside the server, which PGlite does not allow.
  it.runIf(usualKind() === 'postgres')(
    'is nowhere in the database, the logs or an error as it is',
    async () => {
      const header = { 'idempotency-key': `a key ${crypto.randomUUID()}` }
      const { body } = await owner.get('/user')
      const made = await owner.post('/api-key', { name: 'Secret', roleId: body.data.role._id }, header)
      const { key, _id } = made.body.data
      expect(
        (await owner.post('/api-key', { name: 'Secret', roleId: body.data.role._id }, header)).body,
      ).toEqual(made.body)
      const client = createClient(server, key)
      await client.post('/hub', { name: 'Hub', lat: 1, lng: 2 }, header)
      const wrong = await client.get(`/hub/${crypto.randomUUID()}?key=${key}`)
      const rotated = (await rotate(_id, { overlapSeconds: 60 })).body.data.key
      await connectKey({ key }).then(connection => connection.endAsync())
      const secrets = [key, rotated].map(one => one.slice(12))
      const db = await openTestDatabase(database)
      const tables = await db.system.query<{ name: string }>(
        `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
      )
      const found: string[] = []
      for (const { name } of tables)
        for (const secret of secrets) {
          const hex = Buffer.from(secret).toString('hex')
          const rows = await db.system.query(
            `SELECT 1 FROM ${name} t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0 LIMIT 1`,
            [secret, hex],
          )
          if (rows.length > 0) found.push(name)
        }
      await db.close()
      expect(found).toEqual([])
      for (const secret of secrets) {
        expect(server.output.stderr + server.output.stdout).not.toContain(secret)
        expect(wrong.body.message).not.toContain(secret)
      }
    },
  )
})
