import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { becomeSingleWriter } from '../../db/single-writer.ts'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { isRunning, openServer, startRefused, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const missing = postgresMissing()
const HOLDER = `application_name = 'fieldline writer' AND datname = current_database()`

describe.skipIf(missing)(`Without Kafka${missing ? ` (${missing})` : ''}`, () => {
  let database: TestDatabase
  let administrator: pg.Client
  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    administrator = new pg.Client({ connectionString: database.url })
    await administrator.connect()
  })
  afterAll(async () => {
    await administrator?.end()
    await database?.remove()
  })

  it('one process stores: a second one does not start, and takes over when the first was killed', async () => {
    const first = await startServer(database)
    const refused = await startRefused(database)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('Another process stores into this database already')
    await openServer(database, { ROLES: 'api,jobs' }).then(beside => beside.stop())
    await first.kill9()
    const second = await openServer(database)
    await second.stop()
  })

  it('a process that loses its lock continues when it has it again, and ends if another has stored meanwhile', async () => {
    const server = await startServer(database)
    const owner = await signIn(server)
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    const send = (lat: number) => publish(client, device, { lat, lng: 2, timestamp: Date.now() })
    await send(1)
    const terminate = () =>
      administrator.query(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE ${HOLDER}`)
    await terminate()
    await send(2)
    expect(await readHistory(owner, device.id)).toHaveLength(2)

    // Another process that takes the lock in between does the same.
    await administrator.query('UPDATE log_positions SET next_offset = next_offset + 5000000')
    await terminate()
    client.on('error', () => {})
    void send(3).catch(() => {})
    // Its connections close a moment before it has ended.
    await until('it has ended', () => !isRunning(server))
    expect(
      await server.kill9().then(
        () => 'alive',
        error => String(error),
      ),
    ).toContain('ended by itself with 1')
    await until('its log says so', () =>
      server.output.stderr.includes('Another process has stored into this database meanwhile'),
    )
    await client.endAsync(true)
  })

  it('a process that is cut off again while it locks again does not lock itself out', async () => {
    const own = await createTestDatabase('postgres')
    const { driver, close } = await openTestDatabase(own)
    const failures: unknown[] = []
    let isCutOff = false
    const single = await becomeSingleWriter({
      driver: {
        ...driver,
        async runWriting(statement) {
          if (isCutOff) throw Object.assign(new Error('cut off'), { code: 'ECONNRESET' })
          return driver.runWriting(statement)
        },
      },
      onError: error => failures.push(error),
      onLost: error => failures.push(error),
    })
    isCutOff = true
    const another = new pg.Client({ connectionString: own.url })
    await another.connect()
    await another.query(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE ${HOLDER}`)
    await another.end()
    await until('it is cut off where it looks who stored meanwhile', () =>
      String(failures.at(-1)).includes('cut off'),
    )
    isCutOff = false
    expect(await single.store({ partition: 0, nextOffset: 1 }, async () => 'stored')).toBe('stored')
    await single.release()
    await close()
    await own.remove()
  })
})
