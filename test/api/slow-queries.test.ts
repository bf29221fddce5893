import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPgbouncer } from '../services/pgbouncer.ts'
import { type Client, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { OWNER, openServer, type Server, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const missing = postgresMissing()
/** More than there are connections of any kind, and as many as one person may have in flight. */
const SLOW = 16
/** After this time a statement ends by itself, for any caller (`statement_timeout` is 15 s). */
const BY_ITSELF_MS = 14_000

describe.skipIf(missing)(`Slow statements of one organization${missing ? ` (${missing})` : ''}`, () => {
  let database: TestDatabase
  /** Locks the data records, so that every statement about them is as slow as possible. */
  let lock: pg.Client
  /** Reads the running statements, outside of that transaction. */
  let watch: pg.Client
  let server: Server
  let busy: Client
  let colleague: Client
  let other: Client
  let dataTypeId: string

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    lock = new pg.Client({ connectionString: database.url })
    await lock.connect()
    watch = new pg.Client({ connectionString: database.url })
    await watch.connect()
    server = await openServer(database)
    busy = await signIn(server)
    colleague = (await addPerson(server, busy, { role: 'Admin' })).client
    const founder = await addPerson(server, busy, { role: 'Admin' })
    other = (await addOrganization(server, founder.client)).client
    const type = await busy.post('/data-type', { name: 'Parcel', fields: [], primaryKey: null })
    dataTypeId = type.body.data._id
    const waiting = `SELECT FROM jobs WHERE organization_id IS NOT NULL AND status IN ('queued', 'running')`
    await until('its sample records are there', async () => (await lock.query(waiting)).rowCount === 0)
  })
  afterAll(async () => {
    await server?.stop()
    await lock?.end()
    await watch?.end()
    await database?.remove()
  })

  const running = async () => {
    const { rows } = await watch.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'`,
    )
    return rows[0]?.n ?? 0
  }
  const holdRecords = () => lock.query('BEGIN; LOCK TABLE data_records IN ACCESS EXCLUSIVE MODE')

  const read = (url: string, signal?: AbortSignal) =>
    fetch(`${url}/api/v3/data?search=zq`, {
      headers: { authorization: `Bearer ${busy.token}` },
      ...(signal ? { signal } : {}),
    }).then(
      answer => answer.status,
      () => 'left',
    )

  it('hold up nobody else: requests, signing in, devices and storing go on', async () => {
    const device = await createDevice(other)
    await holdRecords()
    const reads = Array.from({ length: SLOW }, () => busy.get('/data?search=zq'))
    const writes = Array.from({ length: SLOW }, () => colleague.post('/data', { dataTypeId, data: {} }))
    await until('they run', async () => (await running()) >= 4)

    const others: [string, () => Promise<unknown>][] = [
      ['a list', () => other.get('/hubs?search=a').then(answer => expect(answer.status).toBe(200))],
      [
        'a change',
        () => other.post('/hub', { name: 'H', lat: 1, lng: 2 }).then(a => expect(a.status).toBe(201)),
      ],
      ['signing in', () => signIn(server, OWNER)],
      [
        'a device',
        async () => {
          const client = await connectDevice(server, device)
          await publish(client, device, { lat: 1, lng: 2, timestamp: Date.now() })
          await client.endAsync()
        },
      ],
      ['the history', () => other.get('/location-histories').then(a => expect(a.body.data).toHaveLength(1))],
      ['readiness', () => fetch(`${server.url}/ready`).then(answer => expect(answer.status).toBe(200))],
    ]
    for (const [name, work] of others) {
      await work()
      // The slow ones still run: nobody waited for their end.
      expect(await running(), name).toBeGreaterThan(0)
    }

    for (const { status, headers } of await Promise.all([...reads, ...writes])) {
      expect(status).toBe(503)
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
    await until('they have ended in the database too', async () => (await running()) === 0)
    await lock.query('ROLLBACK')
    expect((await busy.get('/data?search=zq')).status).toBe(200)
  })

  it('are cancelled in the database when their caller hangs up', async () => {
    await holdRecords()
    const leaving = new AbortController()
    const left = read(server.url, leaving.signal)
    await until('it runs', async () => (await running()) === 1)
    leaving.abort()
    expect(await left).toBe('left')
    await until('it is cancelled', async () => (await running()) === 0, BY_ITSELF_MS)
    await lock.query('ROLLBACK')
  })

  it('end in the database when their process was killed', async () => {
    await holdRecords()
    const dying = await startServer(database, { ROLES: 'api' })
    const asked = read(dying.url)
    await until('it runs', async () => (await running()) === 1)
    await dying.kill9()
    await asked
    await until('nothing is left running', async () => (await running()) === 0, BY_ITSELF_MS)
    await lock.query('ROLLBACK')
  })

  it('end through a pooler in transaction mode as well, cancelled or by themselves', async () => {
    const pooler = await startPgbouncer(database.url as string)
    if (!pooler.available) throw new Error(pooler.reason)
    const pooled = await openServer(
      { ...database, url: pooler.url },
      { DATABASE_DIRECT_URL: database.url as string, ROLES: 'api' },
    )
    expect(await read(pooled.url)).toBe(200)
    await holdRecords()
    const leaving = new AbortController()
    const left = read(pooled.url, leaving.signal)
    await until('it runs', async () => (await running()) === 1)
    leaving.abort()
    expect(await left).toBe('left')
    await until('it is cancelled', async () => (await running()) === 0, BY_ITSELF_MS)
    expect(await read(pooled.url)).toBe(503)
    expect(await running()).toBe(0)
    await lock.query('ROLLBACK')
    await pooled.stop()
    await pooler.stop()
  })
})
