import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addHub, addOrganization, addPerson, newEmail, roleId } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { openServer, type Server } from '../support/server.ts'

const HUB = { hubName: 'Depot', hubLat: 52.52, hubLng: 13.405 }

describe('Creating an organization', () => {
  let database: TestDatabase
  let server: Server
  /** Owner of only the first organization, which has no hub. */
  let owner: Client

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await openServer(database)
  })
  beforeEach(async () => {
    const first = await signIn(server)
    const person = await addPerson(server, await firstOrganization(first), { role: 'Admin' })
    owner = person.client
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  /** The client in the first organization, wherever other sessions are by now. */
  async function firstOrganization(client: Client): Promise<Client> {
    const { body } = await client.get('/auth/my-organizations')
    const { organizationId } = body.data.find(
      (entry: { organizationName: string }) => entry.organizationName === 'My organization',
    )
    const answer = await client.post('/auth/switch-organization', { organizationId })
    return createClient(server, answer.body.token)
  }

  it.each(['/organization', '/auth/create-organization'])(
    'specification 4.1 and 2.2: POST %s makes the caller its owner and answers the whole body',
    async path => {
      const answer = await owner.post(path, { organizationName: 'Northwind', ...HUB })
      expect(answer.status).toBe(201)
      const { token, data, ...rest } = answer.body
      expect(Object.keys(answer.body).sort()).toEqual(
        ['status', 'message', 'token', 'expires_in', 'data', 'isHubSet', 'organizations'].sort(),
      )
      expect(rest).toMatchObject({ status: true, expires_in: 28800, isHubSet: true })
      expect(Object.keys(data).sort()).toEqual(['_id', 'email', 'hubId', 'name', 'organizationId'])
      expect(data.hubId).toHaveLength(1)
      expect(rest.organizations).toHaveLength(2)
      const current = rest.organizations.filter((entry: { isCurrent: boolean }) => entry.isCurrent)
      expect(current).toEqual([
        {
          userId: data._id,
          organizationId: data.organizationId,
          organizationName: 'Northwind',
          organizationLogo: null,
          roleName: 'Owner',
          isCurrent: true,
        },
      ])
      const self = await createClient(server, token).get('/user')
      expect(self.body.data).toMatchObject({ _id: data._id, role: { name: 'Owner' }, hubId: data.hubId })
    },
  )

  it('specification 4.1: the session moves to it, and the former token is revoked', async () => {
    const made = await addOrganization(server, owner)
    expect((await owner.get('/user')).status).toBe(401)
    expect((await made.client.get('/organization')).body.data._id).toBe(made.organizationId)
  })

  it('specification 4.1: default flows and default roles are created from templates', async () => {
    const { client } = await addOrganization(server, owner)
    const flows = await client.get('/flows')
    expect(flows.body.data.map((flow: { name: string }) => flow.name)).toEqual([
      'Standard',
      'Delivery',
      'Service visit',
    ])
    expect(flows.body.data[0]).toMatchObject({ isDefault: true, dataTypeId: null })
    const roles = await client.get('/roles')
    expect(roles.body.data.map((role: { name: string }) => role.name)).toEqual([
      'Owner',
      'Admin',
      'Planner',
      'Field user',
    ])
  })

  it('specification 4.1 rule 2 and 7 case 2: without an owned organization with hubs the hub is required', async () => {
    const answer = await owner.post('/organization', { organizationName: 'Northwind' })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      status: false,
      message: 'Hub name is required when the user has no existing organization.',
      requestId: expect.any(String),
      code: 'invalid-input',
    })
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual([
      'hubName',
      'hubLat',
      'hubLng',
    ])
    // Nothing happened: the token is valid and there is no further organization.
    expect((await owner.get('/auth/my-organizations')).body.data).toHaveLength(1)
  })

  it('specification 4.1 rule 1: with one the hub fields are optional, and its hubs are taken', async () => {
    const source = await addOrganization(server, owner)
    await addHub(source.client, 'Second hub')
    const made = await source.client.post('/organization', { organizationName: 'Northwind' })
    expect(made.status).toBe(201)
    expect(made.body.isHubSet).toBe(true)
    const hubs = await createClient(server, made.body.token).get('/hubs')
    expect(hubs.body.data.map((hub: { name: string }) => hub.name)).toEqual(['First hub', 'Second hub'])
    expect(made.body.data.hubId.sort()).toEqual(hubs.body.data.map((hub: { _id: string }) => hub._id).sort())
    expect(made.body.data.hubId).not.toContain(source.hubIds[0])
  })

  it('some but not all of the hub fields are 400', async () => {
    const source = await addOrganization(server, owner)
    for (const hub of [{ hubName: 'Depot' }, { hubLat: 1, hubLng: 2 }, { hubName: 'Depot', hubLat: 1 }]) {
      const answer = await source.client.post('/organization', { organizationName: 'Northwind', ...hub })
      expect([hub, answer.status]).toEqual([hub, 400])
      expect(answer.body.errors.length).toBe(3 - Object.keys(hub).length)
    }
  })

  it('specification 7 case 3: without create/organization it is 403 with its sentence', async () => {
    for (const role of ['Planner', 'Field user']) {
      const { client } = await addPerson(server, await firstOrganization(await signIn(server)), { role })
      for (const path of ['/organization', '/auth/create-organization']) {
        const answer = await client.post(path, { organizationName: 'Northwind', ...HUB })
        expect(answer.status).toBe(403)
        expect(answer.body.message).toBe(
          'You have no permission to create an organization. Please contact an administrator.',
        )
      }
    }
  })

  const WRONG: [string, object][] = [
    ['organizationName', { organizationName: 'ab' }],
    ['organizationName', { organizationName: 'x'.repeat(101) }],
    ['organizationName', { organizationName: undefined }],
    ['organizationName', { organizationName: 7 }],
    ['hubName', { hubName: 'x'.repeat(101) }],
    ['hubLat', { hubLat: 90.001 }],
    ['hubLat', { hubLat: -91 }],
    ['hubLat', { hubLat: '52' }],
    ['hubLng', { hubLng: 180.1 }],
    ['hubLng', { hubLng: -181 }],
    ['copyDataFromFirstOrg', { copyDataFromFirstOrg: 'yes' }],
    ['colour', { colour: 'red' }],
  ]
  it('specification 2.1 and 8: a wrong value is 400 and named', async () => {
    for (const [path, wrong] of WRONG) {
      const answer = await owner.post('/organization', { organizationName: 'Northwind', ...HUB, ...wrong })
      expect([wrong, answer.status]).toEqual([wrong, 400])
      expect(answer.body.errors, path).toMatchObject([{ path, message: expect.any(String) }])
    }
  })

  it.each([
    { organizationName: 'abc', hubLat: 90, hubLng: 180, copyDataFromFirstOrg: false },
    { organizationName: 'x'.repeat(100), hubName: 'x'.repeat(100), hubLat: -90, hubLng: -180 },
  ])('specification 2.1 and 8: the limits themselves are allowed: %o', async right => {
    const answer = await owner.post('/organization', { ...HUB, ...right })
    expect(answer.status).toBe(201)
  })

  describe('with copyDataFromFirstOrg', () => {
    /** An owned organization with its own settings, two hubs, a custom role and flows. */
    async function prepareSource(): Promise<Client> {
      const { client } = await addOrganization(server, owner, { organizationName: 'The source' })
      await client.patch('/organization', {
        language: 'de',
        currency: 'CHF',
        timeZone: 'Europe/Zurich',
        settings: { maxAccuracy: 75 },
        logo: 'https://example.com/logo.png',
      })
      await addHub(client, 'Second hub')
      await client.post('/role', {
        name: 'Dispatcher',
        permissionDetails: [{ permissionName: 'view/task' }, { permissionName: 'view/data' }],
      })
      const flow = { name: 'Pickup', steps: [{ status: 'new', label: 'New' }] }
      await client.post('/flow', flow)
      const flows = (await client.get('/flows')).body.data
      // Sample tasks may be in any of its steps, so none may be removed.
      const steps = [...flows[0].steps, ...flow.steps]
      expect((await client.put(`/flow/${flows[0]._id}`, { name: 'Standard', steps })).status).toBe(200)
      return client
    }

    it('specification 2.1: settings, hubs, custom roles and all flows are copied, default roles are not, and of custom roles only system permissions', async () => {
      const source = await prepareSource()
      await allowDataTypes(source)
      const planner = await roleId(source, 'Planner')
      const made = await source.post('/organization', {
        organizationName: 'The copy',
        copyDataFromFirstOrg: true,
      })
      expect(made.status).toBe(201)
      const copy = createClient(server, made.body.token)
      expect((await copy.get('/organization')).body.data).toMatchObject({
        name: 'The copy',
        language: 'de',
        currency: 'CHF',
        timeZone: 'Europe/Zurich',
        settings: { maxAccuracy: 75 },
        logo: null,
      })
      const hubs = (await copy.get('/hubs')).body.data
      expect(hubs.map((hub: { name: string }) => hub.name)).toEqual(['First hub', 'Second hub'])
      expect(made.body.data.hubId).toHaveLength(2)
      const roles = (await copy.get('/roles')).body.data
      expect(roles).toHaveLength(5)
      expect(roles.find((role: { name: string }) => role.name === 'Dispatcher')).toMatchObject({
        isDefault: false,
        // Of those that name records, such as data types, none.
        permissionDetails: [{ permissionName: 'view/task' }, { permissionName: 'view/data' }],
      })
      expect(await roleId(copy, 'Planner')).not.toBe(planner)
      const flows = (await copy.get('/flows')).body.data
      expect(flows.map((flow: { name: string }) => flow.name).sort()).toEqual([
        'Delivery',
        'Pickup',
        'Service visit',
        'Standard',
      ])
      // Default flows are the source's own, with its changes.
      expect(flows.find((flow: { name: string }) => flow.name === 'Standard')).toMatchObject({
        isDefault: true,
        steps: expect.arrayContaining([expect.objectContaining({ status: 'new' })]),
      })
    })

    /** A permission of the custom role that is for a data type. */
    async function allowDataTypes(source: Client): Promise<void> {
      const { organizationId } = (await source.get('/user')).body.data
      const db = await openTestDatabase(database)
      await db.system.query(
        `UPDATE roles SET permission_details = permission_details || $2::jsonb
         WHERE organization_id = $1 AND name = 'Dispatcher'`,
        [
          organizationId,
          JSON.stringify([
            {
              permissionName: 'update/data',
              scope: 'all',
              dataTypes: [{ dataTypeId: 'x', restrictedFields: [] }],
            },
          ]),
        ],
      )
      await db.close()
    }

    it('a hub that is given is created besides the copied ones', async () => {
      const source = await prepareSource()
      const made = await source.post('/organization', {
        organizationName: 'The copy',
        copyDataFromFirstOrg: true,
        ...HUB,
      })
      const hubs = (await createClient(server, made.body.token).get('/hubs')).body.data
      expect(hubs.map((hub: { name: string }) => hub.name)).toEqual(['Depot', 'First hub', 'Second hub'])
    })

    it('without the flag a hub that is given is the only one', async () => {
      const source = await prepareSource()
      const made = await source.post('/organization', { organizationName: 'No copy', ...HUB })
      const client = createClient(server, made.body.token)
      expect((await client.get('/hubs')).body.data).toHaveLength(1)
      expect((await client.get('/roles')).body.data).toHaveLength(4)
      expect((await client.get('/organization')).body.data.currency).toBe('EUR')
    })

    it('specification 2.1: the source is the first owned one, also where the caller was invited as owner', async () => {
      const founder = await addOrganization(
        server,
        (await addPerson(server, await firstOrganization(await signIn(server)), { role: 'Admin' })).client,
        { organizationName: 'Founded by another' },
      )
      await founder.client.patch('/organization', { currency: 'SEK' })
      const guest = await addPerson(server, founder.client, { role: 'Owner', email: newEmail('guest') })
      const own = await addOrganization(server, guest.client, { organizationName: 'My second' })
      await own.client.patch('/organization', { currency: 'NOK' })
      const made = await own.client.post('/organization', {
        organizationName: 'The copy',
        copyDataFromFirstOrg: true,
      })
      const copy = createClient(server, made.body.token)
      expect((await copy.get('/organization')).body.data.currency).toBe('SEK')
    })
  })

  describe('Giving one up', () => {
    it('ends every access at once, for users and devices', async () => {
      const made = await addOrganization(server, owner, { organizationName: 'On its way out' })
      const member = await addPerson(server, made.client, { role: 'Admin' })
      const device = (await made.client.post('/device', { name: 'Tracker' })).body.data
      expect((await member.client.delete('/organization')).status).toBe(403)
      const screen = await openScreen(server, member.client.token)
      const answer = await made.client.delete('/organization')
      expect(answer.body).toMatchObject({ status: true, data: { _id: made.organizationId } })
      expect((await made.client.get('/user')).status).toBe(401)
      expect((await screen.closed).code).toBe(4401)
      expect((await member.client.get('/user')).status).toBe(401)
      const bulk = await createClient(server, device.key).post('/location-history/bulk', {
        points: [{ lat: 1, lng: 2, timestamp: Date.now() }],
      })
      expect(bulk.status).toBe(401)
      const { email, password } = member
      expect((await createClient(server, '').post('/auth/login', { email, password })).status).toBe(403)
    })
  })

  it('the organization is read and changed by those who may, and a wrong value is 400', async () => {
    const { client } = await addOrganization(server, owner)
    for (const [path, wrong] of [
      ['timeZone', { timeZone: 'Mars/Olympus' }],
      ['currency', { currency: 'euro' }],
      ['language', { language: 'not a language' }],
      ['logo', { logo: 'javascript:alert(1)' }],
      ['name', { name: 'ab' }],
      ['colour', { colour: 'red' }],
    ] as const) {
      const answer = await client.patch('/organization', wrong)
      expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, path])
    }
    const changed = await client.patch('/organization', { name: 'Renamed', timeZone: 'Europe/Vienna' })
    expect(changed.body.data).toMatchObject({ name: 'Renamed', timeZone: 'Europe/Vienna', language: 'en' })
    await client.patch('/organization', { settings: { maxAccuracy: 50, teamPositions: true } })
    const merged = await client.patch('/organization', { settings: { maxAccuracy: null } })
    expect(merged.body.data.settings).toEqual({ maxAccuracy: null, teamPositions: true })
    const planner = await addPerson(server, client, { role: 'Planner' })
    expect((await planner.client.get('/organization')).status).toBe(200)
    expect((await planner.client.patch('/organization', { name: 'Mine' })).status).toBe(403)
  })

  it('the first organization has neither hub nor sample data', async () => {
    const answer = await createClient(server, '').post('/auth/login', {
      email: 'owner@example.com',
      password: 'correct horse battery',
    })
    expect(answer.body).toMatchObject({ status: true, isHubSet: false, data: { hubId: [] } })
  })
})
