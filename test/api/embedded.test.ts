import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { countHolds, readFigures } from '../support/figures.ts'
import { importFile } from '../support/imports.ts'
import { addHub, addOrganization, addPerson } from '../support/people.ts'
import { slowness } from '../support/processor-time.ts'
import { type Received, startReceiver } from '../support/receiver.ts'
import { openScreen } from '../support/screen.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** In seconds of the usual machine. */
const MAX_HOLD = 0.25

/**
 * The tests of the interface run on PostgreSQL if it is available; here is the happy path of each resource on PGlite.
 */
describe('On the embedded database', () => {
  let database: TestDatabase
  let server: ServerProcess
  let owner: Client
  let organizationId: string

  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await startServer(database, { EXPORT_DIRECT_LIMIT: '1', WEBHOOK_ALLOW_PRIVATE: 'true' })
    const made = await addOrganization(server, await signIn(server))
    owner = made.client
    organizationId = made.organizationId
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })
  let slowest = 1
  afterEach(() => {
    slowest = Math.max(slowest, slowness())
  })

  it('organizations are created, copied, switched, changed', async () => {
    const copied = await owner.post('/organization', {
      organizationName: 'The copy',
      copyDataFromFirstOrg: true,
    })
    expect(copied.status).toBe(201)
    const back = await createClient(server, copied.body.token).post('/auth/switch-organization', {
      organizationId,
    })
    expect((await owner.get('/user')).status).toBe(401)
    owner = createClient(server, back.body.token)
    expect((await owner.patch('/organization', { currency: 'SEK' })).body.data.currency).toBe('SEK')
    expect((await owner.get('/auth/my-organizations')).body.data).toHaveLength(3)
  })

  it('sample data is created in the background, and deleted', async () => {
    // The last of them: their deletion cancels the job that creates them.
    await until('created', async () => (await owner.get('/task/schedules')).body.pagination.total > 0)
    const answer = await owner.delete('/organization/sample-data')
    expect(answer.body.data.removed.vehicles).toBeGreaterThan(0)
  })

  it('data sources are made, found and removed, and webhooks are told of them', async () => {
    // The faults of a query do not depend on existing records.
    expect((await owner.get('/data-types')).body.data).toEqual([])
    expect((await owner.get('/data')).body).toMatchObject({ data: [], pagination: { total: 0 } })
    for (const query of ['cursor=xx', 'fields=a'])
      expect([query, (await owner.get(`/data?${query}`)).status]).toEqual([query, 400])
    const receiver = await startReceiver()
    const events = ['data-source-created']
    const webhook = await owner.post('/webhook', { url: `${receiver.url}/any`, events })
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    const type = await owner.post('/data-type', { name: 'Customer', primaryKey: 'name', fields })
    const body = { dataTypeName: 'Customer', data: { name: 'Müller GmbH' } }
    const record = await owner.post('/data', body)
    expect([type.status, record.status]).toEqual([201, 201])
    expect((await owner.post('/data', body)).status).toBe(409)
    expect((await owner.get('/data?search=müll')).body.data).toEqual([record.body.data])
    const filtered = '/data?dataTypeName=Customer&filter[name]=M%C3%BCller%20GmbH'
    expect((await owner.get(filtered)).body.data).toHaveLength(1)
    const [got] = (await receiver.wait('/any', 1)) as [Received]
    expect(JSON.parse(got.body)).toEqual(body.data)
    expect((await owner.delete(`/webhook/${webhook.body.data._id}`)).status).toBe(200)
    expect((await owner.delete(`/data/${record.body.data._id}`)).status).toBe(200)
    await receiver.close()
  })

  it('hubs, roles, flows and teams are created, listed with pages and deleted', async () => {
    const hubId = await addHub(owner)
    const records = {
      role: { name: 'Role', permissionDetails: [{ permissionName: 'view/hub' }] },
      flow: { name: 'Flow', steps: [{ status: 'open', label: 'Open' }] },
      team: { name: 'Team', hubId },
    }
    for (const [resource, body] of Object.entries(records)) {
      const made = await owner.post(`/${resource}`, body, { 'idempotency-key': `make a ${resource}` })
      expect(made.status).toBe(201)
      const again = await owner.post(`/${resource}`, body, { 'idempotency-key': `make a ${resource}` })
      expect(again.body).toEqual(made.body)
      const { _id } = made.body.data
      expect((await owner.put(`/${resource}/${_id}`, { ...body, name: 'Renamed' })).body.data.name).toBe(
        'Renamed',
      )
      const first = await owner.get(`/${resource}s?limit=1&sort=-name`)
      expect(first.body.pagination.total).toBeGreaterThan(0)
      expect((await owner.get(`/${resource}s?search=renamed`)).body.data).toMatchObject([{ _id }])
      expect((await owner.delete(`/${resource}/${_id}`)).status).toBe(200)
    }
  })

  it('data sources are imported, tried first, and a bad row comes back', async () => {
    const fields = [
      { key: 'code', label: 'Code', type: 'text' },
      { key: 'size', label: 'Size', type: 'number' },
    ]
    const made = await owner.post('/data-type', { name: 'Imported', fields, primaryKey: 'code' })
    const dataTypeId = made.body.data._id
    const file = 'Code;Size\nA;1\nB;two\nC;3\n'
    const tried = await importFile(server, owner, file, { dataTypeId, dryRun: 'true' })
    expect(tried).toMatchObject({ status: 'completed_with_errors', created: 2, failed: 1 })
    expect((await owner.get(`/data?dataTypeId=${dataTypeId}`)).body.data).toEqual([])
    const done = await importFile(server, owner, file, { dataTypeId })
    expect(done).toMatchObject({ created: 2, failed: 1, failures: [{ row: 3, field: 'size', value: 'two' }] })
    const again = await importFile(server, owner, 'Code;Size\nA;1\nB;2\nC;4\n', {
      dataTypeId,
      mode: 'upsert',
    })
    expect(again).toMatchObject({ status: 'completed', created: 1, updated: 1, unchanged: 1 })
    const failed = await owner.get(`/import-monitoring/${done._id}/failed-rows`)
    expect([failed.status, failed.body]).toEqual([200, expect.stringContaining('B;two;')])
  })

  it('data sources are exported, directly and in the background', async () => {
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    const dataTypeId = (await owner.post('/data-type', { name: 'Exported', fields })).body.data._id
    for (const name of ['Ada', 'Bob']) await owner.post('/data', { dataTypeId, data: { name } })
    const one = await owner.post('/data/export', { dataTypeId, format: 'json', filter: { name: 'Bob' } })
    expect([one.status, one.body]).toMatchObject([200, [{ data: { name: 'Bob' } }]])
    for (const format of ['json', 'xlsx']) {
      const ordered = await owner.post('/data/export', { dataTypeId, format })
      expect(ordered.status).toBe(202)
      const path = `/tasks/export-log/${ordered.body.data._id}`
      await until('exported', async () => (await owner.get(path)).body.data.status === 'completed')
      expect((await owner.get(`${path}/file`)).status).toBe(200)
    }
    expect((await owner.get('/tasks/export-log')).body.data).toHaveLength(3)
  })

  it('vehicles and tasks are created, moved, found by filter, box and text, and deleted', async () => {
    const vehicle = await owner.post('/vehicle', { name: 'Van', capacity: { units: 3 } })
    const vehicleId = vehicle.body.data._id
    expect((await owner.patch(`/vehicle/${vehicleId}`, { speed: 9 })).body.data.capacity.units).toBe(3)
    const location = { lat: 10, lng: 20, address: 'Quick Street 1' }
    const made = await owner.post('/task', {
      name: 'Embedded',
      vehicleId,
      location,
      startTime: '2026-11-21T09:00:00Z',
    })
    expect(made.status).toBe(201)
    const path = `/task/${made.body.data._id}`
    expect((await owner.post(`${path}/status`, { status: 'completed' })).status).toBe(409)
    const moved = await owner.post(`${path}/status`, { status: 'assigned' })
    expect(moved.body.data.history).toHaveLength(2)
    const queries = [
      `vehicleId=${vehicleId}&sort=name`,
      'search=quick%20st&sort=startTime',
      'status=assigned&bbox=19,9,21,11',
      'from=2026-11-21T00:00:00Z&to=2026-11-22T00:00:00Z&search=Embedded',
    ]
    for (const query of queries)
      expect((await owner.get(`/tasks?${query}`)).body.data, query).toMatchObject([{ name: 'Embedded' }])
    expect((await owner.delete(path)).status).toBe(200)
    expect((await owner.delete(`/vehicle/${vehicleId}`)).status).toBe(200)
  })

  it('schedules are previewed, created, make their tasks in the background, and are deleted', async () => {
    const startTime = new Date(Date.now() - 2.5 * 3_600_000).toISOString()
    const repeat = { rrule: 'FREQ=HOURLY' }
    const preview = await owner.post('/task/schedules/preview', { repeat, startTime })
    expect(preview.body.data.past).toBe(3)
    const made = await owner.post('/task/schedules/bulk', {
      schedules: [{ name: 'Hourly', repeat, startTime }],
    })
    const { _id } = made.body.data[0].schedule
    const tasks = async () => (await owner.get(`/tasks?scheduleId=${_id}&sort=startTime`)).body.data
    await until('made', async () => (await tasks()).length === 3)
    expect((await tasks())[0]).toMatchObject({ name: 'Hourly', scheduleId: _id, startTime })
    const { body } = await owner.get(`/task/schedule/${_id}`)
    expect(body.data.nextRunAt).toBe(preview.body.data.occurrences[0])
    expect((await owner.delete(`/task/schedule/${_id}`)).status).toBe(200)
    expect((await owner.get('/tasks?search=Hourly')).body.data[0]).toMatchObject({ scheduleId: null })
  })

  it('users are invited, changed, suspended, and their sockets and tokens end with that', async () => {
    const person = await addPerson(server, owner)
    const screen = await openScreen(server, person.client.token)
    const suspended = await owner.patch(`/user/${person.userId}`, { status: 'suspended' })
    expect(suspended.body.data.status).toBe('suspended')
    expect((await screen.closed).code).toBe(4401)
    expect((await person.client.get('/user')).status).toBe(401)
    expect((await owner.get('/users')).body.data).toHaveLength(2)
    expect((await owner.get('/audit-log')).body.data[0]).toMatchObject({ resource: 'user', action: 'update' })
  })

  it('guessing passwords is limited', async () => {
    const stranger = createClient(server, '')
    const guess = () =>
      stranger.post('/auth/login', { email: 'nobody@example.com', password: 'a wild guess' })
    for (let round = 0; round < 5; round++) expect((await guess()).status).toBe(401)
    expect((await guess()).status).toBe(429)
  })

  it('two switches with one token at once: one succeeds', async () => {
    const { client } = await addPerson(server, owner)
    const answers = await Promise.all(
      [1, 2].map(() => client.post('/auth/switch-organization', { organizationId })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
  })

  it('an organization is deleted, and is gone after a restart', async () => {
    const { client } = await addPerson(server, owner, { role: 'Admin' })
    const made = await addOrganization(server, client, { organizationName: 'Short-lived' })
    expect((await made.client.delete('/organization')).status).toBe(200)
    expect((await made.client.get('/user')).status).toBe(401)
    await server.kill9()
    server = await startServer(database)
    owner = createClient(server, owner.token)
    expect((await owner.get('/user')).status).toBe(200)
  })

  it('nobody has its session for long in one go, nor do long imports and many points at once', async () => {
    const fields = ['code', 'text'].map(key => ({ key, label: key, type: 'text' }))
    const made = await owner.post('/data-type', { name: 'Long texts', fields, primaryKey: 'code' })
    const words = (row: number) =>
      Array.from({ length: 200 }, (_, at) => ((row * 7919 + at * 104_729) % 999_983).toString(36)).join(' ')
    const rows = Array.from({ length: 600 }, (_, row) => `${row},${words(row)}`)
    const done = await importFile(server, owner, ['code,text', ...rows].join('\n'), {
      dataTypeId: made.body.data._id,
    })
    expect(done).toMatchObject({ status: 'completed', created: 600 })

    const sender = createClient(server, (await createDevice(owner)).key)
    const attributes = { note: 'x'.repeat(600) }
    const from = Date.now() - 24 * 3_600_000
    // With one key: new points, then points between those, which are judged among their neighbours, and the same ones
    // again.
    const rounds: [number[], number][] = [
      [[0, 1], 0],
      [[0, 1], 500],
      [[0], 500],
    ]
    for (const [parts, offset] of rounds) {
      const send = (part: number) => {
        const times = Array.from({ length: 5_000 }, (_, at) => from + part * 20_000_000 + at * 1_000 + offset)
        const points = times.map(timestamp => ({ lat: 1, lng: 2, timestamp, attributes }))
        // A slow machine does not store all of them in the time of a request, which is then answered 503.
        return until('the points are taken', async () => {
          const { status } = await sender.post('/location-history/bulk', { points })
          expect([200, 503]).toContain(status)
          return status === 200
        })
      }
      await Promise.all(parts.map(send))
    }

    const figures = await readFigures(server)
    const slow = Math.max(slowest, slowness())
    for (const lane of ['writing', 'signIn', 'requests', 'reading', 'background', 'upkeep']) {
      const { all, short } = countHolds(figures, lane, MAX_HOLD, slow)
      expect([lane, short]).toEqual([lane, all])
    }
    expect(countHolds(figures, 'background', MAX_HOLD, slow).all).toBeGreaterThan(50)
  })
})
