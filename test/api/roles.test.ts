import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addOrganization, addPerson, roleId } from '../support/people.ts'
import { type Server, startServer } from '../support/server.ts'

const CRUD = 'hub role user team vehicle data-type data flow task task-schedule device import-config webhook'
  .split(' ')
  .concat('organization')
  .flatMap(resource => ['view', 'create', 'update', 'delete'].map(action => `${action}/${resource}`))
const CATALOGUE = [
  ...CRUD,
  ...['view/location', 'create/location'],
  ...['view/tracking-link', 'create/tracking-link', 'delete/tracking-link'],
  ...['import/data', 'export/data', 'export/task', 'view/audit'],
]

describe('Roles', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await startServer(database)
    owner = (await addOrganization(server, await signIn(server))).client
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  const named = async (client: Client, name: string) =>
    (await client.get('/roles')).body.data.find((role: { name: string }) => role.name === name)
  const names = (role: { permissionDetails: { permissionName: string }[] }) =>
    role.permissionDetails.map(detail => detail.permissionName)

  it('are made of the catalogue of the contract', async () => {
    const { body } = await owner.get('/permissions')
    expect(body.data.map((one: { permissionName: string }) => one.permissionName).sort()).toEqual(
      [...CATALOGUE].sort(),
    )
    for (const { description } of body.data) expect(description).toMatch(/^[A-Z].+/)
  })

  it('Owner has everything, Admin everything but delete/organization', async () => {
    expect(names(await named(owner, 'Owner')).sort()).toEqual([...CATALOGUE].sort())
    expect(names(await named(owner, 'Admin')).sort()).toEqual(
      CATALOGUE.filter(name => name !== 'delete/organization').sort(),
    )
  })

  it('Planner has nothing to do with users, roles, webhooks and audit', async () => {
    const planner = names(await named(owner, 'Planner'))
    for (const name of planner) {
      expect(name).not.toMatch(/\/(user|role|webhook|audit)$/)
    }
    expect(planner).toEqual(expect.arrayContaining(['create/task', 'update/vehicle', 'view/location']))
  })

  it('Field user has its own tasks and location, and sees data', async () => {
    const { permissionDetails } = await named(owner, 'Field user')
    for (const permissionName of ['view/task', 'update/task', 'view/location', 'create/location']) {
      expect(permissionDetails).toContainEqual({ permissionName, scope: 'own' })
    }
    expect(permissionDetails).toContainEqual({ permissionName: 'view/data', scope: 'all' })
  })

  it('are made, replaced and removed', async () => {
    const made = await owner.post('/role', {
      name: 'Dispatcher',
      permissionDetails: [
        { permissionName: 'view/task' },
        { permissionName: 'view/location', scope: 'team' },
      ],
    })
    expect(made.status).toBe(201)
    expect(made.body.data).toMatchObject({
      name: 'Dispatcher',
      isDefault: false,
      permissionDetails: [
        { permissionName: 'view/task', scope: 'all' },
        { permissionName: 'view/location', scope: 'team' },
      ],
    })
    const path = `/role/${made.body.data._id}`
    const replaced = await owner.put(path, { name: 'Chief dispatcher', permissionDetails: [] })
    expect(replaced.body.data).toMatchObject({ name: 'Chief dispatcher', permissionDetails: [] })
    expect((await owner.delete(path)).body.data).toEqual({ _id: made.body.data._id })
    expect((await owner.get(path)).status).toBe(404)
  })

  it('an unknown permission is 400 at its path', async () => {
    const permissionDetails = [{ permissionName: 'view/task' }, { permissionName: 'fly/rocket' }]
    const answer = await owner.post('/role', { name: 'Pilot', permissionDetails })
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'permissionDetails.1.permissionName'])
  })

  it('default ones stay as they are: 409', async () => {
    for (const name of ['Owner', 'Admin', 'Planner', 'Field user']) {
      const path = `/role/${await roleId(owner, name)}`
      expect((await owner.put(path, { name: 'Mine', permissionDetails: [] })).status).toBe(409)
      expect((await owner.delete(path)).status).toBe(409)
      expect((await owner.post('/role', { name: name.toLowerCase(), permissionDetails: [] })).status).toBe(
        409,
      )
    }
  })

  it('a taken name is 409, and so is removing one that somebody holds', async () => {
    const made = await owner.post('/role', { name: 'Held', permissionDetails: [] })
    expect((await owner.post('/role', { name: 'Held', permissionDetails: [] })).status).toBe(409)
    await addPerson(server, owner, { roleId: made.body.data._id })
    expect((await owner.delete(`/role/${made.body.data._id}`)).status).toBe(409)
  })

  it('hold at once for everybody who has them', async () => {
    const made = await owner.post('/role', { name: 'Watcher', permissionDetails: [] })
    const path = `/role/${made.body.data._id}`
    const { client } = await addPerson(server, owner, { roleId: made.body.data._id })
    expect((await client.get('/hubs')).status).toBe(403)
    await owner.put(path, { name: 'Watcher', permissionDetails: [{ permissionName: 'view/hub' }] })
    expect((await client.get('/hubs')).status).toBe(200)
    await owner.put(path, { name: 'Watcher', permissionDetails: [] })
    expect((await client.get('/hubs')).status).toBe(403)
  })

  it('nobody grants a permission that they lack, or one that reaches further: 403', async () => {
    const details = (...given: [string, string?][]) =>
      given.map(([permissionName, scope]) => ({ permissionName, scope }))
    const own = details(['view/role'], ['create/role'], ['update/role'], ['view/task', 'team'])
    const made = await owner.post('/role', { name: 'Role maker', permissionDetails: own })
    const { client } = await addPerson(server, owner, { roleId: made.body.data._id })
    const make = (name: string, permissionDetails: object) =>
      client.post('/role', { name, permissionDetails })
    expect((await make('More', details(['view/user']))).status).toBe(403)
    expect((await make('Further', details(['view/task', 'all']))).status).toBe(403)
    const less = await make('Less', details(['view/task', 'own']))
    expect(less.status).toBe(201)
    const path = `/role/${less.body.data._id}`
    const wider = { name: 'Less', permissionDetails: details(['view/task', 'all']) }
    expect((await client.put(path, wider)).status).toBe(403)
    // What somebody else granted may stay, and may be taken away.
    await owner.put(path, { name: 'Less', permissionDetails: details(['view/user']) })
    const kept = { name: 'Renamed', permissionDetails: [{ permissionName: 'view/user', scope: 'all' }] }
    expect((await client.put(path, kept)).status).toBe(200)
  })
})
