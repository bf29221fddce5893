import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import {
  type Client,
  createClient,
  createDevice,
  readHistory,
  signIn,
  type TestDevice,
} from '../support/client.ts'
import { inTime } from '../support/crowding.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { startTestKafka } from '../support/kafka.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen, upgradeStatus } from '../support/screen.ts'
import { type ServerProcess, startRefused, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { type Cluster, deployCluster } from './cluster.ts'

const kafka = await startTestKafka()
const missing = kafka.missing ?? postgresMissing()
afterAll(() => kafka.stop())

describe.skipIf(missing)(`Processes of one role each${missing ? ` (${missing})` : ''}`, () => {
  let database: TestDatabase
  let cluster: Cluster
  let owner: Client
  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    cluster = await deployCluster(database, kafka)
    owner = await signIn(cluster)
  })
  afterAll(async () => {
    await cluster?.stop()
    await database?.remove()
  })

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
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v3/live`, ['bearer', owner.token])
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

  it('hear of a key or a token that ends, each within a second', async () => {
    const device = await createDevice(owner)
    const other = await signIn(cluster)
    const { body } = await other.get('/user')
    const byKey = await connectDevice(cluster.servers.ingest, device)
    const user = { id: body.data._id, key: other.token }
    const byToken = await connectDevice(cluster.servers.ingest, user, { username: 'token' })
    const screen = await openScreen(cluster.servers.live, other.token)
    const gone = (client: typeof byKey) => new Promise<void>(resolve => client.once('close', () => resolve()))
    const closed = Promise.all([gone(byKey), gone(byToken), screen.closed])
    await inTime(1_500, async () => {
      await owner.post(`/device/${device.id}/rotate-key`)
      await other.post('/auth/logout')
      expect((await closed)[2]).toMatchObject({ code: 4401 })
    })
    expect((await at(cluster.servers.ingest).post('/location-history/bulk', { points: [] })).status).toBe(400)
    const revoked = createClient(cluster.servers.ingest, other.token)
    expect((await revoked.post('/location-history/bulk', { points: [] })).status).toBe(401)
  })

  it('are not ready while Kafka is away, and bulk points are answered 503', async () => {
    const { ingest, api } = cluster.servers
    kafka.control.freeze()
    try {
      const points = { points: [{ lat: 2, lng: 2, timestamp: Date.now() - 500 }] }
      const begun = Date.now()
      const [bulk, ready, other] = await Promise.all([
        at(ingest).post('/location-history/bulk', points),
        fetch(`${ingest.url}/ready`),
        fetch(`${api.url}/ready`),
      ])
      expect({ bulk: bulk.status, ready: ready.status, other: other.status }).toEqual({
        bulk: 503,
        ready: 503,
        other: 200,
      })
      expect(bulk.headers.get('retry-after')).toBeTruthy()
      expect(Date.now() - begun).toBeLessThan(12_000)
    } finally {
      kafka.control.thaw()
    }
    await until('ready again', async () => (await fetch(`${ingest.url}/ready`)).status === 200, 20_000)
  })

  it('store what a dead writer had within 12 s', async () => {
    const devices: TestDevice[] = []
    for (let n = 0; n < 8; n++) devices.push(await createDevice(owner))
    const clients = await Promise.all(devices.map(device => connectDevice(cluster.servers.ingest, device)))
    const send = (lat: number) =>
      Promise.all(
        devices.map((device, n) =>
          publish(clients[n] as (typeof clients)[0], device, { lat, lng: 1, timestamp: Date.now() - 1_000 }),
        ),
      )
    const stored = async (count: number) => {
      const histories = await Promise.all(devices.map(device => readHistory(owner, device.id)))
      return histories.every(history => history.length === count)
    }
    await send(1)
    await until('both writers store', () => stored(1), 20_000)
    await cluster.servers['the first writer'].kill9()
    try {
      await send(2)
      await until('the other writer has stored them', () => stored(2), 12_000)
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

describe.skipIf(missing)('A deployment that outgrows one machine', () => {
  it('keeps its history, its rejections and the cursors of its live clients when it moves to Kafka', async () => {
    const database = await createTestDatabase('postgres')
    const before = await startServer(database)
    const owner = await signIn(before)
    const device = await createDevice(owner)
    const now = Date.now()
    const sendTo = async (server: ServerProcess, from: number) => {
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
    expect(await before.stop()).toBe(0)

    const after = await startServer(database, {
      KAFKA_BROKERS: kafka.brokers.join(','),
      KAFKA_PREFIX: 'moved',
    })
    await sendTo(after, 20)
    screen = await openScreen(after, owner.token, { resume: screen })
    await until(
      'the newest is shown',
      () => screen.positions.get(device.id)?.lat === 1 && lngOf(screen) === 39,
    )
    expect(screen.snapshots).toBe(0)
    const moved = await signIn(after)
    await until('all is stored', async () => (await readHistory(moved, device.id)).length === 40)
    await until('every rejection is there', async () => {
      const { body } = await moved.get(`/device/${device.id}/rejections`)
      return body.counts['bad-timestamp'] === 40 || body.counts['no-fix'] === 40
    })
    screen.cut()
    expect(await after.stop()).toBe(0)
    await database.remove()

    function lngOf(of: typeof screen): number | undefined {
      return (of.positions.get(device.id) as { lng?: number } | undefined)?.lng
    }
  })
})
