import type { Socket } from 'node:net'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createScheduler } from '../../fair/scheduler.ts'
import { createIntake, type Intake } from '../../ingest/connections/intake.ts'
import { createConnections } from '../../ingest/connections.ts'
import { createDeviceKey } from '../../ingest/identity/authenticate.ts'
import { createTokens } from '../../ingest/identity/tokens.ts'
import { createWatcher, type Watcher } from '../../ingest/identity/watcher.ts'
import { createIngestMetrics } from '../../ingest/metrics.ts'
import { AckQueue } from '../../ingest/mqtt/ack-queue.ts'
import * as limits from '../../ingest/mqtt/limits.ts'
import { type MqttServer, openMqttServer } from '../../ingest/mqtt/server.ts'
import { createTenants } from '../../ingest/mqtt/tenants.ts'
import { createProfiles } from '../../ingest/profiles/profiles.ts'
import type { Log } from '../../stream/log.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { pause, until } from '../support/wait.ts'
import { connectPacket, DISCONNECT, openRaw, PINGREQ, publishPacket, type RawClient } from './raw.ts'

let time = Date.now() - 3600_000

/** A server whose log keeps its entries and stores nothing. It reads credentials when the test allows it. */
describe('While nothing is stored', () => {
  let database: TestDatabase
  let db: Database
  let log: Log
  let watcher: Watcher
  let server: MqttServer
  let intake: Intake
  let reading = Promise.resolve()

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
    log = createProcessLog({ partitions: 1, start: new Map(), onError: () => {} })
    watcher = createWatcher({ db, onError: () => {} })
    const metrics = createIngestMetrics(new Registry())
    intake = createIntake({ db, log, metrics, lastSeen: { see() {} }, traces: { note() {} }, onError() {} })
    server = await openMqttServer({
      watcher: {
        ...watcher,
        read: async read => {
          await reading
          return watcher.read(read)
        },
      },
      scheduler: createScheduler(),
      tenants: createTenants(),
      db,
      log,
      tokens: createTokens('a secret of thirty-two characters'),
      metrics,
      intake,
      profiles: createProfiles({ db, onError: () => {} }),
      lastSeen: { see() {} },
      traces: { note() {}, refuse() {} },
      host: '127.0.0.1',
      port: 0,
      sockets: createConnections({ max: 1_000, isProxy: () => false }),
      connectionsPerSecond: 0,
      onError: () => {},
    })
  })
  afterAll(async () => {
    const closed = log.close()
    await server.close()
    await intake.close()
    await closed
    watcher.close()
    await db.close()
    await database.remove()
  })

  async function addDevice(): Promise<{ id: string; key: string; subject: number }> {
    const { key, hash } = createDeviceKey()
    const [device] = await db.system.query<{ id: string; subject: string }>(
      `WITH organization AS (INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'Held') RETURNING id),
       subject AS (INSERT INTO subjects (id, organization_id, type)
         SELECT gen_random_uuid(), id, 'device' FROM organization RETURNING id, organization_id, key)
       INSERT INTO devices (id, organization_id, name, key_hash) SELECT id, organization_id, 'Tracker', $1 FROM subject
       RETURNING id, (SELECT key FROM subject) AS subject`,
      [hash],
    )
    return { id: device?.id as string, key, subject: Number(device?.subject) }
  }
  type Device = Awaited<ReturnType<typeof addDevice>>
  let names = 0
  const hello = (device: Device, options = {}) =>
    connectPacket({ clientId: `${names++}`, username: device.id, password: device.key, ...options })
  async function open(device: Device, options = {}): Promise<RawClient> {
    const client = openRaw(server.port)
    client.send(hello(device, options))
    await client.next('connack')
    return client
  }
  const points = (device: Device, count: number, options: { id?: number; qos?: 0 | 1 | 2 } = {}) =>
    publishPacket({
      topic: `devices/${device.id}/location`,
      payload: JSON.stringify(Array.from({ length: count }, () => ({ lat: 1, lng: 1, timestamp: time++ }))),
      ...options,
    })

  it('a credential is read again if it may have ended meanwhile, and not because others change', async () => {
    const [mine, other] = [await addDevice(), await addDevice()]
    const organizationId = crypto.randomUUID()
    const credential = {
      kind: 'device',
      id: mine.id,
      organizationId,
      keyHash: Buffer.alloc(32),
      profileId: null,
    } as const
    const readings: string[] = []
    const heard: string[] = []
    await db.hearChanges()
    const stop = db.onChange(event => {
      // Events about the devices themselves may still arrive.
      if (event.kind === 'device' && event.organizationId === organizationId) heard.push(event.deviceId)
    })
    await watcher.read(async () => {
      const deviceId = readings.length === 0 ? mine.id : other.id
      readings.push(deviceId)
      const event = JSON.stringify({ kind: 'device', deviceId, organizationId })
      await db.system.query(`SELECT pg_notify('fieldline', $1)`, [event])
      await until('it is heard', () => heard.length === readings.length)
      return readings.length < 5 ? credential : null
    })
    stop()
    expect(readings).toEqual([mine.id, other.id])
  })

  it('the keepalive of a connection pauses while the connection is not read because of others', async () => {
    const device = await addDevice()
    // A pause of the machine is no silence of this length.
    const patient = await open(device, { keepalive: 8 })
    const asking = setInterval(() => patient.send(PINGREQ), 200)
    const others: RawClient[] = []
    for (let n = 0; n < 5; n++) {
      const other = await open(device)
      for (let id = 1; id <= 6; id++) other.send(points(device, 1000, { id }))
      others.push(other)
    }
    await until('over', () => others.every(({ stream }) => stream.writableLength === 0))
    await pause(15_000)
    clearInterval(asking)
    expect(patient.stream.destroyed).toBe(false)
    for (const client of [patient, ...others]) client.end()
  })

  it('unread answers to PINGREQ have a bound', async () => {
    const client = await open(await addDevice())
    client.stream.removeAllListeners('data').pause()
    const pings = Buffer.alloc(64_000, Buffer.from(PINGREQ))
    // The kernel's buffers of both sides come on top.
    for (let sent = 0; !client.stream.destroyed && sent < 100 * limits.MAX_UNREAD_BYTES; sent += pings.length)
      await new Promise(resolve => client.stream.write(pings, resolve))
    await client.closed
  })

  it('messages that wait behind an unacknowledged one have a bound as well', () => {
    const acks = new AckQueue()
    const ack = acks.add({ qos: 1, messageId: 1, length: 10, topic: 'a', payload: Buffer.alloc(0) }, 1)
    for (let id = 1; id < limits.MAX_PENDING; id++) acks.addRelease(id)
    expect(acks.over).toBe(false)
    acks.addRelease(limits.MAX_PENDING)
    expect(acks.over).toBe(true)
    ack.durable = true
    acks.takeDurable()
    expect(acks.over).toBe(false)
  })

  /** Opens clients that hang up after these bytes were read, and before they are authenticated. */
  async function hangUp(sent: { first: Buffer[]; later?: Buffer[] }[]): Promise<void> {
    let answer = () => {}
    reading = new Promise(resolve => {
      answer = resolve
    })
    // Connections of other tests, which are not read.
    const others = server.connections
    const clients = sent.map(({ first }) => {
      const client = openRaw(server.port)
      client.send(...first)
      return client
    })
    await until('all are accepted', () => server.connections === others + clients.length)
    await pause(200)
    for (const [index, client] of clients.entries()) client.send(...(sent[index]?.later ?? []))
    await pause(500)
    for (const { stream } of clients) (stream as Socket).resetAndDestroy()
    await until('all have gone', () => server.connections === others)
    answer()
    reading = Promise.resolve()
  }

  it('the bytes of clients that hung up before they were authenticated have a bound together', async () => {
    const device = await addDevice()
    const message = publishPacket({
      topic: `devices/${device.id}/location`,
      qos: 0,
      payload: 'x'.repeat(3_000),
    })
    const messages = Array.from({ length: 18 }, () => message)
    const before = log.waiting.entries
    await hangUp(Array.from({ length: 400 }, () => ({ first: [hello(device), ...messages] })))
    const most = limits.MAX_LEFT_BYTES / message.length
    await until('what is heard', () => log.waiting.entries - before > most / 2)
    for (let seen = 0; seen < log.waiting.entries; await pause(1_000)) seen = log.waiting.entries
    expect(log.waiting.entries - before).toBeLessThan(most)
  })

  it('and wait for the log for a while, or as long as necessary after a DISCONNECT', async () => {
    const [hasty, polite] = [await addDevice(), await addDevice()]
    const before = log.waiting.entries
    await hangUp([
      { first: [hello(hasty)], later: [points(hasty, 1)] },
      { first: [hello(polite)], later: [points(polite, 1), Buffer.from(DISCONNECT)] },
    ])
    // Those of the test before may still come after a pause of the machine.
    await until('both wait', () => log.waiting.entries >= before + 2)
    await pause(limits.LEFT_MS + 1_000)
    const stored: number[] = []
    await log.store(async ({ records }) => {
      for (const { entries } of records) stored.push(...entries.map(({ subject }) => subject))
      return new Map()
    })
    await until('nothing waits', () => log.waiting.entries === 0)
    expect(stored).toContain(polite.subject)
    expect(stored).not.toContain(hasty.subject)
  })
})
