import { describe, expect, it } from 'vitest'
import { addApiKey } from '../support/api-keys.ts'
import { createClient, createDevice } from '../support/client.ts'
import { listOperations, readDocument } from '../support/openapi.ts'
import { addHub, addPerson, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

describe('An API key', () => {
  const { server, owner, organization } = useOrganization()
  const audit = async (query: string) => (await owner.get(`/audit-log?${query}`)).body.data

  it('is created, shown once, read, changed and deleted', async () => {
    const planner = await roleId(owner, 'Planner')
    const hubId = [await addHub(owner)]
    const expiresAt = inAnHour()
    const made = await owner.post('/api-key', { name: 'ERP', roleId: planner, hubId, expiresAt })
    expect(made.status).toBe(201)
    const { key, ...shown } = made.body.data
    expect(key).toMatch(/^flk_[\w-]{43}$/)
    expect(shown).toMatchObject({
      ...{ name: 'ERP', role: { _id: planner, name: 'Planner' }, hubId, prefix: key.slice(0, 12), expiresAt },
      ...{ lastUsedAt: null, lastUsedFrom: null, formerExpiresAt: null },
      createdBy: { _id: organization.userId },
    })
    const path = `/api-key/${shown._id}`
    expect((await owner.get(path)).body.data).toEqual(shown)
    expect((await owner.get('/api-keys?search=erp')).body.data).toEqual([shown])
    const changed = await owner.patch(path, { name: 'Shop', hubId: [], expiresAt: null })
    expect(changed.body.data).toMatchObject({ name: 'Shop', hubId: [], expiresAt: null })
    expect((await owner.delete(path)).body.data).toEqual({ _id: shown._id })
    expect((await owner.get(path)).status).toBe(404)
    expect((await createClient(server, key).get('/user')).status).toBe(401)
  })

  it('is found by the one who created it', async () => {
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const mine = await addApiKey(server, admin.client)
    await addApiKey(server, owner)
    const idsOf = async (createdBy: string) =>
      (await owner.get(`/api-keys?createdBy=${createdBy}`)).body.data.map(({ _id }: { _id: string }) => _id)
    expect(await idsOf(admin.userId)).toEqual([mine.id])
    expect(await idsOf(`${crypto.randomUUID()},${admin.userId}`)).toEqual([mine.id])
    expect(await idsOf('nobody')).toEqual([])
  })

  it.each([
    ['name', { name: '' }],
    ['roleId', { roleId: crypto.randomUUID() }],
    ['roleId', { roleId: undefined }],
    ['hubId.0', { hubId: [crypto.randomUUID()] }],
    ['expiresAt', { expiresAt: '2020-01-01T00:00:00Z' }],
    ['scope', { scope: 'all' }],
  ])('with a wrong %s is 400: %o', async (path, wrong) => {
    const body = { name: 'Program', roleId: await roleId(owner, 'Planner'), ...wrong }
    const answer = await owner.post('/api-key', body)
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path])
  })

  it('opens what its role opens, and tells what it is', async () => {
    const { client, id } = await addApiKey(server, owner, { name: 'Reader', role: 'Field user' })
    const self = (await client.get('/user')).body.data
    expect(self).toMatchObject({
      _id: id,
      kind: 'api-key',
      name: 'Reader',
      email: null,
      role: { name: 'Field user' },
    })
    expect(self.permissionDetails.length).toBeGreaterThan(3)
    expect((await owner.get('/user')).body.data).toMatchObject({
      kind: 'user',
      email: expect.stringMatching('@'),
    })
    expect((await client.get('/hubs')).status).toBe(200)
    expect((await client.post('/hub', { name: 'Hub', lat: 1, lng: 2 })).status).toBe(403)
  })

  it('opens every operation with a permission, and none about the session or account of a person', async () => {
    const { client } = await addApiKey(server, owner, { role: 'Owner' })
    const operations = listOperations(await readDocument(server)).filter(({ path }) =>
      path.startsWith('/api/v3/'),
    )
    const closed = operations.filter(({ spec }) => spec['x-api-key'] === 'refused')
    expect(closed.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['patch /api/v3/user', 'post /api/v3/auth/logout', 'post /api/v3/organization']),
    )
    for (const { method, path } of closed) {
      const filled = path.replace('/api/v3', '').replace(/\{\w+\}/, crypto.randomUUID())
      const call = client[method as 'get' | 'post' | 'patch' | 'delete']
      const answer = await call(filled, method === 'get' ? undefined : {})
      expect([path, answer.status]).toEqual([path, 403])
    }
    // A GET with a permission changes nothing, so all of them are tried. One is for the first organization of the server alone.
    const reads = operations.filter(
      ({ method, path, spec }) =>
        method === 'get' &&
        !path.includes('{') &&
        path !== '/api/v3/health-history' &&
        spec['x-permission']?.includes('/') &&
        !spec.responses['101'],
    )
    expect(reads.length).toBeGreaterThan(20)
    for (const { path } of reads) {
      const { status } = await client.get(path.replace('/api/v3', ''))
      expect([path, [401, 403].includes(status)]).toEqual([path, false])
    }
    expect((await client.get('/auth/sessions')).status).toBe(403)
  })

  describe('never does more than the one who', () => {
    it('creates, changes, rotates or deletes it: 403', async () => {
      const keys = ['view', 'create', 'update', 'delete'].map(deed => ({ permissionName: `${deed}/api-key` }))
      const manages = await owner.post('/role', {
        name: 'Manages keys',
        permissionDetails: [...keys, { permissionName: 'view/hub' }],
      })
      const roleOfManager = manages.body.data._id
      const manager = await addPerson(server, owner, { roleId: roleOfManager })
      const byKey = await addApiKey(server, owner, { roleId: roleOfManager })
      const strong = await addApiKey(server, owner, { role: 'Planner' })
      const planner = await roleId(owner, 'Planner')
      for (const client of [manager.client, byKey.client]) {
        const weak = await addApiKey(server, client, { roleId: roleOfManager })
        for (const role of ['Owner', 'Admin', 'Planner']) {
          const body = { name: 'More', roleId: await roleId(owner, role) }
          expect((await client.post('/api-key', body)).status).toBe(403)
        }
        expect((await client.patch(`/api-key/${weak.id}`, { roleId: planner })).status).toBe(403)
        expect((await client.patch(`/api-key/${strong.id}`, { name: 'Mine' })).status).toBe(403)
        expect((await client.post(`/api-key/${strong.id}/rotate`, {})).status).toBe(403)
        expect((await client.delete(`/api-key/${strong.id}`)).status).toBe(403)
        expect((await client.post(`/api-key/${weak.id}/rotate`, {})).status).toBe(200)
        expect((await client.delete(`/api-key/${weak.id}`)).status).toBe(200)
      }
      expect((await strong.client.get('/hubs')).status).toBe(200)
      const admin = await addPerson(server, owner, { role: 'Admin' })
      const ofOwner = await addApiKey(server, owner, { role: 'Owner' })
      expect((await admin.client.post(`/api-key/${ofOwner.id}/rotate`, {})).status).toBe(403)
    })

    it('works in fewer hubs', async () => {
      const [mine, other] = [await addHub(owner, 'Mine'), await addHub(owner, 'Other')]
      const deeds = ['view', 'create', 'update', 'delete'].map(deed => ({
        permissionName: `${deed}/api-key`,
      }))
      const permissionDetails = [...deeds, { permissionName: 'view/hub' }]
      const role = await owner.post('/role', { name: 'Keys of a hub', permissionDetails })
      const id = role.body.data._id
      const { client } = await addPerson(server, owner, { roleId: id, hubId: [mine] })
      const beyond = await client.post('/api-key', { name: 'Beyond', roleId: id, hubId: [mine, other] })
      expect([beyond.status, beyond.body.errors[0].path]).toEqual([400, 'hubId.1'])
      const own = await addApiKey(server, client, { roleId: id, hubId: [mine] })
      const both = await addApiKey(server, owner, { roleId: id, hubId: [mine, other] })
      const elsewhere = await addApiKey(server, owner, { roleId: id, hubId: [other] })
      expect((await own.client.get(`/hub/${other}`)).status).toBe(404)
      expect((await client.post(`/api-key/${own.id}/rotate`, {})).status).toBe(200)
      expect((await client.post(`/api-key/${both.id}/rotate`, {})).status).toBe(403)
      expect((await client.post(`/api-key/${elsewhere.id}/rotate`, {})).status).toBe(404)
      const seen = (await client.get('/api-keys?limit=500')).body.data.map((key: { _id: string }) => key._id)
      expect(seen).toEqual(expect.arrayContaining([own.id, both.id]))
      expect(seen).not.toContain(elsewhere.id)
    })
  })

  it('stands by name in the audit log and in the history of tasks, also when it is deleted', async () => {
    const { client, id } = await addApiKey(server, owner, { name: 'Dispatcher' })
    const hub = await client.post('/hub', { name: 'By a key', lat: 1, lng: 2 })
    const task = (await client.post('/task', { name: 'Deliver' })).body.data
    const by = { by: null, apiKey: { _id: id, name: 'Dispatcher' } }
    expect(task.history).toMatchObject([by])
    await owner.delete(`/api-key/${id}`)
    const [entry] = await audit(`resourceId=${hub.body.data._id}`)
    expect(entry).toMatchObject({ action: 'create', resource: 'hub', userId: null, apiKey: by.apiKey })
    expect((await audit(`userId=${id}`)).length).toBeGreaterThan(1)
    expect((await owner.get(`/task/${task._id}`)).body.data.history).toMatchObject([by])
    const [deletion] = await audit(`resourceId=${id}`)
    expect(deletion).toMatchObject({
      action: 'delete',
      resource: 'api-key',
      userId: organization.userId,
      apiKey: null,
    })
  })

  it('is no user: not listed, assigned, put into a team, reset or counted as an owner', async () => {
    const { id } = await addApiKey(server, owner, { role: 'Owner', name: 'No user' })
    const users = (await owner.get('/users?limit=500')).body.data
    expect(users.map((user: { _id: string }) => user._id)).not.toContain(id)
    expect((await owner.get(`/user/${id}`)).status).toBe(404)
    expect((await owner.delete(`/user/${id}`)).status).toBe(404)
    expect((await owner.post(`/user/${id}/reset-password`, { newPassword: 'a new password' })).status).toBe(
      404,
    )
    expect((await owner.post('/task', { name: 'Task', assigneeId: id })).body.errors[0].path).toBe(
      'assigneeId',
    )
    expect((await owner.post('/team', { name: 'Team', memberIds: [id] })).body.errors[0].path).toBe(
      'memberIds.0',
    )
    expect((await owner.post('/vehicle', { name: 'Van', driverId: id })).body.errors[0].path).toBe('driverId')
    const planner = await roleId(owner, 'Planner')
    expect((await owner.patch(`/user/${organization.userId}`, { roleId: planner })).status).toBe(409)
    const link = { subjectId: id, subjectType: 'user', expiresAt: inAnHour() }
    expect((await owner.post('/tracking-link', link)).status).toBe(400)
  })

  it('survives the one who created it', async () => {
    const maker = await addPerson(server, owner, { role: 'Admin' })
    const { client, id } = await addApiKey(server, maker.client)
    expect((await owner.delete(`/user/${maker.userId}`)).status).toBe(200)
    expect((await client.get('/hubs')).status).toBe(200)
    expect((await owner.get(`/api-key/${id}`)).body.data.createdBy).toBeNull()
  })

  it('keeps its role from being deleted: 409', async () => {
    const role = await owner.post('/role', { name: 'Held by a key', permissionDetails: [] })
    const { id } = await addApiKey(server, owner, { roleId: role.body.data._id })
    const path = `/role/${role.body.data._id}`
    const refused = await owner.delete(path)
    expect([refused.status, refused.body.code]).toEqual([409, 'in-use'])
    await owner.delete(`/api-key/${id}`)
    expect((await owner.delete(path)).status).toBe(200)
  })

  it('follows its role at once', async () => {
    const role = await owner.post('/role', {
      name: 'Follows',
      permissionDetails: [{ permissionName: 'view/hub' }],
    })
    const { client } = await addApiKey(server, owner, { roleId: role.body.data._id })
    expect((await client.get('/hubs')).status).toBe(200)
    await owner.put(`/role/${role.body.data._id}`, { name: 'Follows', permissionDetails: [] })
    expect((await client.get('/hubs')).status).toBe(403)
  })

  it('has access to the hub that it creates', async () => {
    const { client } = await addApiKey(server, owner)
    const hubId = await addHub(client, 'Of a key')
    expect((await client.get(`/hub/${hubId}`)).status).toBe(200)
    expect((await client.get('/user')).body.data.hubId).toEqual([hubId])
  })

  it('says when and from where it was last used', async () => {
    const { client, id } = await addApiKey(server, owner)
    expect((await owner.get(`/api-key/${id}`)).body.data).toMatchObject({
      lastUsedAt: null,
      lastUsedFrom: null,
    })
    await client.get('/hubs')
    await until(
      'its use is shown',
      async () => (await owner.get(`/api-key/${id}`)).body.data.lastUsedAt !== null,
    )
    expect((await owner.get(`/api-key/${id}`)).body.data.lastUsedFrom).toBe('127.0.0.1')
  })

  it('has Idempotency-Keys of its own', async () => {
    const { client } = await addApiKey(server, owner)
    const other = await addApiKey(server, owner)
    const header = { 'idempotency-key': 'the same for everybody' }
    const ids = new Set<string>()
    for (const caller of [owner, client, other.client]) {
      const hub = { name: 'Once', lat: 1, lng: 2 }
      const first = await caller.post('/hub', hub, header)
      const again = await caller.post('/hub', hub, header)
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(again.body.data._id).toBe(first.body.data._id)
      ids.add(first.body.data._id)
    }
    expect(ids.size).toBe(3)
  })

  it('sends the points of devices, and has none of its own', async () => {
    const { client, id } = await addApiKey(server, owner, { role: 'Admin' })
    const device = await createDevice(owner)
    const point = { lat: 1, lng: 2, timestamp: new Date(Date.now() - 60_000).toISOString() }
    const sent = await client.post('/location-history/bulk', {
      points: [{ ...point, deviceId: device.id }, point],
    })
    expect(sent.body.data).toMatchObject({ accepted: 1, rejected: [{ index: 1, reason: 'unknown-device' }] })
    const own = await client.post('/location-history/bulk', { points: [{ ...point, deviceId: id }] })
    expect(own.status).toBe(400)
  })

  describe('is 401', () => {
    it.each([
      ['of another one’s form', (key: string) => `fld_${key.slice(4)}`],
      ['too long', (key: string) => `${key}A`],
      ['very long', (key: string) => key + 'A'.repeat(8_000)],
      ['too short', (key: string) => key.slice(0, -1)],
      ['in upper case', (key: string) => key.toUpperCase()],
      ['unknown', () => `flk_${'A'.repeat(43)}`],
      ['the prefix alone', (key: string) => key.slice(0, 12)],
    ])('if it is %s', async (_what, change) => {
      const { key } = await addApiKey(server, owner)
      const answer = await createClient(server, change(key)).get('/hubs')
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(JSON.stringify(answer.body)).not.toContain(key.slice(4, 30))
    })

    it('anywhere but in the bearer token', async () => {
      const { key } = await addApiKey(server, owner)
      const nobody = createClient(server, '')
      const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
      for (const query of ['token', 'key', 'access_token', 'apiKey'])
        expect([400, 401]).toContain((await nobody.get(`/hubs?${query}=${key}`)).status)
      for (const header of [
        basic(`any:${key}`),
        basic(`${key}:`),
        { 'x-api-key': key },
        { cookie: `token=${key}` },
      ]) {
        const answer = await nobody.post(
          '/hub',
          { name: 'Hub', lat: 1, lng: 2 },
          header as Record<string, string>,
        )
        expect(answer.status).toBe(401)
      }
    })
  })
})
