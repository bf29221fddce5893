import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_QUEUED, MAX_SESSIONS_AWAY, MAX_SUBSCRIPTIONS } from '../../ingest/mqtt/limits.ts'
import { type Mosquitto, startMosquitto } from '../services/mosquitto.ts'
import type { Service } from '../services/services.ts'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { readFigures } from '../support/figures.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'
import {
  connectPacket,
  DISCONNECT,
  openRaw,
  packet,
  publishPacket,
  type RawClient,
  subscribePacket,
  unsubscribePacket,
} from './raw.ts'

type Options = Partial<Parameters<typeof connectPacket>[0]>

describe('A session', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client
  let mosquitto: Service<Mosquitto>
  let names = 0

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    ;[server, mosquitto] = await Promise.all([openServer(database), startMosquitto()])
    owner = await signIn(server)
  })
  afterAll(async () => {
    await server.stop()
    if (mosquitto.available) await mosquitto.stop()
    await database.remove()
  })

  /** Connects, and fails unless the connection is accepted. */
  async function open(device: TestDevice, options: Options = {}, port = server.mqttPort): Promise<RawClient> {
    const client = openRaw(port)
    const clientId = `session-${names++}`
    client.send(connectPacket({ clientId, username: device.id, password: device.key, ...options }))
    expect(await client.next('connack')).toMatchObject({ returnCode: 0 })
    return client
  }
  const metric = async (name: string) => (await readFigures(server)).get(name) ?? Number.NaN
  async function leave(client: RawClient): Promise<void> {
    client.send(DISCONNECT)
    await client.closed
  }
  const topic = (device: TestDevice, rest: string) => `devices/${device.id}/${rest}`
  /** Sends a bad point of the device over another of its connections, so that the point is rejected. */
  async function sendBad(device: TestDevice, count = 1): Promise<void> {
    const client = await open(device)
    client.send(
      publishPacket({ topic: topic(device, 'location'), payload: JSON.stringify(Array(count).fill(0)) }),
    )
    await client.next('puback')
    await leave(client)
  }
  const acknowledge = (client: RawClient, id: number) => client.send(packet(0x40, [id >> 8, id & 0xff]))

  it('that was kept says so, also without a subscription, as it does at Mosquitto', async () => {
    const device = await createDevice(owner)
    const ports = [server.mqttPort, ...(mosquitto.available ? [mosquitto.port] : [])]
    for (const port of ports) {
      const clientId = 'kept'
      const heard: string[] = []
      for (const clean of [false, false, true, false, false]) {
        const client = await open(device, { clientId, clean }, port)
        heard.push(...client.heard)
        await leave(client)
      }
      // [MQTT-3.2.2-1], [MQTT-3.2.2-2], [MQTT-3.1.2-6]
      expect(heard).toEqual(['connack 0', 'connack 0 present', 'connack 0', 'connack 0', 'connack 0 present'])
    }
  })

  it('of MQTT 3.1 has nothing in the byte that was reserved', async () => {
    const device = await createDevice(owner)
    for (let round = 0; round < 2; round++) {
      const client = await open(device, { clientId: 'old', clean: false, name: 'MQIsdp', level: 3 })
      expect(client.heard).toEqual(['connack 0'])
      await leave(client)
    }
  })

  it('gets the messages from its client’s absence, again with DUP until they are acknowledged', async () => {
    const device = await createDevice(owner)
    const kept = { clientId: 'away', clean: false }
    const first = await open(device, kept)
    first.send(subscribePacket([[topic(device, '#'), 1]]))
    await first.next('suback')
    await leave(first)
    await sendBad(device)

    const second = await open(device, kept)
    expect(await second.next('publish')).toMatchObject({ qos: 1, dup: false, retain: false })
    second.end()
    await second.closed
    await sendBad(device)

    const third = await open(device, kept)
    const again = await third.next('publish')
    const fresh = await third.next('publish')
    expect([again, fresh]).toMatchObject([{ dup: true }, { dup: false }])
    // [MQTT-4.4.0-1]: it is sent again under the same identifier.
    expect(again.messageId).toBe(second.packets.find(({ cmd }) => cmd === 'publish')?.messageId)
    expect(fresh.messageId).not.toBe(again.messageId)
    acknowledge(third, again.messageId as number)
    acknowledge(third, fresh.messageId as number)
    await third.answers(0)
    await leave(third)

    const fourth = await open(device, kept)
    expect(await fourth.answers(1)).toEqual(['connack 0 present', 'open'])
    expect(fourth.heard.filter(text => text.startsWith('publish'))).toEqual([])
    fourth.end()
  })

  it('has its subscriptions back, and loses those that are ended', async () => {
    const device = await createDevice(owner)
    const kept = { clientId: 'subscriptions', clean: false }
    const first = await open(device, kept)
    first.send(subscribePacket([[topic(device, 'rejections'), 0]]))
    await first.next('suback')
    await leave(first)

    const second = await open(device, kept)
    await sendBad(device)
    expect(await second.next('publish')).toMatchObject({ topic: topic(device, 'rejections'), qos: 0 })
    second.send(unsubscribePacket([topic(device, 'rejections')]))
    await second.next('unsuback')
    await sendBad(device)
    await leave(second)
    expect(second.heard.filter(text => text.startsWith('publish'))).toHaveLength(1)
  })

  it('is sent a message once, with the highest QoS of the filters that match', async () => {
    const device = await createDevice(owner)
    const client = await open(device)
    client.send(
      subscribePacket([
        [topic(device, 'rejections'), 0],
        [topic(device, '#'), 1],
        [topic(device, '+'), 0],
      ]),
    )
    await client.next('suback')
    await sendBad(device)
    // [MQTT-3.3.5-1]
    expect(await client.next('publish')).toMatchObject({ qos: 1 })
    await client.answers(0)
    expect(client.heard.filter(text => text.startsWith('publish'))).toHaveLength(1)
    client.end()
  })

  it('never gets messages of another device, not even with a kept session that asked for both at once', async () => {
    const [device, other] = [await createDevice(owner), await createDevice(owner)]
    const kept = { clientId: 'curious', clean: false }
    const client = await open(device, kept)
    client.send(
      subscribePacket([
        [topic(device, '#'), 1],
        [topic(other, '#'), 1],
        ['$SYS/#', 1],
      ]),
    )
    expect(await client.next('suback')).toMatchObject({ granted: [1, 128, 128] })
    await leave(client)
    await sendBad(other)
    const back = await open(device, kept)
    await sendBad(device)
    expect(await back.next('publish')).toMatchObject({ topic: topic(device, 'rejections') })
    expect(back.heard.filter(text => text.includes(other.id))).toEqual([])
    back.end()
  })

  it('is private to its credential: the same identifier from another is another client', async () => {
    const [device, other] = [await createDevice(owner), await createDevice(owner)]
    const kept = { clientId: 'mine', clean: false }
    const client = await open(device, kept)
    const foreign = await open(other, kept)
    expect(foreign.heard).toEqual(['connack 0'])
    client.send(subscribePacket([[topic(device, '#'), 1]]))
    await client.next('suback')
    await leave(client)
    await leave(foreign)
    await sendBad(device)
    expect((await open(other, kept)).heard).toEqual(['connack 0 present'])
    const back = await open(device, kept)
    expect(await back.next('publish')).toMatchObject({ topic: topic(device, 'rejections') })
    back.end()
  })

  it('ends with its device, and not with its key', async () => {
    const device = await createDevice(owner)
    const kept = { clientId: 'ends', clean: false }
    const away = await metric('fieldline_mqtt_sessions_away')
    await leave(await open(device, kept))
    const { body } = await owner.post(`/device/${device.id}/rotate-key`)
    const rotated = { ...device, key: body.data.key }
    const other = await open(rotated, { ...kept, clientId: 'open' })
    expect(other.heard).toEqual(['connack 0'])
    const back = await open(rotated, kept)
    expect(back.heard).toEqual(['connack 0 present'])
    await owner.delete(`/device/${device.id}`)
    // Without the device's end their sessions would be away now.
    await Promise.all([other.closed, back.closed])
    await until('none of them waits', async () => (await metric('fieldline_mqtt_sessions_away')) === away)
  })

  it('hears why the will of another was rejected', async () => {
    const device = await createDevice(owner)
    const listener = await open(device)
    listener.send(subscribePacket([[topic(device, 'rejections'), 0]]))
    await listener.next('suback')
    const will = { topic: topic(device, 'location'), payload: '{"lat":0,"lng":0}' }
    const broken = await open(device, { will })
    broken.end()
    const { payload } = (await listener.next('publish')) as unknown as { payload: Buffer }
    expect(JSON.parse(String(payload))).toMatchObject({ reason: 'no-fix', index: null })
    listener.end()
  })

  it('is taken over by the same credential, and the former connection leaves its will', async () => {
    const device = await createDevice(owner)
    const timestamp = Date.now() - 5_000
    const will = { topic: topic(device, 'location'), payload: JSON.stringify({ lat: 3, lng: 4, timestamp }) }
    const first = await open(device, { clientId: 'twice', will })
    const second = await open(device, { clientId: 'twice' })
    // [MQTT-3.1.4-2]
    await first.closed
    expect(await second.answers(1)).toEqual(['connack 0', 'open'])
    await until('the will', async () => (await readHistory(owner, device.id)).length === 1)
    second.end()
  })

  it('leaves a will when it breaks off, and none when it says goodbye or its key is replaced', async () => {
    const device = await createDevice(owner)
    const withWill = (at: number) => {
      const timestamp = Date.now() - 60_000 + at
      return {
        will: { topic: topic(device, 'location'), payload: JSON.stringify({ lat: at, lng: 1, timestamp }) },
      }
    }
    await leave(await open(device, withWill(1)))
    const broken = await open(device, withWill(2))
    broken.end()
    await until('the will', async () => (await readHistory(owner, device.id)).length === 1)
    const ended = await open(device, withWill(3))
    const { body } = await owner.post(`/device/${device.id}/rotate-key`)
    await ended.closed
    const last = await open({ id: device.id, key: body.data.key })
    const payload = JSON.stringify({ lat: 4, lng: 1, timestamp: Date.now() - 1_000 })
    last.send(publishPacket({ topic: topic(device, 'location'), payload }))
    await last.next('puback')
    expect((await readHistory(owner, device.id)).map(({ lat }) => lat)).toEqual([2, 4])
    last.end()
  })

  it('may say goodbye with its last message: it counts', async () => {
    const device = await createDevice(owner)
    const now = Date.now()
    for (const qos of [0, 1] as const) {
      const client = await open(device)
      const payload = JSON.stringify({ lat: 1, lng: 1, timestamp: now - 1_000 * (qos + 1) })
      client.send(publishPacket({ topic: topic(device, 'location'), payload, qos }), DISCONNECT)
      await client.closed
    }
    const hasty = openRaw(server.mqttPort)
    const payload = JSON.stringify({ lat: 1, lng: 1, timestamp: now - 9_000 })
    hasty.send(
      connectPacket({ clientId: 'hasty', username: device.id, password: device.key }),
      publishPacket({ topic: topic(device, 'location'), payload, qos: 0 }),
      DISCONNECT,
    )
    await hasty.closed
    await until('stored', async () => (await readHistory(owner, device.id)).length === 3)
  })

  it('has bounds for its subscriptions, its queue, and how many of them wait', async () => {
    const device = await createDevice(owner)
    const kept = { clientId: 'full', clean: false }
    const client = await open(device, kept)
    const filters = Array.from(
      { length: MAX_SUBSCRIPTIONS + 2 },
      (_, n) => [topic(device, `${n}`), 1] as [string, number],
    )
    client.send(subscribePacket(filters.slice(0, 2)), subscribePacket(filters, 2))
    expect(await client.next('suback')).toMatchObject({ granted: [1, 1] })
    const granted = [...Array(MAX_SUBSCRIPTIONS).fill(1), 128, 128]
    expect(await client.next('suback')).toMatchObject({ granted })
    client.send(
      unsubscribePacket([topic(device, '0')]),
      subscribePacket([[topic(device, 'rejections'), 1]], 3),
    )
    expect(await client.next('suback')).toMatchObject({ granted: [1] })
    await leave(client)

    await sendBad(device, MAX_QUEUED + 50)
    const back = await open(device, kept)
    await until('the queue', () => back.packets.length === MAX_QUEUED + 1)
    expect(await back.answers(0)).toEqual(['connack 0 present', 'open'])
    expect(back.packets.filter(({ cmd }) => cmd === 'publish')).toHaveLength(MAX_QUEUED)
    await leave(back)

    for (let n = 0; n < MAX_SESSIONS_AWAY; n++) {
      await leave(await open(device, { clientId: `more-${n}`, clean: false }))
    }
    const gone = await open(device, kept)
    expect(gone.heard).toEqual(['connack 0'])
    gone.end()
  })
})
