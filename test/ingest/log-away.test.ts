import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOwnPostgres } from '../integrity/own-postgres.ts'
import { type Postgres, startPostgres } from '../services/postgres.ts'
import { residentMiB } from '../services/processes.ts'
import type { Control, Service } from '../services/services.ts'
import { type Client, createDevice, signIn, type TestDevice } from '../support/client.ts'
import type { TestDatabase } from '../support/database.ts'
import { readFigures } from '../support/figures.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import { createFleet } from './fleet.ts'
import { connectPacket, openRaw, PINGREQ, publishPacket, type RawClient, subscribePacket } from './raw.ts'

/** 10,000 by hand: `LOG_AWAY_DEVICES=10000 npx vitest run test/ingest/log-away.test.ts`. */
const DEVICES = Number(process.env.LOG_AWAY_DEVICES ?? 250)
const MESSAGES = 3
const AT_ONCE = 50
const FROZEN_MS = 10_000
/** Prints the figures of docs/mqtt.md when somebody measures. */
const tell = (figure: string) => process.env.LOG_AWAY_DEVICES && console.log(figure)
/** The keepalive of the clients. One and a half times of it is shorter than the freeze, and longer than most pauses. */
const KEEPALIVE_S = 6

describe('While the log is away', () => {
  let postgres: Service<Postgres>
  let control: Control
  let database: TestDatabase
  let server: ServerProcess
  let owner: Client

  beforeAll(async () => {
    postgres = await startPostgres({ own: true, settings: { max_connections: '100' } })
    if (!postgres.available) return
    control = postgres.control as Control
    database = (await createOwnPostgres(postgres.url, control)).database
    server = await startServer(database, { MQTT_CONNECTIONS_PER_SECOND: '0' })
    owner = await signIn(server)
  })
  afterAll(async () => {
    if (!postgres.available) return
    control.thaw()
    await server.stop()
    await postgres.stop()
    await database.remove()
  })

  const open = async (device: TestDevice, keepalive = 60): Promise<RawClient> => {
    const client = openRaw(server.mqttPort)
    client.send(connectPacket({ clientId: device.id, username: device.id, password: device.key, keepalive }))
    await client.next('connack', 60_000)
    return client
  }
  const point = (device: TestDevice, timestamp: number, id: number, qos: 0 | 1 | 2 = 1) =>
    publishPacket({
      topic: `devices/${device.id}/location`,
      payload: JSON.stringify({ lat: 1, lng: 1, timestamp }),
      id,
      qos,
    })
  const metric = async (name: string) => (await readFigures(server)).get(name) ?? Number.NaN

  it(`${DEVICES} devices wait: no acknowledgement, no connection lost, and everything continues in order`, async context => {
    if (!postgres.available) return context.skip(postgres.reason)
    const devices = await createFleet(database.url as string, DEVICES)
    const clients: RawClient[] = []
    // So few at once that a busy machine opens them all before the first has been silent for too long.
    for (let at = 0; at < devices.length; at += AT_ONCE) {
      const some = devices.slice(at, at + AT_ONCE)
      clients.push(...(await Promise.all(some.map(device => open(device, KEEPALIVE_S)))))
      for (const client of clients) client.send(PINGREQ)
    }
    const before = residentMiB(server.pid)
    const now = Date.now()

    control.freeze()
    try {
      for (const [index, client] of clients.entries()) {
        for (let id = 1; id <= MESSAGES; id++) {
          client.send(point(devices[index] as TestDevice, now - 1000 * id, id, id === 3 ? 2 : 1))
        }
      }
      // Every other device sends pings meanwhile; the others send nothing.
      const ping = async () => {
        await pause(1000)
        for (const [index, client] of clients.entries()) if (index % 2 === 0) client.send(PINGREQ)
      }
      for (let waited = 0; waited < FROZEN_MS; waited += 1000) await ping()
      await until('all messages wait', async () => {
        if ((await metric('fieldline_ingest_waiting{protocol="mqtt"}')) === DEVICES * MESSAGES) return true
        await ping()
        return false
      })
      expect(clients.filter(({ stream }) => stream.destroyed)).toEqual([])
      const heard = clients.flatMap(({ packets }) => packets.map(({ cmd }) => cmd))
      expect(heard.filter(cmd => cmd === 'puback' || cmd === 'pubrec')).toEqual([])
      await until('pings are answered', () =>
        clients.every(
          ({ heard }, index) => heard.filter(text => text === 'pingresp').length >= 5 || index % 2 === 1,
        ),
      )
      tell(`waiting: ${(residentMiB(server.pid) - before).toFixed(0)} MiB more for ${DEVICES} devices`)
    } finally {
      control.thaw()
    }

    const thawed = performance.now()
    await until('acknowledged', () => clients.every(({ heard }) => heard.includes(`pubrec ${MESSAGES}`)))
    tell(`caught up in ${(performance.now() - thawed).toFixed(0)} ms`)
    for (const { heard } of clients) {
      const answers = heard.filter(text => text.startsWith('pub'))
      expect(answers).toEqual(['puback 1', 'puback 2', 'pubrec 3'])
    }
    expect(await metric('fieldline_ingest_waiting{protocol="mqtt"}')).toBe(0)
    const reader = new pg.Client({ connectionString: database.url })
    await reader.connect()
    const { rows } = await reader.query('SELECT count(*)::int4 AS count FROM points')
    await reader.end()
    expect(rows[0].count).toBe(DEVICES * MESSAGES)
    for (const client of clients) client.end()
  })

  it('memory stays within its bound however much is sent, and every message that was read is acknowledged', async context => {
    if (!postgres.available) return context.skip(postgres.reason)
    const SENDERS = 60
    const POINTS = 1000
    const PACKETS = 10
    const devices = await createFleet(database.url as string, SENDERS)
    const clients = await Promise.all(devices.map(device => open(device)))
    const before = residentMiB(server.pid)
    const start = Date.now() - 20 * 24 * 3600_000
    control.freeze()
    try {
      for (const [index, client] of clients.entries()) {
        const topic = `devices/${devices[index]?.id}/location`
        for (let id = 1; id <= PACKETS; id++) {
          const points = Array.from({ length: POINTS }, (_, n) => {
            return { lat: 1, lng: 1, timestamp: start + (id * POINTS + n) * 1000 }
          })
          client.send(publishPacket({ topic, payload: JSON.stringify(points), id }))
        }
      }
      let last = -1
      await until('no more is read', async () => {
        const waiting = await metric('fieldline_log_waiting_bytes')
        const same = waiting === last
        last = waiting
        await pause(500)
        return same && waiting > 0
      })
      tell(
        `waiting: ${(last / 2 ** 20).toFixed(0)} MiB, ${(residentMiB(server.pid) - before).toFixed(0)} MiB resident`,
      )
      // 128 MiB, and the rest of the chunk that filled it.
      expect(last).toBeLessThan(130 * 2 ** 20)
      expect(residentMiB(server.pid) - before).toBeLessThan(600)
      expect(clients.filter(({ stream }) => stream.destroyed)).toEqual([])
    } finally {
      control.thaw()
    }
    await until('all of it', () => clients.every(({ heard }) => heard.includes(`puback ${PACKETS}`)), 400_000)
    expect(await metric('fieldline_log_waiting_bytes')).toBe(0)
    for (const client of clients) client.end()
  })

  it('without the database, open connections stay, and new ones are asked to come again', async context => {
    if (!postgres.available) return context.skip(postgres.reason)
    const device = await createDevice(owner)
    const client = await open(device)
    await control.kill9()
    client.send(point(device, Date.now() - 1000, 1), PINGREQ)
    await client.next('pingresp')
    const other = openRaw(server.mqttPort)
    other.send(connectPacket({ clientId: 'other', username: device.id, password: device.key }))
    expect(await other.next('connack', 30_000)).toMatchObject({ returnCode: 3 })
    await other.closed
    expect(client.heard).not.toContain('puback 1')
    await control.start()
    await client.next('puback')
    client.end()
  })

  it('a subscriber that has stopped reading is disconnected, and delays nobody', async context => {
    if (!postgres.available) return context.skip(postgres.reason)
    const [frozen, other] = [await createDevice(owner), await createDevice(owner)]
    const subscriber = await open(frozen)
    subscriber.send(subscribePacket([[`devices/${frozen.id}/#`, 0]]))
    await subscriber.next('suback')
    subscriber.stream.pause()

    const bad = openRaw(server.mqttPort)
    bad.send(connectPacket({ clientId: 'bad', username: frozen.id, password: frozen.key }))
    await bad.next('connack')
    const good = await open(other)
    const closed = () => metric('fieldline_mqtt_closed_total{kind="limit"}')
    for (let id = 1; !((await closed()) > 0); id++) {
      // The subscriber gets 1,000 messages for each.
      const payload = JSON.stringify(Array(1000).fill(0))
      bad.send(publishPacket({ topic: `devices/${frozen.id}/location`, payload, id }))
      good.send(point(other, Date.now() - 1000, id))
      await good.next('puback')
      expect(id, 'messages of 1,000').toBeLessThan(300)
    }
    await until('closed', async () => (await metric('fieldline_mqtt_connections')) === 2)
    for (const client of [bad, good, subscriber]) client.end()
  })
})
