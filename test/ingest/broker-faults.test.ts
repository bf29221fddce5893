import { once } from 'node:events'
import { createServer } from 'node:http'
import { generate, type Packet, parser } from 'mqtt-packet'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createWebSocketStream, WebSocketServer } from 'ws'
import { type Database, newId } from '../../db/client.ts'
import type { Resolve } from '../../fair/public-addresses.ts'
import { createScheduler } from '../../fair/scheduler.ts'
import type { ClientServices } from '../../ingest/connections/broker/client.ts'
import { holdBroker } from '../../ingest/connections/broker/holder.ts'
import { createIntake } from '../../ingest/connections/intake.ts'
import { createIngestMetrics } from '../../ingest/metrics.ts'
import { MAX_TENANT_ENTRIES } from '../../ingest/mqtt/limits.ts'
import { createTenants } from '../../ingest/mqtt/tenants.ts'
import { createProfiles, type UsedProfile } from '../../ingest/profiles/profiles.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { startScriptedBroker } from '../support/scripted-broker.ts'
import { until } from '../support/wait.ts'

const HOUR_S = 3_600

describe('A connection to another broker', () => {
  let database: TestDatabase
  let db: Database
  let services: ClientServices
  let profile: UsedProfile
  const log = createProcessLog({ partitions: 1, start: new Map(), onError: () => {} })
  /** The states and errors of the connection, in order. */
  const told: { state: string | undefined; lastError: string | null }[] = []
  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
    const metrics = createIngestMetrics(new Registry())
    const intake = createIntake({
      db,
      log,
      metrics,
      lastSeen: { see() {} },
      traces: { note() {} },
      onError() {},
    })
    const journal = {
      ...intake.journal,
      tell: (_: unknown, state: string | undefined, lastError: string | null) =>
        void told.push({ state, lastError }),
    }
    services = { intake: { ...intake, journal }, log, tenants: createTenants(), scheduler: createScheduler() }
    profile = await createProfiles({ db, onError() {} }).use('traccar')
    // Nothing is stored here, and its own timers would run with the clock of the tests.
    await db.close()
  })
  afterEach(() => {
    vi.useRealTimers()
    told.length = 0
  })
  afterAll(async () => {
    await services.intake.close()
    await log.close()
    await database.remove()
  })

  function hold(url: string, resolve?: Resolve, organizationId = newId()) {
    const address = { url, username: null, clientId: null, topics: [] }
    return holdBroker({
      connection: {
        ...{ kind: 'connection', id: newId(), organizationId, keyHash: Buffer.alloc(32) },
        ...{ profileId: 'traccar', way: 'broker', headerName: null, profile },
      },
      settings: {
        broker: { ...address, caCertificate: null, clientCertificate: null },
        secrets: { password: null, clientKey: null },
        ...{ clientId: 'one', topics: ['any'] },
      },
      ...{ subscribed: [], services, allowPrivate: resolve === undefined, resolve },
      mayConnect: () => true,
      onSubscribed() {},
    })
  }
  /** The clock of pauses and answers runs, and what happens in between. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await vi.advanceTimersByTimeAsync(1_000)
      await new Promise(done => setImmediate(done))
    }
  }
  const useClock = () =>
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    })

  it.each([
    [
      'refuses connections',
      'Nothing answers at the address and port of the broker.',
      () => Promise.reject(Object.assign(new Error('no answer'), { code: 'ECONNREFUSED' })),
    ],
    ['answers nothing', 'The broker does not answer.', () => new Promise<never>(() => {})],
  ])(
    'that %s for an hour is tried about once a minute, seldom more often, and leaves nothing behind',
    async (_, sentence, answer) => {
      useClock()
      let attempts = 0
      const holder = hold('mqtt://away.example', () => {
        attempts++
        return answer()
      })
      await pass(600)
      const timers = vi.getTimerCount()
      const before = attempts
      await pass(HOUR_S - 600)
      // A pause of at most 60 s, and 10 s for an answer.
      expect(attempts - before).toBeGreaterThanOrEqual((HOUR_S - 600) / 71)
      expect(attempts).toBeLessThan(HOUR_S / 25)
      // The pause before the next attempt, or the attempt, and streams that close.
      expect(vi.getTimerCount()).toBeLessThanOrEqual(timers + 4)
      expect(told[0]).toEqual({ state: 'connecting', lastError: null })
      expect(told.slice(1)).toEqual(told.slice(1).map(() => ({ state: 'failed', lastError: sentence })))
      holder.close({ forget: false })
      await pass(61)
      const last = attempts
      await pass(200)
      expect(attempts).toBe(last)
    },
  )

  it('whose name resolves to a private address at its second connection is not connected to', async () => {
    const broker = await startScriptedBroker()
    useClock()
    const answers = [[], [{ address: '127.0.0.1', family: 4 }]]
    const holder = hold(broker.url.replace('127.0.0.1', 'changing.example'), async () => {
      const next = answers.length > 1 ? answers.shift() : answers[0]
      if (next?.length === 0) throw Object.assign(new Error('unreachable'), { code: 'ENETUNREACH' })
      return next ?? []
    })
    await pass(300)
    expect(told.slice(0, 3)).toEqual([
      { state: 'connecting', lastError: null },
      { state: 'failed', lastError: 'There is no way to the address of the broker.' },
      {
        state: 'failed',
        lastError: 'The broker has a private address, and CONNECTIONS_ALLOW_PRIVATE is not set.',
      },
    ])
    expect(broker.connections).toBe(0)
    holder.close({ forget: false })
    vi.useRealTimers()
    await broker.close()
  })

  it('that never answers SUBSCRIBE, or a ping, is left, and tried again', async () => {
    // The answers of this one are not read, since the share of its organization in the log is used up.
    const organizationId = newId()
    const share = services.tenants.of({ id: newId(), organizationId })
    share.add(MAX_TENANT_ENTRIES + 1)
    const held = await startScriptedBroker()
    const waiting = hold(held.url, undefined, organizationId)
    await until('it has been asked', () => held.received.length > 0)
    const silent = await startScriptedBroker({ subscribes: false })
    const holder = hold(silent.url)
    await until('it has been left', () => told.some(({ state }) => state === 'failed'))
    expect(told.at(-1)?.lastError).toBe('The broker does not answer the subscription.')
    await until('it is tried again', () => silent.connections === 2)
    holder.close({ forget: false })
    expect(told.filter(({ state }) => state === 'failed')).toHaveLength(1)
    share.add(-MAX_TENANT_ENTRIES - 1)
    await until('the other is connected', () => told.at(-1)?.state === 'connected')
    expect(held.connections).toBe(1)
    waiting.close({ forget: false })
    await Promise.all([silent.close(), held.close()])
  })

  it('that delivers without acknowledgements is connected, with a sentence about what that costs', async () => {
    const broker = await startScriptedBroker({ grants: 0 })
    const holder = hold(broker.url)
    await until('it is connected', () => told.at(-1)?.state === 'connected')
    expect(told.at(-1)?.lastError).toBe(
      'The broker delivers any with QoS 0 only: what it sends while nobody listens is lost.',
    )
    holder.close({ forget: false })
    await broker.close()
  })

  it('that sends more over WebSocket than is read has its sentence', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', socket => {
      const stream = createWebSocketStream(socket)
      const packets = parser({ protocolVersion: 5 })
      packets.on('packet', (packet: Packet) => {
        if (packet.cmd === 'connect') stream.write(Buffer.from([0x20, 3, 0, 0, 0]))
        if (packet.cmd !== 'subscribe') return
        const options = { protocolVersion: 5 }
        stream.write(generate({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: [1] }, options))
        const message = {
          cmd: 'publish',
          topic: 'any',
          qos: 1,
          messageId: 1,
          dup: false,
          retain: false,
        } as const
        stream.write(generate({ ...message, payload: Buffer.alloc(1024 * 1024) }, options))
      })
      stream.on('data', chunk => packets.parse(chunk))
      stream.on('error', () => {})
    })
    const holder = hold(`ws://127.0.0.1:${(server.address() as { port: number }).port}`)
    await until('it has been left', () => told.some(({ state }) => state === 'failed'))
    expect(told.map(({ state }) => state).slice(0, 3)).toEqual(['connecting', 'connected', 'failed'])
    expect(told[2]?.lastError).toBe('The broker sends larger messages over WebSocket than are read here.')
    holder.close({ forget: false })
    for (const client of sockets.clients) client.terminate()
    sockets.close()
    server.close()
  })
})
