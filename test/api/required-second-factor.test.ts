import { beforeAll, describe, expect, it } from 'vitest'
import { connectPacket, openRaw } from '../ingest/raw.ts'
import { addApiKey } from '../support/api-keys.ts'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { listOperations, type Operation, readDocument } from '../support/openapi.ts'
import { addOrganization, addPerson, PASSWORD, type Person } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { addSecondFactor } from '../support/second-factor.ts'
import { useOrganization } from '../support/shared-server.ts'
import { untilTold } from '../support/wait.ts'

const DEMANDED = 'second-factor-required'
/** Setting it up, and going elsewhere. */
const OPEN = [
  'get /api/v3/auth/my-organizations',
  'post /api/v3/auth/logout',
  'post /api/v3/auth/open-organization',
  'post /api/v3/auth/switch-organization',
  'post /api/v3/auth/totp',
  'post /api/v3/auth/totp/confirm',
]

describe('An organization that demands a second factor', () => {
  const { server, owner: founder } = useOrganization()
  let owner: Client
  let organizationId: string
  let operations: Operation[]
  const demand = (requireSecondFactor: boolean, client = owner) =>
    client.patch('/organization', { settings: { requireSecondFactor } })

  beforeAll(async () => {
    const { client } = await addPerson(server, founder, { role: 'Admin' })
    const organization = await addOrganization(server, client)
    owner = organization.client
    organizationId = organization.organizationId
    await addSecondFactor(owner)
    operations = listOperations(await readDocument(server)).filter(({ path }) => path.startsWith('/api/v3/'))
  })

  it('names who would be shut out, to whoever may demand it', async () => {
    const without = await addPerson(server, owner)
    const secured = await addPerson(server, owner)
    await addSecondFactor(secured.client)
    const { total, users } = (await owner.get('/organization/second-factor')).body.data
    expect(total).toBe(users.length)
    const ids = users.map(({ _id }: { _id: string }) => _id)
    expect(ids).toContain(without.userId)
    expect(ids).not.toContain(secured.userId)
    expect(users.find(({ _id }: { _id: string }) => _id === without.userId).email).toBe(without.email)
    expect((await without.client.get('/organization/second-factor')).status).toBe(403)
    // Whoever changes settings and sees no users learns how many, and not who.
    const permissionDetails = [{ permissionName: 'update/organization' }]
    const settings = await owner.post('/role', { name: 'Settings', permissionDetails })
    const { client } = await addPerson(server, owner, { roleId: settings.body.data._id })
    const seen = (await client.get('/organization/second-factor')).body.data
    expect(seen).toEqual({ total: total + 1, users: [] })
    expect((await demand(true, without.client)).body.code).toBe('forbidden')
  })

  it('closes everything but setting one up to those without, and opens it again once they have one', async () => {
    const [person, secured] = [await addPerson(server, owner), await addPerson(server, owner)]
    await addSecondFactor(secured.client)
    const key = await addApiKey(server, owner, { role: 'Planner' })
    const device = await createDevice(owner)
    expect((await demand(true)).body.data.settings.requireSecondFactor).toBe(true)

    const open: string[] = []
    for (const { name, method, path, spec } of operations) {
      if (spec['x-permission'] === 'public' || spec['x-permission'] === 'device') continue
      if (OPEN.includes(name) || /connection\/\{id\}\/messages/.test(path)) continue
      const filled = path.replace('/api/v3', '').replaceAll(/\{\w+\}/g, crypto.randomUUID())
      const call = person.client[method as 'get' | 'post' | 'put' | 'patch' | 'delete']
      const { status, body } = await call(filled, method === 'get' ? undefined : {})
      if (status !== 403 || body.code !== DEMANDED) open.push(`${name}: ${status} ${body.code}`)
    }
    expect(open).toEqual([])
    expect((await person.client.get('/user')).body.message).toMatch('demands a second factor')

    for (const client of [secured.client, key.client, owner])
      expect((await client.get('/hubs')).status).toBe(200)
    const points = { points: [{ lat: 1, lng: 1, timestamp: Date.now() - 1_000 }] }
    expect((await createClient(server, device.key).post('/location-history/bulk', points)).status).toBe(200)
    expect((await person.client.post('/location-history/bulk', points)).body.code).toBe(DEMANDED)

    await addSecondFactor(person.client)
    expect((await person.client.get('/hubs')).status).toBe(200)
    await demand(false)
  })

  it('takes in who switches or signs in, to set one up, and lets them go elsewhere', async () => {
    await demand(false)
    const person = await addPerson(server, owner, { role: 'Admin' })
    const other = await addOrganization(server, person.client)
    await demand(true)
    const into = await other.client.post('/auth/switch-organization', { organizationId })
    expect(into.status).toBe(200)
    const inside = createClient(server, into.body.token)
    expect((await inside.get('/hubs')).body.code).toBe(DEMANDED)
    const mine = (await inside.get('/auth/my-organizations')).body.data
    expect(mine).toHaveLength(2)
    const out = await inside.post('/auth/switch-organization', { organizationId: other.organizationId })
    expect((await createClient(server, out.body.token).get('/hubs')).status).toBe(200)
    const again = await signIn(server, { email: person.email, password: PASSWORD, organizationId })
    expect((await again.get('/hubs')).body.code).toBe(DEMANDED)
    expect((await again.post('/auth/logout')).status).toBe(200)
    expect((await again.get('/hubs')).status).toBe(401)
  })

  describe('closes at once', () => {
    const connect = (person: Person) => {
      const client = openRaw(server.mqttPort)
      client.send(connectPacket({ clientId: '', username: 'token', password: person.client.token }))
      return client
    }

    it('live sockets and MQTT connections of members without one, and opens none', async () => {
      await demand(false)
      const person = await addPerson(server, owner)
      const key = await addApiKey(server, owner, { role: 'Planner' })
      const screen = await openScreen(server, person.client.token)
      const ofKey = await openScreen(server, key.key)
      const connection = connect(person)
      expect(await connection.answers(1)).toEqual(['connack 0', 'open'])
      await untilTold(async () => {
        await demand(true)
        expect((await screen.closed).code).toBe(4403)
        await connection.closed
      })
      await expect(openScreen(server, person.client.token)).rejects.toThrow('403')
      expect(await connect(person).answers(1)).toEqual(['connack 5', 'closed'])
      ofKey.send({ type: 'subscribe', filter: {} })
      expect((await key.client.get('/hubs')).status).toBe(200)
      ofKey.cut()
    })

    it('those of a member who removes it', async () => {
      await demand(true)
      const person = await addPerson(server, owner)
      const { recoveryCodes } = await addSecondFactor(person.client)
      const screen = await openScreen(server, person.client.token)
      await untilTold(async () => {
        const body = { password: PASSWORD, code: recoveryCodes[0] }
        expect((await person.client.delete('/auth/totp', body)).status).toBe(200)
        expect((await screen.closed).code).toBe(4403)
      })
      await demand(false)
    })
  })
})
