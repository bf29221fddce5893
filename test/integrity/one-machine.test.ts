import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../services/postgres.ts'
import { createDevice, signIn } from '../support/client.ts'
import { postgresMissing, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openServer, startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { runCommandRoundsOn } from './commands.ts'
import { putBehindNetworks, startDatabaseNetwork } from './networks.ts'
import { runOutagesOn } from './outages.ts'
import { createOwnPostgres } from './own-postgres.ts'
import { countAcknowledged, startPublishers } from './publisher.ts'
import { deployServer } from './rounds.ts'

type Own = Awaited<ReturnType<typeof createOwnPostgres>>
/** For one process, when each connection is reset within 100 ms: 35 were seen, for storing, listening and the lock. */
const MOST_CONNECTIONS_A_SECOND = 150
const kept = { lost: 0, doubled: 0, altered: 0, invented: 0 }

describe.each([
  { name: 'PostgreSQL with TimescaleDB', timescaledb: true },
  { name: 'plain PostgreSQL', timescaledb: false },
])('On $name', ({ timescaledb }) => {
  const missing = postgresMissing()
  let postgres: Extract<Awaited<ReturnType<typeof startPostgres>>, { available: true }>
  const used: TestDatabase[] = []

  beforeAll(async () => {
    if (missing) return
    const service = await startPostgres({ own: true, timescaledb })
    if (service.available) postgres = service
  })
  afterAll(async () => {
    for (const database of used) await database.remove()
    await postgres?.stop()
  })

  /** A test that does not depend on TimescaleDB runs only once. */
  const once = (name: string, work: (own: Own) => Promise<void>) => timescaledb && test(name, work)
  const test = (name: string, work: (own: Own) => Promise<void>) =>
    it(name, async context => {
      if (missing || !postgres?.control) return context.skip(missing ?? 'The server is not ours to kill')
      const own = await createOwnPostgres(postgres.url, postgres.control)
      used.push(own.database)
      await work(own)
    })

  // Points meanwhile are the subject of command.test.ts.
  once(
    'every command is handed over newly at most once and has its first answer, though server and database are killed',
    async own => {
      const deployment = await deployServer(own.database, [own.victim])
      const report = await runCommandRoundsOn(deployment, { rounds: 2, devices: 4, killWithinMs: 1_500 })
      expect(report).toMatchObject({ lost: 0, doubled: 0, late: 0, disordered: 0, altered: 0 })
      expect(report.made).toBeGreaterThan(20)
    },
  )

  test('two servers may start at once on an empty database', async own => {
    const start = timescaledb ? startServer : openServer
    const [first, second] = await Promise.all([
      start(own.database),
      start(own.database, { ROLES: 'api,jobs' }),
    ])
    const owner = await signIn(first)
    expect(
      (await fetch(`${second.url}/api/v3/user`, { headers: { authorization: `Bearer ${owner.token}` } }))
        .status,
    ).toBe(200)
    // The other process refuses a token from the first request after one process has revoked it.
    await owner.post('/auth/logout')
    expect(
      (await fetch(`${second.url}/api/v3/user`, { headers: { authorization: `Bearer ${owner.token}` } }))
        .status,
    ).toBe(401)
    await Promise.all([first.stop(), second.stop()])
  })

  once('a server may start before its database', async own => {
    await postgres.control?.halt()
    const starting = openServer(own.database)
    await pause(2_000)
    await postgres.control?.start()
    const server = await starting
    await signIn(server)
    await server.stop()
  })

  once('a server may start while its database comes and goes', async own => {
    const starting = openServer(own.database)
    for (const after of [200, 400, 100, 300]) {
      await pause(after)
      await postgres.control?.kill9()
      await postgres.control?.start()
    }
    const server = await starting
    await signIn(server)
    await server.stop()
  })

  once(
    'while the database is frozen nothing is acknowledged and nobody disconnected; then all goes on',
    async own => {
      const server = await openServer(own.database)
      const owner = await signIn(server)
      const publishers = await startPublishers(owner, () => server.mqttPort, 8, {
        keepalive: 4,
        rate: 400,
      })
      const count = () => countAcknowledged(publishers)
      await until('under load', () => count() > 200)
      postgres.control?.freeze()
      let frozen = 0
      await until('what was under way is acknowledged', async () => {
        frozen = count()
        await pause(500)
        return count() === frozen
      })
      await pause(9_500)
      expect(count()).toBe(frozen)
      expect((await fetch(`${server.url}/health`)).status).toBe(200)
      expect((await fetch(`${server.url}/ready`)).status).toBe(503)
      postgres.control?.thaw()
      await until('going on', () => count() > frozen + 200)
      expect(publishers.map(({ connections }) => connections)).toEqual(publishers.map(() => 1))
      await Promise.all(publishers.map(publisher => publisher.finish()))
      expect(await checkHistories(owner, publishers)).toMatchObject(kept)
      await server.stop()
    },
  )

  once(
    'a network that loses what is answered, or resets connections, costs no point, and no storm of retries',
    async own => {
      const { network, database } = await startDatabaseNetwork(own.database)
      const server = await deployServer(database)
      const { deployment, networks } = await putBehindNetworks(server, [network])
      const outages = networks
        .flatMap(({ outages }) => outages)
        .filter(({ name }) =>
          ['devices: answers lost', 'PostgreSQL: answers lost', 'PostgreSQL: reset'].includes(name),
        )
      const { report, outages: told } = await runOutagesOn(deployment, outages, {
        seconds: 2,
        devices: 8,
        settleSeconds: 0.5,
        rate: 200,
        keepalive: 2,
      })
      expect(report).toMatchObject(kept)
      expect(report.stored).toBe(report.acknowledged)
      for (const { outage, connectionsASecond } of told.slice(1)) {
        expect(connectionsASecond, outage).toBeLessThan(MOST_CONNECTIONS_A_SECOND)
      }
    },
  )

  once(
    'while the database is away a request is answered 503 with Retry-After, and works again by itself',
    async own => {
      const server = await openServer(own.database)
      const owner = await signIn(server)
      const device = await createDevice(owner)
      await postgres.control?.halt()
      const point = { lat: 1, lng: 2, timestamp: Date.now() - 1000 }
      const request = () =>
        owner.post('/location-history/bulk', { points: [point] }, { authorization: `Bearer ${device.key}` })
      const away = await request()
      expect([away.status, away.headers.get('retry-after')]).toEqual([503, '5'])
      await postgres.control?.start()
      await until('back', async () => (await request()).status === 200)
      const client = await connectDevice(server, device)
      await publish(client, device, { ...point, timestamp: point.timestamp - 1000 })
      await client.endAsync()
      await server.stop()
    },
  )
})
