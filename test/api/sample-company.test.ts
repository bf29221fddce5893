import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { type Client, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, roleId } from '../support/people.ts'
import { readStreets, toSpot } from '../support/streets.ts'
import { until } from '../support/wait.ts'

/** Entries of the audit log stay, and so does the number of the last change of geofences, by which caches are checked. */
const KEPT = ['audit_log', 'geofence_versions']
/** What keeps a sample, or what one is made of, from being deleted: the removal goes through all of these. */
const HOLDING = [
  'commands to devices',
  'connections to hubs',
  'data_records to data_types',
  'device_references to devices',
  'devices to hubs',
  'devices to subjects',
  'geofence_events to geofences',
  'geofence_events to subjects',
  'geofences to hubs',
  'mounts to devices',
  'schedules to flows',
  'schedules to hubs',
  'tasks to flows',
  'tasks to hubs',
  'teams to hubs',
  'tracking_links to subjects',
  'users to subjects',
  'vehicles to hubs',
]
const DAY_MS = 24 * 3_600_000

// The test reads the database beside the server, which PGlite does not allow.
describe.runIf(usualKind() === 'postgres')('The sample company', () => {
  const { server, database } = useServer()
  let db: Database
  let owner: Client
  beforeAll(async () => {
    db = await openTestDatabase(database)
    owner = await signIn(server)
  })
  afterEach(() => owner.delete('/organization/sample-data'))
  afterAll(() => db.close())

  const state = async () => (await owner.get('/organization/sample-data')).body.data
  const order = () =>
    until('it is ordered', async () => (await owner.post('/organization/sample-data', {})).status === 202)
  const list = async (path: string) => {
    const { body } = await owner.get(`${path}${path.includes('?') ? '&' : '?'}limit=500`)
    return body.data as { [key: string]: unknown; _id: string; isSample: boolean }[]
  }
  const countOf = async (from: string) => {
    const [row] = await db.system.query<{ n: number }>(`SELECT count(*)::int4 AS n FROM ${from}`)
    return row?.n ?? 0
  }
  /** The rows of every table that the company may touch. */
  const count = async () => {
    const tables = await db.system.query<{ name: string }>(
      `SELECT DISTINCT c.relname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       WHERE a.attname = 'organization_id' AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace`,
    )
    const own = tables.map(({ name }) => name).filter(name => !KEPT.includes(name))
    expect(own.length).toBeGreaterThan(25)
    // Jobs of no organization are maintenance.
    const counted = [
      ...own.map(name => `${name} WHERE organization_id IS NOT NULL`),
      ...['points', 'newest_fixes', 'accounts', 'sessions'],
    ]
    const rows: { [table: string]: number } = {}
    for (const from of counted) rows[from.split(' ')[0] as string] = await countOf(from)
    return rows
  }
  const removed = async (before: { [table: string]: number }) => {
    // The newest fixes go last, in a statement of their own.
    for (const table of ['points', 'newest_fixes'])
      await until(`the ${table} are gone`, async () => (await countOf(table)) === before[table])
    expect(await count()).toEqual(before)
  }

  it('is there with everything that a company has, and goes without a trace', async () => {
    const before = await count()
    expect(await state()).toMatchObject({ status: 'none', progress: 0 })
    const ordered = await owner.post('/organization/sample-data', {})
    expect([ordered.status, ordered.body.data]).toMatchObject([202, { status: 'creating' }])
    expect((await owner.post('/organization/sample-data', {})).status).toBe(409)
    await until('the company', async () => (await state()).status === 'there', 300_000)

    const [hubs, vehicles, devices, users, teams] = await Promise.all(
      ['/hubs', '/vehicles', '/devices', '/users', '/teams'].map(list),
    )
    expect([hubs?.length, vehicles?.length, devices?.length, users?.length, teams?.length]).toEqual([
      3, 12, 12, 13, 2,
    ])
    const others = ['/geofences', '/flows', '/data-types', '/data', '/tasks', '/task/schedules']
    const lists = await Promise.all([...others, '/tracking-links', '/import-monitoring'].map(list))
    for (const records of [hubs, vehicles, devices, teams, ...lists])
      expect(records?.some(({ isSample }) => isSample)).toBe(true)
    expect(users?.filter(({ isSample }) => !isSample)).toHaveLength(1)
    expect(lists[1]?.filter(({ isSample }) => !isSample).map(({ name }) => name)).toHaveLength(3)

    const tasks = lists[4] ?? []
    const states = ['unassigned', 'assigned', 'accepted', 'on_the_way', 'in_progress', 'completed', 'failed']
    expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set([...states, 'cancelled']))
    await until('the import', async () => {
      const [found] = await list('/import-monitoring')
      return found?.status === 'completed_with_errors' && found.created === 5 && found.failed === 5
    })
    const addresses = users?.filter(({ isSample }) => isSample).map(({ email }) => email)
    for (const address of addresses ?? [])
      expect(address).toMatch(/^[a-z]+\.[a-z]+@bay-[0-9a-z]{5}\.example$/)
    const driver = users?.find(({ isSample }) => isSample)?.email
    const login = await owner.post('/auth/login', { email: driver, password: 'any password at all' })
    expect(login.status).toBe(401)
    await checkStreets(lists[3] ?? [])
    await checkHistory(devices ?? [])

    const gone = await owner.delete('/organization/sample-data')
    expect(gone.body.data.removed).toMatchObject({ vehicles: 12, devices: 12, users: 12, hubs: 3, flows: 2 })
    await removed(before)
    expect(await state()).toMatchObject({ status: 'none' })
  })

  it('goes without a trace while it is created, and leaves what refers to its records', async () => {
    const before = await count()
    await order()
    await until('some history', async () => (await state()).progress > 0.03)
    const [hub] = await list('/hubs')
    const own = await owner.post('/device', { name: 'Own', hubId: hub?._id })
    expect((await owner.delete('/organization/sample-data')).status).toBe(200)
    expect(await list('/hubs')).toMatchObject([{ _id: hub?._id, isSample: true }])
    expect(await state()).toMatchObject({ status: 'there' })
    await owner.patch(`/device/${own.body.data._id}`, { hubId: null })
    await until(
      'the job ends',
      async () => (await countOf('jobs WHERE organization_id IS NOT NULL')) === before.jobs,
    )
    expect((await owner.delete('/organization/sample-data')).body.data.removed.hubs).toBe(1)
    const { devices = 0, subjects = 0 } = before
    await removed({ ...before, devices: devices + 1, subjects: subjects + 1 })
  })

  it('goes in steps, with turns for everybody else in between, where many own tasks name its people', async () => {
    await order()
    await until('the company', async () => (await list('/vehicles')).length === 12)
    const driver = (await list('/users')).find(({ isSample }) => isSample)?._id
    const team = (await list('/teams'))[0]?._id
    await db.system.query(
      `INSERT INTO tasks (id, organization_id, name, status, code, history, flow_id, assignee_id, team_id)
       SELECT gen_random_uuid(), t.organization_id, 'Own', t.status, 'X-' || n, t.history, t.flow_id,
         CASE WHEN n % 2 = 0 THEN $1::uuid END, CASE WHEN n % 2 = 1 THEN $2::uuid END
       FROM (SELECT * FROM tasks LIMIT 1) t, generate_series(1, 2000) n`,
      [driver, team],
    )
    const deletion = owner.delete('/organization/sample-data')
    let deleted = false
    void deletion.finally(() => {
      deleted = true
    })
    const seen: number[] = []
    while (!deleted) {
      const [row] = await db.system.query<{ n: number }>(
        `SELECT count(*)::int4 AS n FROM tasks WHERE assignee_id = $1 OR team_id = $2`,
        [driver, team],
      )
      seen.push(row?.n ?? 0)
    }
    expect((await deletion).status).toBe(200)
    expect(seen.filter(tasks => tasks > 0 && tasks < 2_000).length).toBeGreaterThan(1)
    const rest = await db.system.query(`SELECT DISTINCT team_id FROM tasks WHERE name = 'Own'`)
    expect(rest).toEqual([{ team_id: null }])
    await db.system.query(`DELETE FROM tasks WHERE name = 'Own'`)
  })

  it('goes with the tasks that its people are given while it is being deleted', async () => {
    await order()
    await until('the company', async () => (await list('/vehicles')).length === 12)
    const driver = (await list('/users')).find(({ isSample }) => isSample)?._id
    const [hub] = await list('/hubs')
    const letGo = await hold(db, 'LOCK TABLE rejection_counts IN ACCESS EXCLUSIVE MODE')
    const deletion = owner.delete('/organization/sample-data')
    await until('its tasks are deleted', async () => (await list('/tasks')).length === 0)
    const task = await owner.post('/task', { name: 'Late', assigneeId: driver, hubId: hub?._id })
    expect(task.status).toBe(201)
    await letGo()
    expect((await deletion).status).toBe(200)
    expect(await list('/tasks')).toEqual([])
    expect(await list('/hubs')).toEqual([])
    expect(await state()).toMatchObject({ status: 'none', isOffered: true })
  })

  it('goes with the commands of its devices, and without a hub that a connection is in', async () => {
    const references = await db.system.query<{ name: string }>(
      `SELECT conrelid::regclass || ' to ' || confrelid::regclass AS name FROM pg_constraint
       WHERE contype = 'f' AND confdeltype = 'a' AND conparentid = 0 AND confrelid IN (
         SELECT attrelid FROM pg_attribute WHERE attname = 'is_sample' UNION ALL SELECT 'subjects'::regclass) ORDER BY 1`,
    )
    expect(references.map(({ name }) => name)).toEqual(HOLDING)
    await order()
    await until('the company', async () => (await list('/vehicles')).length === 12)
    const [device] = await list('/devices')
    const [hub] = await list('/hubs')
    const command = await owner.post(`/device/${device?._id}/command`, { name: 'locate', payload: {} })
    expect(command.status).toBe(201)
    const connection = { name: 'Ours', kind: 'http', profileId: 'ttn', hubId: hub?._id }
    const made = await owner.post('/connection', connection)
    expect(made.status).toBe(201)
    const gone = await owner.delete('/organization/sample-data')
    expect(gone.body.data.removed).toMatchObject({ devices: 12, hubs: 2 })
    expect(await list('/hubs')).toMatchObject([{ _id: hub?._id }])
    // The cancelled job of the company would take the hub as well when it ends.
    const working = `jobs WHERE organization_id IS NOT NULL AND status IN ('queued', 'running')`
    await until('the jobs have ended', async () => (await countOf(working)) === 0)
    expect((await owner.delete(`/connection/${made.body.data._id}`)).status).toBe(200)
    expect((await owner.delete('/organization/sample-data')).body.data.removed.hubs).toBe(1)
  })

  it('goes with its import, which cannot add to records that have been deleted', async () => {
    const importJobs = `jobs WHERE organization_id IS NOT NULL AND kind = 'import' AND status IN ('queued', 'running')`
    await db.system.query(`CREATE FUNCTION run_later() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN NEW.run_at := ''infinity''; RETURN NEW; END'`)
    await db.system.query(
      `CREATE TRIGGER run_later BEFORE INSERT ON jobs FOR EACH ROW WHEN (NEW.kind = 'import') EXECUTE FUNCTION run_later()`,
    )
    await order()
    await until('the import waits', async () => (await countOf(importJobs)) === 1)
    await db.system.query('DROP FUNCTION run_later CASCADE')
    const letGo = await hold(db, 'LOCK TABLE rejection_counts IN ACCESS EXCLUSIVE MODE')
    const deletion = owner.delete('/organization/sample-data')
    await until('its records are deleted', async () => (await countOf('data_records')) === 0)
    await db.system.query(`UPDATE jobs SET run_at = now() WHERE kind = 'import'`)
    await until('the import has ended', async () => (await countOf(importJobs)) === 0)
    await letGo()
    expect((await deletion).body.data.removed.imports).toBe(1)
    expect(await state()).toMatchObject({ status: 'none', isOffered: true })
  })

  it('stays while an own import into it works', async () => {
    await order()
    await until(
      'the import',
      async () => (await list('/import-monitoring'))[0]?.status === 'completed_with_errors',
    )
    await db.system.query(`UPDATE imports SET status = 'processing', is_sample = false`)
    const refused = await owner.delete('/organization/sample-data')
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'The import of new-customers.csv into the sample data is still working. Wait for its end, or cancel it, and try again.',
    ])
    expect(await list('/vehicles')).toHaveLength(12)
    await db.system.query(`UPDATE imports SET status = 'completed', is_sample = true`)
    expect((await owner.delete('/organization/sample-data')).status).toBe(200)
  })

  it('is refused to a role that may not create its records, and to an organization with a hub', async () => {
    const admin = (await owner.get('/roles?limit=500')).body.data.find(
      ({ name }: { name: string }) => name === 'Admin',
    )
    const permissionDetails = admin.permissionDetails.filter(
      ({ permissionName }: { permissionName: string }) => permissionName !== 'create/geofence',
    )
    await owner.post('/role', { name: 'Without geofences', permissionDetails })
    const person = await addPerson(server, owner, { roleId: await roleId(owner, 'Without geofences') })
    const refused = await person.client.post('/organization/sample-data', {})
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'Your role lacks the permission create/geofence, which the sample company needs.',
    ])
    const planner = await addPerson(server, owner, { role: 'Planner' })
    expect((await planner.client.post('/organization/sample-data', {})).status).toBe(403)
    const { client } = await addOrganization(
      server,
      (await addPerson(server, owner, { role: 'Admin' })).client,
    )
    await until('samples', async () => (await client.get('/vehicles')).body.data.length === 3)
    await until('the samples', async () => (await client.get('/task/schedules')).body.data.length === 1)
    await client.delete('/organization/sample-data')
    const hub = await client.post('/organization/sample-data', {})
    expect([hub.status, hub.body.message]).toMatchObject([409, expect.stringContaining('without a hub')])
  })

  /** Customers are at real streets of the archive that have the name of their address. */
  async function checkStreets(records: { [key: string]: unknown }[]): Promise<void> {
    const places = records.flatMap(({ data }) => {
      const { address } = data as { address?: { lat: number; lng: number; address: string } }
      return address ? [address] : []
    })
    expect(places).toHaveLength(40)
    const found = await owner.post('/places', { points: places.map(({ lat, lng }) => ({ lat, lng })) })
    expect(found.body.data.map(({ name }: { name: string }) => name)).toEqual(
      places.map(({ address }) => address),
    )
    const streets = await readStreets()
    const nameless = places.filter(
      place => !streets.near(toSpot(place), 20).some(({ street }) => place.address.startsWith(street.name)),
    )
    expect(nameless).toEqual([])
  }

  /** A fortnight of trips and stops at customers, crossings, late points and one anomaly. */
  async function checkHistory(devices: { _id: string; name?: unknown }[]): Promise<void> {
    const device = devices.find(({ name }) => name === 'Tracker Bayview 2')
    const to = Date.now()
    // Where it is early afternoon now, no shift of six hours lies on two days.
    const ahead = 14 - new Date(to).getUTCHours()
    const zone = encodeURIComponent(`Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`)
    const span = `from=${new Date(to - 15 * DAY_MS).toISOString()}&to=${new Date(to).toISOString()}`
    const read = `/location-histories/trips?deviceId=${device?._id}&${span}&timezone=${zone}`
    const trips = (await owner.get(read)).body.data
    expect([trips.days.length, trips.trips.length > 60, trips.stops.length > 60]).toEqual([13, true, true])
    const [sums] = await db.system.query<{ points: number; late: number; rejected: number }>(
      `SELECT count(*)::int4 AS points, count(*) FILTER (WHERE received_at > recorded_at + interval '5 minutes')::int4 AS late,
         (SELECT count(*)::int4 FROM rejections) AS rejected FROM points`,
    )
    expect(sums?.points).toBeGreaterThan(50_000)
    expect([sums?.late, sums?.rejected]).toEqual([
      expect.toSatisfy((late: number) => late > 50 && late < 2_000),
      0,
    ])
    const history = `/location-histories?deviceId=${device?._id}&${span}&includeAnomalies=true&limit=20000`
    const { data } = (await owner.get(history)).body
    const wrong = data.filter(({ anomaly }: { anomaly: string | null }) => anomaly !== null)
    expect(wrong).toMatchObject([{ anomaly: 'speed' }])
    await until('crossings of every geofence', async () => {
      const rows = await db.system.query(
        `SELECT DISTINCT geofence_id FROM geofence_events WHERE NOT retracted`,
      )
      return rows.length === 5
    })
  }
})
