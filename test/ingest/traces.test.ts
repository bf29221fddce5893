import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createDeviceKey, hashKey } from '../../ingest/identity/authenticate.ts'
import { createTraces, type Traces } from '../../ingest/traces.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { until } from '../support/wait.ts'

describe('What is remembered of a device beside its points', () => {
  let database: TestDatabase
  let db: Database
  let traces: Traces
  let id: string
  let device: { id: string; organizationId: string }
  const { hash } = createDeviceKey()

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
    const [row] = await db.system.query<{ id: string; organizationId: string }>(
      `WITH organization AS (INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'Traced') RETURNING id),
       subject AS (INSERT INTO subjects (id, organization_id, type)
         SELECT gen_random_uuid(), id, 'device' FROM organization RETURNING id, organization_id)
       INSERT INTO devices (id, organization_id, name, key_hash)
       SELECT id, organization_id, 'Tracker', $1 FROM subject RETURNING id, organization_id AS "organizationId"`,
      [hash],
    )
    if (!row) throw new Error('There is no device')
    device = row
    id = row.id
    traces = createTraces({ db, onError: error => console.error(error), everyMs: 1e9, lookEveryMs: 20 })
  })
  afterAll(async () => {
    await traces.close()
    await db.close()
    await database.remove()
  })

  const read = (kind: string) =>
    db.system.query<{ count: number; detail: string | null; address: string | null }>(
      'SELECT count::int, detail, address FROM device_traces WHERE device_id = $1 AND kind = $2',
      [id, kind],
    )

  it('is written by itself once in a while, and at once when somebody asks', async () => {
    traces.note(device, 'wrong-topic', { detail: 'a' })
    await until('the first one is written', async () => (await read('wrong-topic')).length === 1)
    for (let n = 0; n < 3; n++) traces.note(device, 'wrong-topic', { detail: `b${n}` })
    // Others look as often, and these wait.
    traces.note(device, 'wrong-will')
    await until('another is written', async () => (await read('wrong-will')).length === 1)
    expect(await read('wrong-topic')).toMatchObject([{ count: 1, detail: 'a' }])
    await traces.flush(id)
    expect(await read('wrong-topic')).toMatchObject([{ count: 4, detail: 'b2' }])
  })

  it('has a bound, which strangers fill without hiding what devices with a key do', async () => {
    const guess = hashKey('fld_guess')
    for (let n = 0; n < 1_500; n++) traces.refuse(randomUUID(), guess, '203.0.113.7')
    traces.note(device, 'too-large', { detail: 'x'.repeat(10_000) })
    await traces.flush(id)
    expect((await read('too-large'))[0]?.detail).toHaveLength(400)
    const [rows] = await db.system.query<{ count: number }>('SELECT count(*)::int FROM device_traces')
    expect(rows?.count).toBe(3)
  })

  it('has a bound for each organization, so that the fleet of one hides nothing of another', async () => {
    const organizationId = randomUUID()
    for (let n = 0; n < 30_000; n++) {
      traces.note({ id: randomUUID(), organizationId }, 'connection', { detail: 'theirs' })
      traces.note({ id: randomUUID(), organizationId }, 'no-position')
    }
    traces.note(device, 'connection', { detail: 'ours' })
    traces.note(device, 'no-position')
    await traces.flush(id)
    expect(await read('connection')).toMatchObject([{ detail: 'ours' }])
    expect(await read('no-position')).toHaveLength(1)
  })

  it('has the connection of a device once a minute, and at once when it comes over another', async () => {
    for (let n = 0; n < 3; n++) traces.note(device, 'connection', { detail: 'another' })
    await traces.flush(id)
    const [{ count } = { count: 0 }] = await read('connection')
    for (let n = 0; n < 3; n++) traces.note(device, 'connection', { detail: 'another' })
    await traces.flush(id)
    expect(await read('connection')).toMatchObject([{ count, detail: 'another' }])
    traces.note(device, 'connection', { detail: 'third' })
    await traces.flush(id)
    expect(await read('connection')).toMatchObject([{ count: count + 1, detail: 'third' }])
  })

  it('knows a key that fits the device, whatever it was called', async () => {
    traces.refuse('van-12', hash, '203.0.113.7')
    await traces.flush(id)
    expect(await read('wrong-name')).toMatchObject([{ count: 1, address: '203.0.113.7' }])
  })
})
