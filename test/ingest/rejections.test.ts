import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { insertRejections, pruneRejections } from '../../db/queries/rejections.ts'
import { type Client, createClient, createDevice } from '../support/client.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { explain } from '../support/explain.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { addHub, addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const DAY_MS = 24 * 3600_000

describe('Rejections', () => {
  const { server, owner, organization } = useOrganization()

  it('of a device are listed newest first, page by page, each once, with the payload', async () => {
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    await publish(client, device, 'not json')
    await publish(
      client,
      device,
      Array.from({ length: 23 }, (_, n) => ({ lat: 0, lng: 0, n })),
    )
    await client.endAsync()

    const seen: { _id: string; reason: string; index: number | null; payload: string; topic: string }[] = []
    let cursor = ''
    for (let pages = 0; pages < 4; pages++) {
      const { status, body } = await owner.get(`/device/${device.id}/rejections?limit=7${cursor}`)
      expect(status).toBe(200)
      expect(body.counts).toEqual({ 'not-json': 1, 'no-fix': 23 })
      seen.push(...body.data)
      if (!body.pagination.nextCursor) break
      cursor = `&cursor=${body.pagination.nextCursor}`
    }
    expect(new Set(seen.map(({ _id }) => _id)).size).toBe(24)
    expect(seen.map(({ index }) => index)).toEqual([...Array.from({ length: 23 }, (_, n) => 22 - n), null])
    expect(seen.map(({ reason }) => reason)).toEqual([...Array(23).fill('no-fix'), 'not-json'])
    expect(seen[0]).toMatchObject({
      payload: '{"lat":0,"lng":0,"n":22}',
      topic: `devices/${device.id}/location`,
    })
    expect(seen[23]).toMatchObject({ payload: 'not json', message: expect.any(String) })
  })

  it('of a conflict name the point that won', async () => {
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    const timestamp = Date.now() - 1000
    await publish(client, device, { lat: 1, lng: 2, timestamp, speed: 3 })
    await publish(client, device, { lat: 1, lng: 2, timestamp, speed: 3 })
    await publish(client, device, { lat: 5, lng: 6, timestamp })
    await client.endAsync()
    const { body } = await owner.get(`/device/${device.id}/rejections`)
    // The same point again is no conflict.
    expect(body.counts).toEqual({ conflict: 1 })
    expect(body.data).toMatchObject([
      {
        reason: 'conflict',
        stored: { lat: 1, lng: 2, speed: 3, timestamp: new Date(timestamp).toISOString() },
      },
    ])
    expect(JSON.parse(body.data[0].payload)).toMatchObject({ lat: 5, lng: 6 })

    // A role that does not see the device's position, or not those of others, sees only the reason.
    for (const scope of [null, 'own', 'team']) {
      const permissionDetails = [
        { permissionName: 'view/device', scope: 'all' },
        ...(scope ? [{ permissionName: 'view/location', scope }] : []),
      ]
      const role = await owner.post('/role', { name: `Devices ${scope}`, permissionDetails })
      const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
      for (const path of [`/device/${device.id}/rejections`, '/rejections?reason=conflict']) {
        const { body } = await client.get(path)
        expect(body.data, path).toHaveLength(1)
        expect(body.data[0], path).toMatchObject({ reason: 'conflict', payload: null })
        expect(body.data[0], path).not.toHaveProperty('stored')
      }
    }
  })

  it('of a user are listed for itself and for those who see its positions, and for nobody else', async () => {
    const { body: me } = await owner.get('/user')
    const user = { id: me.data._id as string, key: owner.token }
    const client = await connectDevice(server, user, { username: 'token' })
    await client.publishAsync(`users/${user.id}/location`, '{"lat":91,"lng":0}', { qos: 1 })
    await client.endAsync()
    const { body } = await owner.get(`/user/${user.id}/rejections`)
    expect(body).toMatchObject({ counts: { 'bad-coordinates': 1 }, data: [{ reason: 'bad-coordinates' }] })
    const path = `/user/${user.id}/rejections`
    expect((await createClient(server, '').get(path)).status).toBe(401)
    const [planner, field] = [
      await addPerson(server, owner, { hubId: organization.hubIds }),
      await addPerson(server, owner, { role: 'Field user', hubId: organization.hubIds }),
    ]
    expect((await planner.client.get(path)).body.counts).toEqual({ 'bad-coordinates': 1 })
    expect((await field.client.get(path)).status).toBe(404)
    expect((await field.client.get(`/user/${field.userId}/rejections`)).body.counts).toEqual({})

    const device = await createDevice(owner)
    for (const id of ['nonsense', device.id])
      expect((await owner.get(`/user/${id}/rejections`)).status).toBe(404)
    expect((await owner.get(`/device/${user.id}/rejections`)).status).toBe(404)
  })

  it('of all that somebody sees are listed together, newest first, page by page, by reason too', async () => {
    const { client: boss } = await addOrganization(
      server,
      (await addPerson(server, owner, { role: 'Admin' })).client,
    )
    const [north, south] = [await addHub(boss, 'North'), await addHub(boss, 'South')]
    const add = async (name: string, hubId: string | null) =>
      (await boss.post('/device', { name, hubId })).body.data as { _id: string; key: string }
    const [here, there, gone] = [await add('Here', north), await add('There', south), await add('Gone', null)]
    const send = async (key: string, points: object[]) =>
      createClient(server, key).post('/location-history/bulk', { points })
    const wrong = (count: number) =>
      Array.from({ length: count }, () => ({ lat: 91, lng: 0, timestamp: Date.now() }))
    const { client: phone, userId } = await addPerson(server, boss, { role: 'Field user', hubId: [north] })
    for (let turn = 0; turn < 3; turn++) {
      await send(here.key, wrong(3))
      await send(there.key, wrong(2))
      await send(gone.key, wrong(1))
      await phone.post('/location-history/bulk', { points: wrong(1) })
    }
    await send(here.key, [{ lat: 0, lng: 0, timestamp: Date.now() }])
    await boss.delete(`/device/${gone._id}`)

    const listAll = async (client: Client, query = '') => {
      const seen: {
        _id: string
        receivedAt: string
        subjectId: string
        subjectName: string
        reason: string
      }[] = []
      let counts = {}
      for (let cursor = ''; ; ) {
        const { status, body } = await client.get(`/rejections?limit=4${query}${cursor}`)
        expect(status).toBe(200)
        counts = body.counts
        seen.push(...body.data)
        if (!body.pagination.nextCursor) break
        cursor = `&cursor=${body.pagination.nextCursor}`
      }
      expect(new Set(seen.map(({ _id }) => _id)).size).toBe(seen.length)
      const times = seen.map(({ receivedAt }) => receivedAt)
      expect(times).toEqual([...times].sort().reverse())
      const of = (id: string) => seen.filter(({ subjectId }) => subjectId === id).length
      return { seen, counts, ofEach: [of(here._id), of(there._id), of(gone._id), of(userId)] }
    }
    const all = await listAll(boss)
    expect(all).toMatchObject({ counts: { 'bad-coordinates': 18, 'no-fix': 1 }, ofEach: [10, 6, 0, 3] })
    expect(all.seen[0]).toMatchObject({ subjectName: 'Here', subjectType: 'device', reason: 'no-fix' })
    expect((await listAll(boss, '&reason=no-fix')).ofEach).toEqual([1, 0, 0, 0])
    expect((await listAll(boss, '&reason=bad-coordinates')).ofEach).toEqual([9, 6, 0, 3])

    const { body: ofOne } = await boss.get(`/device/${here._id}/rejections?reason=no-fix`)
    expect(ofOne).toMatchObject({
      data: [{ reason: 'no-fix' }],
      counts: { 'bad-coordinates': 9, 'no-fix': 1 },
    })
    expect((await boss.get('/rejections?reason=nothing')).status).toBe(400)

    const northern = await addPerson(server, boss, { hubId: [north] })
    expect(await listAll(northern.client)).toMatchObject({
      counts: { 'bad-coordinates': 12, 'no-fix': 1 },
      ofEach: [10, 0, 0, 3],
    })
    const permissionDetails = [{ permissionName: 'view/device', scope: 'all' }]
    const role = await boss.post('/role', { name: 'Devices', permissionDetails })
    const technician = await addPerson(server, boss, { roleId: role.body.data._id, hubId: [south] })
    expect(await listAll(technician.client)).toMatchObject({
      counts: { 'bad-coordinates': 6 },
      ofEach: [0, 6, 0, 0],
    })
    expect((await phone.get('/rejections')).status).toBe(403)
  })

  it('have cursors of their own: another is 400', async () => {
    const device = await createDevice(owner)
    const write = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const receivedAt = '2026-01-01T00:00:00.000Z'
    for (const cursor of ['x', write({ receivedAt, id: 'x' }), write({ receivedAt: 'x', id: '0-0-0' })]) {
      expect((await owner.get(`/device/${device.id}/rejections?cursor=${cursor}`)).status, cursor).toBe(400)
      expect((await owner.get(`/rejections?cursor=${cursor}`)).status, cursor).toBe(400)
    }
  })
})

describe.each(['pglite', 'postgres'] as const)('Stored rejections (%s)', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let database: TestDatabase
  let db: Database
  let subjects: number[]

  beforeAll(async () => {
    if (missing) return
    database = await createTestDatabase(kind)
    db = await openTestDatabase(database)
    const rows = await db.system.query<{ key: number }>(
      `WITH organization AS (
         INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'Rejections') RETURNING id
       )
       INSERT INTO subjects (id, organization_id, type)
       SELECT gen_random_uuid(), organization.id, 'device' FROM organization, generate_series(1, 3) RETURNING key`,
    )
    subjects = rows.map(row => row.key)
  })
  afterAll(async () => {
    if (missing) return
    await db.close()
    await database.remove()
  })

  let offset = 0
  const insert = (subject: number, count: number, receivedAt: number, reason = 'no-fix') => {
    offset++
    const entry = {
      subject,
      receivedAt,
      reason,
      message: '',
      index: null,
      topic: null,
      payload: null,
    }
    return insertRejections(
      db.writer,
      0,
      Array.from({ length: count }, (_, ordinal) => ({ entry, offset, ordinal })),
    )
  }
  const countOf = async (subject: number) => {
    const sql = 'SELECT count(*)::int4 AS count FROM rejections WHERE subject_key = $1'
    const [row] = await db.system.query<{ count: number }>(sql, [subject])
    return row?.count
  }

  it('are the last 1,000 of a subject, for 30 days', async context => {
    if (missing) return context.skip(missing)
    const [many, old, few] = subjects as [number, number, number]
    const now = Date.now()
    await insert(old, 10, now - 31 * DAY_MS)
    await insert(old, 10, now - 29 * DAY_MS)
    await insert(few, 10, now)
    for (let batch = 0; batch < 4; batch++) await insert(many, 270, now - 1000 + batch)
    expect(await countOf(many)).toBe(1000)
    await pruneRejections(db.system)
    expect(await Promise.all([many, old, few].map(countOf))).toEqual([1000, 10, 10])
    const oldest = 'SELECT min(log_offset)::int4 AS oldest FROM rejections WHERE subject_key = $1'
    const [row] = await db.system.query<{ oldest: number }>(oldest, [many])
    expect(row?.oldest).toBe(offset - 3)
    const counts = 'SELECT count::int4 FROM rejection_counts WHERE subject_key = $1'
    expect(await db.system.query(counts, [many])).toEqual([{ count: 1080 }])
  })

  it('of one that sends nothing else never pile up, nor when they are stored twice', async context => {
    if (missing) return context.skip(missing)
    const [subject] = subjects as [number]
    const now = Date.now()
    for (let batch = 0; batch < 6; batch++) {
      await insert(subject, 900, now + batch)
      expect(await countOf(subject)).toBeLessThan(1_100)
    }
    const before = await countOf(subject)
    offset--
    await insert(subject, 900, now + 5)
    expect(await countOf(subject)).toBe(before)
    const counts = 'SELECT count::int4 FROM rejection_counts WHERE subject_key = $1'
    expect(await db.system.query(counts, [subject])).toEqual([{ count: 1080 + 6 * 900 }])
  })

  it('of many reasons are a thousand rows all the same', async context => {
    if (missing) return context.skip(missing)
    const [, , subject] = subjects as [number, number, number]
    for (let batch = 0; batch < 8; batch++) await insert(subject, 250, Date.now(), `reason ${batch % 8}`)
    expect(await countOf(subject)).toBeLessThan(1_100)
  })

  it('go by their age, and each step reads hardly more rows than it deletes', async context => {
    if (missing) return context.skip(missing)
    const [subject] = subjects as [number]
    await db.system.query(
      `INSERT INTO rejections (log_partition, log_offset, ordinal, subject_key, organization_id, received_at, reason, message)
       SELECT 1, n, 0, s.key, s.organization_id, now() - CASE WHEN n > 21600 THEN interval '31 days' ELSE interval '29 days' END - n * interval '1 second', 'no-fix', ''
       FROM generate_series(1, 24000) n, subjects s WHERE s.key = $1`,
      [subject],
    )
    const { read, deleted } = await explain(db.system, pruneRejections)
    expect(deleted).toBe(2_000)
    expect(read).toBeLessThan(3 * deleted)
    expect(await pruneRejections(db.system)).toBe(false)
    const [row] = await db.system.query<{ count: number }>(
      'SELECT count(*)::int4 AS count FROM rejections WHERE log_partition = 1',
    )
    expect(row?.count).toBe(21_600)
  })

  it('of one record are rows to the last thousand and are all counted, once', async context => {
    if (missing) return context.skip(missing)
    const [, subject] = subjects as [number, number]
    const now = Date.now()
    for (const again of [false, true]) {
      if (again) offset--
      await insert(subject, 2_000, now, 'future')
      const sql = `SELECT count(*)::int4 AS count, min(ordinal) AS first, max(ordinal) AS last
        FROM rejections WHERE subject_key = $1 AND reason = 'future'`
      expect(await db.system.query(sql, [subject])).toEqual([{ count: 1_000, first: 1_000, last: 1_999 }])
      const counts = `SELECT count::int4 FROM rejection_counts WHERE subject_key = $1 AND reason = 'future'`
      expect(await db.system.query(counts, [subject])).toEqual([{ count: 2_000 }])
    }
  })
})
