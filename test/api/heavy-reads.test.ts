import type { MqttClient } from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.ts'
import { countHolds, readFigures } from '../support/figures.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { slowness } from '../support/processor-time.ts'
import { type Server, startServer } from '../support/server.ts'
import { pause } from '../support/wait.ts'

const RECORDS = 30_000
/** Two of them contain a unique word. */
const [EARLY, LATE] = [9, 25_000]
/** Each with 2 KB of attributes. */
const POINTS = 10_000
const READS = 4
/** In seconds of the usual machine. */
const MAX_HOLD = 0.25

/**
 * PGlite is one session and no timeout ends a statement. A long read works in steps and lets others in between, so no
 * step may hold the session for over 250 ms of processor time (`fieldline_database_hold_processor_seconds`).
 */
describe('On the embedded database', () => {
  let database: TestDatabase
  let server: Server
  let reader: Client
  let dataTypeId: string
  let tracker: TestDevice
  let bystander: TestDevice
  let publisher: MqttClient

  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await startServer(database)
    const owner = await signIn(server)
    const person = await addPerson(server, owner, { role: 'Owner' })
    const made = await addOrganization(server, person.client)
    reader = owner
    tracker = await createDevice(reader)
    bystander = await createDevice(made.client)
    const fields = [
      { key: 'name', label: 'Name', type: 'text' },
      { key: 'city', label: 'City', type: 'text' },
      { key: 'n', label: 'Number', type: 'number' },
    ]
    const type = await reader.post('/data-type', { name: 'Parcel', fields, primaryKey: null })
    dataTypeId = type.body.data._id
    await server.stop()
    const db = await openTestDatabase(database)
    // Filling them row by row takes a minute.
    const indexes = await db.system.query<{ name: string; made: string }>(
      `SELECT indexname AS name, indexdef AS made FROM pg_indexes
       WHERE tablename = 'data_records' AND indexdef LIKE '%USING gin%'`,
    )
    for (const { name } of indexes) await db.system.query(`DROP INDEX ${name}`)
    await db.system.query(
      `INSERT INTO data_records (id, organization_id, data_type_id, data, search)
       SELECT ('01500000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, t.organization_id, t.id,
         jsonb_build_object('name', 'Parcel of Acme', 'city', 'Berlin', 'n', ${RECORDS} - n),
         E'Parcel of Acme\nBerlin' || CASE WHEN n IN (${EARLY}, ${LATE}) THEN E'\nquick wax' ELSE '' END
       FROM data_types t, generate_series(1, ${RECORDS}) n WHERE t.id = $1`,
      [dataTypeId],
    )
    await db.system.query(
      `INSERT INTO points (subject_key, recorded_at, received_at, position, attributes)
       SELECT s.key, now() - n * interval '1 second', now(), ST_SetSRID(ST_MakePoint(1, 1), 4326),
         jsonb_build_object('text', repeat(md5(n::text), 64))
       FROM subjects s, generate_series(1, ${POINTS}) n WHERE s.id = $1`,
      [tracker.id],
    )
    for (const { made } of indexes) await db.system.query(made)
    // The maintenance would do it in the middle of the test.
    await db.system.query('VACUUM ANALYZE')
    await db.close()
    server = await startServer(database)
    reader = createClient(server, reader.token)
    publisher = await connectDevice(server, bystander)
  })
  afterAll(async () => {
    await publisher?.endAsync()
    await server.stop()
    await database.remove()
  })

  const list = (query: string) => `/data?dataTypeId=${dataTypeId}&limit=50&${query}`

  it.each<[string, () => string, number]>([
    ['searches of two letters that nothing has', () => list('search=zq'), 0],
    ['searches that an index serves', () => list('search=quick+wax&sort=-name'), 2],
    ['filters that much has', () => list('filter[city]=Berlin&sort=n'), 50],
    ['searches that much has, sorted by a field', () => list('search=acme&sort=n'), 50],
    ['searches over all types', () => '/data?search=zq', 0],
    ['lists sorted by a text', () => list('sort=-name'), 50],
    ['histories', () => `/location-histories?deviceId=${tracker.id}&limit=${POINTS / 4}`, POINTS / 4],
    [
      'histories of a box',
      () => `/location-histories?deviceId=${tracker.id}&limit=100000&bbox=50,50,51,51`,
      0,
    ],
  ])(`${READS} %s at once let acknowledgements of others through`, async (_name, path, count) => {
    const [figuresBefore, slowBefore] = [await readFigures(server), slowness()]
    let acknowledged = 0
    // Fast reads may have ended when this process has its next turn: then they are read again.
    while (acknowledged < 2) {
      let reading = true
      const reads = Promise.all(Array.from({ length: READS }, () => reader.get(path())))
      void reads.finally(() => {
        reading = false
      })
      while (reading) {
        await publish(publisher, bystander, { lat: 1, lng: 1, timestamp: Date.now() })
        if (reading) acknowledged++
        await pause(5)
      }
      for (const { status, body } of await reads) expect([status, body.data.length]).toEqual([200, count])
    }
    const slow = Math.max(slowBefore, slowness())
    const before = countHolds(figuresBefore, 'reading', MAX_HOLD, slow)
    const after = countHolds(await readFigures(server), 'reading', MAX_HOLD, slow)
    expect(after.all - before.all).toBeGreaterThanOrEqual(READS)
    expect(after.short - before.short).toBe(after.all - before.all)
  })

  it('what is read in steps is in order, page after page, and whole', async () => {
    const pages = async (query: string, count: number) => {
      const seen: number[] = []
      let cursor = ''
      for (let page = 0; page < count; page++) {
        const { body } = await reader.get(`${list(query)}${cursor && `&cursor=${cursor}`}`)
        seen.push(...body.data.map((one: { data: { n: number } }) => one.data.n))
        cursor = body.pagination.nextCursor
        if (!cursor) break
      }
      return seen
    }
    const first = Array.from({ length: 100 }, (_, n) => n)
    expect(await pages('sort=n', 2)).toEqual(first)
    expect(await pages('sort=-n&search=ac', 2)).toEqual(first.map(n => RECORDS - 1 - n))
    expect(await pages('sort=createdAt&search=ac', 2)).toEqual(first.map(n => RECORDS - 1 - n))
    expect(await pages('sort=-createdAt&search=ac', 2)).toEqual(first)
    expect(await pages('search=qu', 2)).toEqual([RECORDS - EARLY, RECORDS - LATE])
    const { body } = await reader.get(list('search=qu&sort=n'))
    expect(body.pagination).toMatchObject({ total: 2, nextCursor: null })
  })
})
