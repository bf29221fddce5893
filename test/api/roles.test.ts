import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { addPerson, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const CRUD =
  'hub role user team vehicle data-type data flow task task-schedule device import-config webhook geofence connection api-key'
    .split(' ')
    .concat('organization')
    .flatMap(resource => ['view', 'create', 'update', 'delete'].map(action => `${action}/${resource}`))
const CATALOGUE = [
  ...CRUD,
  ...['view/location', 'create/location', 'view/command', 'create/command'],
  ...['view/tracking-link', 'create/tracking-link', 'delete/tracking-link'],
  ...['import/data', 'export/data', 'export/task', 'view/audit'],
]

describe('Roles', () => {
  const { server, database, owner } = useOrganization()
  let typeId: string
  let spareId: string

  beforeAll(async () => {
    const fields = ['name', 'phone'].map(key => ({ key, label: key, type: 'text' }))
    typeId = (await owner.post('/data-type', { name: 'Contact', fields })).body.data._id
    spareId = (await owner.post('/role', { name: 'Spare' })).body.data._id
  })

  const named = async (client: Client, name: string) =>
    (await client.get('/roles')).body.data.find((role: { name: string }) => role.name === name)
  const names = (role: { permissionDetails: { permissionName: string }[] }) =>
    role.permissionDetails.map(detail => detail.permissionName)

  it('are created of the catalogue of the contract', async () => {
    const { body } = await owner.get('/permissions')
    expect(body.data.map((one: { permissionName: string }) => one.permissionName).sort()).toEqual(
      [...CATALOGUE].sort(),
    )
    for (const { description } of body.data) expect(description).toMatch(/^[A-Z].+/)
    const said = new Map(body.data.map((one: { permissionName: string }) => [one.permissionName, one]))
    expect(said.get('view/task')).toMatchObject({ scopes: ['all', 'team', 'own'], isPerDataType: false })
    expect(said.get('view/data')).toMatchObject({ scopes: ['all'], isPerDataType: true })
  })

  it('Owner has everything, Admin everything but delete/organization', async () => {
    expect(names(await named(owner, 'Owner')).sort()).toEqual([...CATALOGUE].sort())
    expect(names(await named(owner, 'Admin')).sort()).toEqual(
      CATALOGUE.filter(name => name !== 'delete/organization').sort(),
    )
  })

  it('Planner has nothing to do with users, roles, API keys, webhooks and audit', async () => {
    const planner = names(await named(owner, 'Planner'))
    for (const name of planner) {
      expect(name).not.toMatch(/\/(user|role|webhook|audit|api-key)$/)
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

  it('are created, replaced and deleted', async () => {
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

  describe('that say nothing clear are 400 at the place', () => {
    const dataTypes = (restrictedFields: string[], dataTypeId = typeId) => [{ dataTypeId, restrictedFields }]
    const cases: [string, () => object[], string][] = [
      ['no data type', () => [{ permissionName: 'view/data', dataTypes: [] }], '0.dataTypes'],
      [
        'no data type of a permission that asks for none',
        () => [{ permissionName: 'delete/organization', dataTypes: [] }],
        '0.dataTypes',
      ],
      [
        'a data type where none is asked for',
        () => [{ permissionName: 'update/user', dataTypes: dataTypes([]) }],
        '0.dataTypes',
      ],
      [
        'a data type that is not there',
        () => [{ permissionName: 'view/data', dataTypes: dataTypes([], owner.token.slice(0, 30)) }],
        '0.dataTypes.0.dataTypeId',
      ],
      [
        'a field that the type does not have',
        () => [{ permissionName: 'view/data', dataTypes: dataTypes(['name', 'Phone']) }],
        '0.dataTypes.0.restrictedFields.1',
      ],
      [
        'one data type twice',
        () => [{ permissionName: 'view/data', dataTypes: [...dataTypes([]), ...dataTypes(['name'])] }],
        '0.dataTypes.1.dataTypeId',
      ],
      [
        'a scope that the resource does not know',
        () => [{ permissionName: 'view/data', scope: 'own' }],
        '0.scope',
      ],
      ['another one', () => [{ permissionName: 'create/user', scope: 'team' }], '0.scope'],
      [
        'one permission with two scopes',
        () => [{ permissionName: 'view/task' }, { permissionName: 'view/task', scope: 'own' }],
        '1.permissionName',
      ],
      [
        'one permission for everything and for a type',
        () => [
          { permissionName: 'view/data', dataTypes: dataTypes(['name']) },
          { permissionName: 'view/data' },
        ],
        '1.permissionName',
      ],
    ]
    it.each(cases)('%s', async (_what, details, place) => {
      const role = { name: 'Unclear', permissionDetails: details() }
      for (const answer of [await owner.post('/role', role), await owner.put(`/role/${spareId}`, role)]) {
        expect(answer.status).toBe(400)
        expect(answer.body.errors).toMatchObject([
          {
            path: `permissionDetails.${place}`,
            code: expect.any(String),
            message: expect.stringMatching(/^[A-Za-z/-]+ .+\.$/),
          },
        ])
      }
    })

    it('but the same twice is taken', async () => {
      const twice = { permissionName: 'view/task', scope: 'own' }
      const made = await owner.post('/role', { name: 'Twice', permissionDetails: [twice, twice] })
      expect(made.status).toBe(201)
    })
  })

  describe('that were stored before they were looked at fail closed', () => {
    const stored: [string, () => object[], string][] = [
      ['with no data type', () => [{ permissionName: 'view/hub', scope: 'all', dataTypes: [] }], '/hubs'],
      [
        'with a type where none is asked for',
        () => [
          {
            permissionName: 'view/hub',
            scope: 'all',
            dataTypes: [{ dataTypeId: typeId, restrictedFields: [] }],
          },
        ],
        '/hubs',
      ],
      [
        'with a scope that the resource does not know',
        () => [{ permissionName: 'view/data', scope: 'own' }],
        '/data',
      ],
      [
        'with no data type of data',
        () => [{ permissionName: 'view/data', scope: 'all', dataTypes: [] }],
        '/data',
      ],
      [
        'with two scopes',
        () => [
          { permissionName: 'view/user', scope: 'all' },
          { permissionName: 'view/user', scope: 'own' },
        ],
        '/users',
      ],
    ]
    it.each(stored)('%s', async (_what, details, path) => {
      const made = await owner.post('/role', {
        name: `Stored ${path} ${Math.random()}`,
        permissionDetails: [],
      })
      const { client } = await addPerson(server, owner, { roleId: made.body.data._id })
      const db = await openTestDatabase(database)
      await db.system.query('UPDATE roles SET permission_details = $2::jsonb WHERE id = $1', [
        made.body.data._id,
        JSON.stringify(details()),
      ])
      await db.close()
      expect((await client.get(path)).status).toBe(403)
      expect((await client.get('/user')).body.data.permissionDetails).toEqual([])
    })

    it('and can be written again as it is shown, once a data type or a field that it names is gone', async () => {
      const fields = ['name', 'phone'].map(key => ({ key, label: key, type: 'text' }))
      const types = []
      for (const name of ['Leaving', 'Losing'])
        types.push((await owner.post('/data-type', { name, fields })).body.data._id)
      const [leaving, losing] = types
      const dataTypes = types.map(dataTypeId => ({ dataTypeId, restrictedFields: ['phone', 'name'] }))
      const permissionDetails = [
        { permissionName: 'view/hub', scope: 'all' },
        { permissionName: 'view/data', scope: 'all', dataTypes },
      ]
      const made = (await owner.post('/role', { name: 'Staying', permissionDetails })).body.data
      expect(made.gone).toEqual([])
      await owner.delete(`/data-type/${leaving}`)
      await owner.put(`/data-type/${losing}`, { name: 'Losing', fields: fields.slice(0, 1) })
      const read = async () => (await owner.get(`/role/${made._id}`)).body.data
      const shown = await read()
      const place = 'permissionDetails.1.dataTypes'
      expect(shown.permissionDetails).toEqual(permissionDetails)
      expect(shown.gone).toEqual([
        { path: `${place}.0.dataTypeId`, message: 'There is no such data type.' },
        { path: `${place}.1.restrictedFields.0`, message: 'The data type has no such field.' },
      ])
      const put = (details: object) =>
        owner.put(`/role/${made._id}`, { name: 'Stayed', permissionDetails: details })
      const again = await put(shown.permissionDetails)
      expect([again.status, again.body.data]).toEqual([
        200,
        { ...shown, name: 'Stayed', updatedAt: expect.any(String) },
      ])
      // A type that it did not name before is still wrong, and so is everything for another role.
      const wider = [
        { permissionName: 'view/data', dataTypes: [{ dataTypeId: losing, restrictedFields: ['zip'] }] },
      ]
      expect((await put(wider)).body.errors).toEqual([
        {
          path: 'permissionDetails.0.dataTypes.0.restrictedFields.0',
          code: 'not-found',
          message: expect.any(String),
        },
      ])
      // The same applies to a permission that did not name it, and to a field that the deleted type never had.
      const further = { permissionName: 'delete/data', scope: 'all', dataTypes: dataTypes.slice(0, 1) }
      expect((await put([...permissionDetails, further])).body.errors).toMatchObject([
        { path: 'permissionDetails.2.dataTypes.0.dataTypeId' },
      ])
      const invented = [{ dataTypeId: leaving, restrictedFields: ['phone', 'zip'] }, dataTypes[1]]
      expect((await put([{ permissionName: 'view/data', dataTypes: invented }])).body.errors).toMatchObject([
        { path: 'permissionDetails.0.dataTypes.0.restrictedFields.1' },
      ])
      expect((await owner.post('/role', { name: 'Copy', permissionDetails })).status).toBe(400)
      // Once they are no longer named, they cannot be named again.
      expect((await put(permissionDetails.slice(0, 1))).body.data.gone).toEqual([])
      expect((await put(permissionDetails)).status).toBe(400)
    })

    it('for a data type or a field that is gone', async () => {
      const fields = ['name', 'phone'].map(key => ({ key, label: key, type: 'text' }))
      const type = (await owner.post('/data-type', { name: 'Passing', fields })).body.data
      const role = await owner.post('/role', {
        name: 'Passing',
        permissionDetails: [
          { permissionName: 'view/data', dataTypes: [{ dataTypeId: type._id, restrictedFields: ['phone'] }] },
        ],
      })
      const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
      const { name, type: kind } = type
      const path = `/data-type/${type._id}`
      expect((await owner.put(path, { name, type: kind, fields: fields.slice(0, 1) })).status).toBe(200)
      expect((await owner.put(path, { name, type: kind, fields })).status).toBe(200)
      const data = { name: 'Ada', phone: 'zq-1' }
      const record = (await owner.post('/data', { dataTypeId: type._id, data })).body.data
      expect((await client.get(`/data/${record._id}`)).body.data.data).toEqual({ name: 'Ada' })
      await owner.delete(`/data/${record._id}`)
      expect((await owner.delete(path)).status).toBe(200)
      const other = (await owner.post('/data', { dataTypeId: typeId, data: { name: 'Bob' } })).body.data
      expect((await client.get('/data')).body.data).toEqual([])
      expect((await client.get(`/data/${other._id}`)).status).toBe(404)
    })
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

  it('a taken name is 409, and so is deleting one that somebody holds', async () => {
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
    // Permissions that somebody else granted may stay, and may be removed.
    await owner.put(path, { name: 'Less', permissionDetails: details(['view/user']) })
    const kept = { name: 'Renamed', permissionDetails: [{ permissionName: 'view/user', scope: 'all' }] }
    expect((await client.put(path, kept)).status).toBe(200)
  })
})
