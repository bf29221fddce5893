import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { startMosquitto } from '../services/mosquitto.ts'
import { type Postgres, startPostgres } from '../services/postgres.ts'
import type { Service } from '../services/services.ts'
import {
  type Client,
  createClient,
  createDevice,
  readHistory,
  readNewest,
  signIn,
  type TestDevice,
} from '../support/client.ts'
import { type Heard, listenForCommands, readCommands, sendCommand } from '../support/commands.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { readFigures } from '../support/figures.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen, shows, upgradeStatus } from '../support/screen.ts'
import { openServer, type Server, type ServerProcess, startRefused } from '../support/server.ts'
import { until, untilTold } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { type Cluster, deployCluster, startProcess, toBroker } from './cluster.ts'
import { cutAtRandom } from './cuts.ts'
import { FOREIGN_ENV, runForeignBrokerOn } from './foreign-broker.ts'
import { startKafkaNetwork } from './networks.ts'
import { outagesOf, runOutagesOn } from './outages.ts'
import { createOwnPostgres } from './own-postgres.ts'
import { countAcknowledged, type Publisher, startPublishers } from './publisher.ts'
import { runRoundsOn } from './rounds.ts'
import { startWatcher } from './watcher.ts'

/** Points a second, of all devices together. */
const RATE = 200
const kept = { lost: 0, doubled: 0, altered: 0, invented: 0 }

const { kafka, network } = await startKafkaNetwork()
const missing = kafka.missing ?? postgresMissing()
afterAll(async () => {
  await network.proxy.close()
  await kafka.stop()
})

// All tests share one broker, one PostgreSQL server and one set of processes: starting them takes most of the
// processor time.
describe.skipIf(missing)(`In the cluster tier${missing ? ` (${missing})` : ''}`, () => {
  let postgres: Service<Postgres>
  let database: TestDatabase
  let cluster: Cluster
  let owner: Client
  beforeAll(async () => {
    postgres = await startPostgres({ own: true })
    if (!postgres.available) throw new Error(postgres.reason)
    database = postgres.control
      ? (await createOwnPostgres(postgres.url, postgres.control)).database
      : await createTestDatabase('postgres')
    cluster = await deployCluster(database, kafka, [], { env: FOREIGN_ENV, hasSecondIngest: true })
    owner = await signIn(cluster)
  })
  afterAll(async () => {
    await cluster?.stop()
    await database?.remove()
    if (postgres?.available) await postgres.stop()
  })

  describe('Processes of one role each', () => {
    const at = (server: ServerProcess) => createClient(server, owner.token)

    it('all say that they live and are ready, and show their figures', async () => {
      for (const server of Object.values(cluster.servers)) {
        expect((await fetch(`${server.url}/health`)).status).toBe(200)
        const ready = await fetch(`${server.url}/ready`)
        expect(ready.status).toBe(200)
        const { data } = (await ready.json()) as { data: object }
        expect(data).toMatchObject({ database: true, listeners: true })
        expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('process_cpu_seconds_total')
      }
      const { api, ingest, live } = cluster.servers
      expect(api.output.stdout).toMatch(/^fieldline ready http:\/\/127\.0\.0\.1:\d+$/m)
      expect(ingest.output.stdout).toMatch(/^fieldline ready http:\S+ mqtt:\/\/127\.0\.0\.1:\d+$/m)
      expect(live.output.stdout).not.toContain('mqtt:')
      const writer = await fetch(`${cluster.servers['the first writer'].url}/metrics`)
      expect(await writer.text()).toMatch(/^fieldline_log_retention_seconds 2592000$/m)
    })

    it('share the partitions among the writers, which say whether they have their part', async () => {
      const writers = [cluster.servers['the first writer'], cluster.servers['the second writer']]
      await until('both have partitions, which are all', async () => {
        const figures = await Promise.all(writers.map(writer => readFigures(writer)))
        const counts = figures.map(of => of.get('fieldline_log_writer_partitions') ?? 0)
        return counts.every(count => count > 0) && counts.reduce((sum, count) => sum + count, 0) === 4
      })
      for (const writer of writers)
        expect(await (await fetch(`${writer.url}/ready`)).json()).toMatchObject({ data: { writer: true } })
    })

    it('serve the routes of their role, and describe all', async () => {
      const { api, ingest, live } = cluster.servers
      const points = { points: [{ lat: 1, lng: 1, timestamp: Date.now() - 1_000 }] }
      const answers = async (path: string, send = (client: Client) => client.get(path)) => {
        const statuses = []
        for (const server of [api, ingest, live]) statuses.push((await send(at(server))).status)
        return statuses
      }
      expect(await answers('/devices')).toEqual([200, 404, 404])
      expect(await answers('/bulk', client => client.post('/location-history/bulk', points))).toEqual([
        404, 200, 404,
      ])
      const upgrades = []
      for (const server of [api, ingest, live]) {
        const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v3/live`, [
          'bearer',
          owner.token,
        ])
        upgrades.push(await upgradeStatus(socket))
        socket.terminate()
      }
      expect(upgrades).toEqual([404, 404, 101])
      const { paths } = (await (await fetch(`${api.url}/api/v3/openapi.json`)).json()) as { paths: object }
      expect(Object.keys(paths)).toEqual(
        expect.arrayContaining(['/api/v3/location-history/bulk', '/api/v3/live', '/api/v3/devices']),
      )
      const refused = await at(api).post('/location-history/bulk', points)
      expect(refused.body.message).toBe('This process does not serve this address: its ROLES lack ingest.')
    })

    it('carry a point from the ingest of one to the table, the history and the live clients of others', async () => {
      const device = await createDevice(owner)
      const screen = await openScreen(cluster.servers.live, owner.token)
      const client = await connectDevice(cluster.servers.ingest, device)
      const timestamp = new Date(Date.now() - 1_000).toISOString()
      await publish(client, device, [
        { lat: 52.5, lng: 13.4, timestamp, speed: 3.5 },
        { lat: 0, lng: 0, timestamp },
      ])
      await until('stored', async () => (await readHistory(owner, device.id)).length === 1)
      expect(await readHistory(owner, device.id)).toMatchObject([
        { lat: 52.5, lng: 13.4, timestamp, speed: 3.5 },
      ])
      await until('shown', () => screen.positions.get(device.id)?.timestamp === timestamp)
      await until('the rejection is there', async () => {
        const { body } = await owner.get(`/device/${device.id}/rejections`)
        return body.counts['no-fix'] === 1
      })
      screen.cut()
      await client.endAsync()
    })

    it('carry a command from the api of one to a device at the ingest of another, and its answer back', async () => {
      const device = await createDevice(owner)
      const listener = await listenForCommands(cluster.servers.ingest, device)
      await untilTold(async () => {
        const id = await sendCommand(owner, device)
        const [command] = (await listener.wait(1)) as [Heard]
        expect(command).toMatchObject({ id, dup: false })
        listener.acknowledge(command)
        await listener.answer(id, { status: 'done', result: 7 })
        expect((await readCommands(owner, device)).get(id)).toMatchObject({ state: 'done', result: 7 })
      })
      await listener.cut()
    })

    it('hear at once of a key or a token that ends', async () => {
      const device = await createDevice(owner)
      const other = await signIn(cluster)
      const { body } = await other.get('/user')
      const byKey = await connectDevice(cluster.servers.ingest, device)
      const user = { id: body.data._id, key: other.token }
      const byToken = await connectDevice(cluster.servers.ingest, user, { username: 'token' })
      const screen = await openScreen(cluster.servers.live, other.token)
      const gone = (client: typeof byKey) =>
        new Promise<void>(resolve => client.once('close', () => resolve()))
      const closed = Promise.all([gone(byKey), gone(byToken), screen.closed])
      await untilTold(async () => {
        await owner.post(`/device/${device.id}/rotate-key`)
        await other.post('/auth/logout')
        expect((await closed)[2]).toMatchObject({ code: 4401 })
      })
      expect((await at(cluster.servers.ingest).post('/location-history/bulk', { points: [] })).status).toBe(
        400,
      )
      const revoked = createClient(cluster.servers.ingest, other.token)
      expect((await revoked.post('/location-history/bulk', { points: [] })).status).toBe(401)
    })

    it('are not ready while Kafka is away, and bulk points are answered 503', async () => {
      const { ingest, api } = cluster.servers
      kafka.control.freeze()
      try {
        const points = { points: [{ lat: 2, lng: 2, timestamp: Date.now() - 500 }] }
        const [bulk, ready, other] = await Promise.all([
          at(ingest).post('/location-history/bulk', points),
          fetch(`${ingest.url}/ready`),
          fetch(`${api.url}/ready`),
        ])
        expect([bulk.status, ready.status, other.status]).toEqual([503, 503, 200])
        expect(bulk.headers.get('retry-after')).toBeTruthy()
      } finally {
        kafka.control.thaw()
      }
      await until('ready again', async () => (await fetch(`${ingest.url}/ready`)).status === 200)
    })

    it('store the points of a dead writer', async () => {
      const devices: TestDevice[] = []
      for (let n = 0; n < 8; n++) devices.push(await createDevice(owner))
      const clients = await Promise.all(devices.map(device => connectDevice(cluster.servers.ingest, device)))
      const send = (lat: number) =>
        Promise.all(
          devices.map((device, n) =>
            publish(clients[n] as (typeof clients)[0], device, {
              lat,
              lng: 1,
              timestamp: Date.now() - 1_000,
            }),
          ),
        )
      const stored = async (count: number) => {
        const histories = await Promise.all(devices.map(device => readHistory(owner, device.id)))
        return histories.every(history => history.length === count)
      }
      await send(1)
      await until('both writers store', () => stored(1))
      await cluster.servers['the first writer'].kill9()
      try {
        await send(2)
        await until('the other writer has stored them', () => stored(2))
      } finally {
        await cluster.restart('the first writer')
      }
      await Promise.all(clients.map(client => client.endAsync()))
    })

    it('do not start with another number of partitions than the topic has', async () => {
      const env = { ROLES: 'writer', KAFKA_BROKERS: kafka.brokers.join(','), KAFKA_PARTITIONS: '6' }
      const { code, stderr } = await startRefused(database, env)
      expect(code).toBe(1)
      expect(stderr).toContain('The topic fieldline.points has 4 partitions, and KAFKA_PARTITIONS says 6')
    })
  })

  describe('Several processes of one role', () => {
    let publishers: Publisher[]
    const more: ServerProcess[] = []
    beforeEach(async () => {
      publishers = await startPublishers(owner, () => cluster.mqttPort, 8, { rate: RATE })
    })
    afterEach(async () => {
      for (const server of more.splice(0)) expect(await server.stop()).toBe(0)
    })

    it('live: a client continues at another one with its cursor, whichever has read further', async () => {
      more.push(await startProcess(database, kafka, 'live'))
      const servers = () => [cluster.servers.live, ...more]
      await cutAtRandom({ servers, owner, publishers, cuts: 8 })
    })

    it('writers: one is killed in the middle of a batch, a third joins, and nothing is doubled', async () => {
      const writers = [cluster.servers['the first writer'], cluster.servers['the second writer']] as const
      await until('both writers store', async () =>
        (await Promise.all(writers.map(countStored))).every(n => n > 100),
      )
      const lock = new pg.Client({ connectionString: database.url })
      await lock.connect()
      await lock.query('BEGIN')
      // The writers have written the points then, and are kept from what follows in the same transaction.
      await lock.query('LOCK TABLE newest_fixes IN SHARE MODE')
      await until('both writers have a batch in hand', async () =>
        (await Promise.all(writers.map(readUnstoredSeconds))).every(seconds => seconds > 0.5),
      )
      const acknowledged = countAcknowledged(publishers)
      await writers[0].kill9()
      more.push(await startProcess(database, kafka, 'writer'))
      await until('nobody is held up', () => countAcknowledged(publishers) > acknowledged + RATE)
      await lock.query('COMMIT')
      await lock.end()
      await until('the third stores', async () => (await countStored(more[0] as ServerProcess)) > 100)
      await Promise.all(publishers.map(publisher => publisher.finish()))
      await cluster.settle()
      const report = await checkHistories(owner, publishers)
      expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
      expect(report.stored).toBe(report.acknowledged)
      await cluster.restart('the first writer')
    })
  })

  it('services that are away for a while cost no point and no connection, and nobody waits for the database', async context => {
    if (!postgres.available || !postgres.control) return context.skip('The server is not ours to kill')
    const lost = network.outages.filter(({ name }) => name === 'Kafka: answers lost')
    // It is killed in the next test, and full-disk.test.ts counts the connections while it is away.
    const frozen = outagesOf('Kafka', kafka.control).slice(0, 1)
    const { outages, report } = await runOutagesOn(
      { ...cluster, stop: async () => {} },
      [...lost, ...frozen, ...outagesOf('PostgreSQL', postgres.control)],
      { seconds: 4, devices: 8, settleSeconds: 1, rate: RATE },
    )
    expect(report).toMatchObject({ ...kept, closed: 0 })
    expect(report.stored).toBe(report.acknowledged)
    const [ofKafka, ofDatabase] = [outages.slice(0, 2), outages.slice(2)]
    // Points that were under way when the outage began may still be acknowledged; nothing else is.
    for (const { acknowledgedMeanwhile } of ofKafka) expect(acknowledgedMeanwhile).toBeLessThan(1.5 * RATE)
    // More than in the second before, which may be few on a slow machine.
    for (const { acknowledgedBefore, acknowledgedMeanwhile } of ofDatabase)
      expect(acknowledgedMeanwhile).toBeGreaterThan(Math.min(RATE, acknowledgedBefore))
  })

  it('every acknowledged point is stored once, and shown, though each process and Kafka are killed', async () => {
    const shown = (await readNewest(owner)).size
    const watcher = await startWatcher(() => cluster.servers.live.url, owner)
    const deployment = {
      ...cluster,
      // One writer stands for both.
      victims: [...cluster.victims.filter(({ name }) => name !== 'the second writer'), toBroker(kafka)],
      async settle() {
        await cluster.settle()
        const newest = await readNewest(owner)
        // The devices of the publishers over MQTT and HTTP, and the walker.
        expect(newest.size).toBe(shown + 10)
        await until('the screen shows what the database holds', () => shows(watcher.screen, newest))
        await watcher.stop()
      },
      stop: async () => {},
    }
    const rounds = deployment.victims.length
    const report = await runRoundsOn(deployment, { rounds, devices: 8, killWithinMs: 1_000, rate: RATE })
    expect(report).toMatchObject(kept)
    expect(report.acknowledged).toBeGreaterThan(500)
    expect(watcher).toMatchObject({ resumed: 1, backwards: 0, snapshots: 0 })
  })

  it('when the process that holds a connection to a broker dies, another one takes over, and nothing is lost', async context => {
    const mosquitto = await startMosquitto()
    if (!mosquitto.available) return context.skip(mosquitto.reason)
    await mosquitto.stop()
    const deployment = { ...cluster, victims: [], stop: async () => {} }
    const report = await runForeignBrokerOn(deployment, {
      rounds: 1,
      devices: 4,
      killWithinMs: 500,
      rate: 100,
    })
    expect(report).toMatchObject(kept)
    // How long it may take is checked by `npm run integrity -- --tier cluster --foreign-broker`.
    expect(report.slowestTakeOver).not.toBeNull()
    expect(report.taken).toBeGreaterThan(50)
  })
})

describe.skipIf(missing)('A deployment that outgrows one machine', () => {
  it('keeps its history, its rejections and the cursors of its live clients when it moves to Kafka', async () => {
    const database = await createTestDatabase('postgres')
    const before = await openServer(database)
    const owner = await signIn(before)
    const device = await createDevice(owner)
    const now = Date.now()
    const sendTo = async (server: Server, from: number) => {
      const client = await connectDevice(server, device)
      for (let n = from; n < from + 20; n++) {
        await publish(client, device, [
          { lat: 1, lng: n, timestamp: now - 60_000 + n },
          { lat: 0, lng: 0 },
        ])
      }
      await client.endAsync()
    }
    await sendTo(before, 0)
    let screen = await openScreen(before, owner.token)
    expect(screen.positions.get(device.id)).toMatchObject({ lng: 19 } as object)
    screen.cut()
    await before.stop()

    const after = await openServer(database, {
      KAFKA_BROKERS: kafka.brokers.join(','),
      KAFKA_PREFIX: 'moved',
    })
    await sendTo(after, 20)
    screen = await openScreen(after, owner.token, { resume: screen })
    const newest = () => screen.positions.get(device.id) as { lat: number; lng?: number } | undefined
    await until('the newest is shown', () => newest()?.lat === 1 && newest()?.lng === 39)
    expect(screen.snapshots).toBe(0)
    const moved = await signIn(after)
    await until('all is stored', async () => (await readHistory(moved, device.id)).length === 40)
    await until('every rejection is there', async () => {
      const { body } = await moved.get(`/device/${device.id}/rejections`)
      return body.counts['bad-timestamp'] === 40 || body.counts['no-fix'] === 40
    })
    screen.cut()
    await after.stop()
    await database.remove()
  })
})

const countStored = async (server: ServerProcess) =>
  (await readFigures(server)).get('fieldline_stored_total{kind="point"}') ?? 0
const readUnstoredSeconds = async (server: ServerProcess) =>
  (await readFigures(server)).get('fieldline_log_unstored_seconds') ?? 0
