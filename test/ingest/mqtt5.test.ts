import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import type { IConnackPacket, IDisconnectPacket, IPublishPacket } from 'mqtt-packet'
import { describe, expect, inject, it } from 'vitest'
import * as limits from '../../ingest/mqtt/limits.ts'
import { createDevice, readHistory, type TestDevice } from '../support/client.ts'
import { readCommands, sendCommand, untilState } from '../support/commands.ts'
import { connectDevice } from '../support/mqtt.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until, untilTold } from '../support/wait.ts'
import {
  connectPacket,
  numberProperty,
  openRaw,
  PINGREQ,
  type Properties,
  packet,
  publishPacket,
  type RawClient,
  subscribePacket,
} from './raw.ts'

const run = promisify(execFile)
const [SESSION_EXPIRY, PROBLEMS, WILL_DELAY, RECEIVE_MAXIMUM, MAX_PACKET] = [17, 23, 24, 33, 39]

describe('A device over MQTT 5', () => {
  const { server, owner } = useOrganization()
  let names = 0
  let time = Date.now() - 3_600_000

  const own = (device: TestDevice, rest: string) => `devices/${device.id}/${rest}`
  const good = () => ({ lat: 1, lng: 1, timestamp: time++ })

  /** Connects with mqtt.js, and keeps what the server says at the beginning and the end. */
  async function open(device: TestDevice, options: IClientOptions = {}) {
    const connected: IConnackPacket[] = []
    const ended: (number | undefined)[] = []
    const client = await connectDevice(server, device, {
      protocolVersion: 5,
      clientId: `five-${names++}`,
      ...options,
    })
    client.on('disconnect', ({ reasonCode }: IDisconnectPacket) => ended.push(reasonCode))
    connected.push((client as unknown as { connackPacket: IConnackPacket }).connackPacket)
    return { client, ended, connected }
  }
  /** Publishes points. Resolves to the answer, which mqtt.js passes on if it has a reason. */
  function publish(client: MqttClient, topic: string, message: unknown, qos: 0 | 1 | 2 = 1) {
    return new Promise<Answer>(resolve => {
      client.publish(topic, JSON.stringify(message), { qos }, (_error, answer) =>
        resolve((answer as Answer | undefined) ?? {}),
      )
    })
  }
  interface Answer {
    reasonCode?: number
    properties?: { reasonString?: string; userProperties?: Record<string, string | string[]> }
  }

  /** Connects with bytes, and keeps the answers. */
  async function openBytes(
    device: TestDevice,
    options: Partial<Parameters<typeof connectPacket>[0]> = {},
  ): Promise<RawClient> {
    const raw = openRaw(server.mqttPort, 5)
    const clientId = `bytes-${names++}`
    raw.send(connectPacket({ clientId, username: device.id, password: device.key, level: 5, ...options }))
    expect(await raw.next('connack')).toMatchObject({ reasonCode: 0 })
    return raw
  }
  const expiry = (seconds: number): Properties => [numberProperty(SESSION_EXPIRY, seconds, 4)]
  const location = (device: TestDevice, message: unknown, options = {}) =>
    publishPacket({
      topic: own(device, 'location'),
      payload: JSON.stringify(message),
      properties: [],
      ...options,
    })
  async function listen(raw: RawClient, filter: string): Promise<void> {
    raw.send(subscribePacket([[filter, 1]], 1, []))
    expect(await raw.next('suback')).toMatchObject({ granted: [1] })
  }
  const publishes = ({ packets }: RawClient) =>
    packets.filter(({ cmd }) => cmd === 'publish') as IPublishPacket[]
  const acknowledge = (raw: RawClient, { messageId = 0 }: IPublishPacket) =>
    raw.send(packet(0x40, [messageId >> 8, messageId & 255]))

  it.each([0, 1, 2] as const)('publishes with QoS %d, and the point is in the history once', async qos => {
    const device = await createDevice(owner)
    const { client } = await open(device)
    const point = good()
    await publish(client, own(device, 'location'), point, qos)
    await publish(client, own(device, 'location'), point, qos)
    await until('stored', async () => (await readHistory(owner, device.id)).length > 0)
    await client.endAsync()
    expect(await readHistory(owner, device.id)).toHaveLength(1)
  })

  it.each([1, 2] as const)('reads in the answer of QoS %d which points were rejected and why', async qos => {
    const device = await createDevice(owner)
    const { client } = await open(device)
    const topic = own(device, 'location')
    expect((await publish(client, topic, [good(), good()], qos)).reasonCode ?? 0).toBe(0)
    const answer = await publish(client, topic, [good(), { ...good(), lat: 0, lng: 0 }, 'x', good()], qos)
    expect(answer).toMatchObject({
      reasonCode: 0x99,
      properties: { userProperties: { rejected: '2', index: ['1', '2'], reason: ['no-fix', 'bad-shape'] } },
    })
    expect(answer.properties?.reasonString).toMatch(/\w/)
    const point = good()
    await publish(client, topic, point, qos)
    // A conflict is found when the point is stored.
    expect(await publish(client, topic, { ...point, lat: 2 }, qos)).toMatchObject({
      reasonCode: 0x99,
      properties: { userProperties: { rejected: '1', reason: 'conflict' } },
    })
    expect(await publish(client, topic, 'no point', qos)).toMatchObject({ reasonCode: 0x99 })
    expect(await publish(client, 'elsewhere', point, qos)).toMatchObject({ reasonCode: 0x87 })
    await client.endAsync()
    expect(await readHistory(owner, device.id)).toHaveLength(5)
  })

  it('is told of as many rejections as its packets and 8 KiB have room for, and of none if it asks for none', async () => {
    const device = await createDevice(owner)
    const bad = Array(1_000).fill(0)
    const answerTo = async (properties: Properties) => {
      const raw = await openBytes(device, { properties })
      raw.send(location(device, bad))
      const answer = (await raw.next('puback')) as Answer & { length: number }
      raw.end()
      const { rejected, index = [], reason = [] } = answer.properties?.userProperties ?? {}
      return { ...answer, rejected, indexes: index.length, reasons: reason.length }
    }
    const full = await answerTo([])
    expect(full).toMatchObject({ reasonCode: 0x99, rejected: '1000', indexes: full.reasons })
    expect(full.length).toBeLessThan(limits.MAX_ACKNOWLEDGEMENT_BYTES)
    expect(full.length).toBeGreaterThan(limits.MAX_ACKNOWLEDGEMENT_BYTES - 100)
    const small = await answerTo([numberProperty(MAX_PACKET, 200, 4)])
    expect(small).toMatchObject({ reasonCode: 0x99, rejected: '1000', indexes: small.reasons })
    expect(small.length).toBeLessThan(200)
    const silent = await answerTo([[PROBLEMS, 0]])
    expect(silent).toMatchObject({ reasonCode: 0x99, length: 3 })
  })

  it('learns from the CONNACK what the server holds', async () => {
    const device = await createDevice(owner)
    const { client, connected } = await open(device, { properties: { sessionExpiryInterval: 0xffffffff } })
    expect(connected).toMatchObject([
      {
        sessionPresent: false,
        properties: {
          receiveMaximum: limits.RECEIVE_MAXIMUM,
          maximumPacketSize: limits.MAX_PACKET_BYTES,
          topicAliasMaximum: limits.MAX_TOPIC_ALIASES,
          sessionExpiryInterval: limits.SESSION_AWAY_MS / 1000,
          retainAvailable: false,
          sharedSubscriptionAvailable: false,
          subscriptionIdentifiersAvailable: false,
          wildcardSubscriptionAvailable: true,
        },
      },
    ])
    const nameless = await openBytes(device, { clientId: '' })
    const [{ properties }] = nameless.packets as [IConnackPacket]
    expect(properties).toMatchObject({
      assignedClientIdentifier: expect.any(String),
      sessionExpiryInterval: 0,
    })
    nameless.end()
    await client.endAsync()
  })

  it('publishes with a topic alias', async () => {
    const device = await createDevice(owner)
    const { client } = await open(device, { autoAssignTopicAlias: true })
    for (let n = 0; n < 3; n++) await publish(client, own(device, 'location'), good())
    await client.endAsync()
    expect(await readHistory(owner, device.id)).toHaveLength(3)
  })

  it('finds its session again for as long as it has asked, and resumes one without keeping it', async () => {
    const device = await createDevice(owner)
    const clientId = 'kept'
    const heard: string[] = []
    const visit = async (clean: boolean, properties: Properties, goodbye = packet(0xe0, [])) => {
      const raw = await openBytes(device, { clientId, clean, properties })
      heard.push(...raw.heard)
      raw.send(goodbye)
      await raw.closed
    }
    await visit(true, expiry(600))
    await visit(false, expiry(600))
    await visit(false, [])
    await visit(false, expiry(600))
    // It changes its mind as it leaves.
    await visit(false, expiry(600), packet(0xe0, [0, 5], numberProperty(SESSION_EXPIRY, 0, 4)))
    await visit(false, expiry(1))
    const present = ['connack 0 present']
    expect(heard).toEqual(['connack 0', ...present, ...present, 'connack 0', ...present, 'connack 0'])
  })

  it('gets no more messages at once than it wants, and the rest after its acknowledgements', async () => {
    const device = await createDevice(owner)
    const raw = await openBytes(device, { properties: [numberProperty(RECEIVE_MAXIMUM, 2, 2)] })
    await listen(raw, own(device, 'rejections'))
    raw.send(location(device, [0, 0, 0, 0, 0]))
    await raw.next('puback')
    for (let count = 2; count < 5; count++) {
      await until('the next', () => publishes(raw).length >= count)
      raw.send(PINGREQ)
      await raw.next('pingresp')
      expect(publishes(raw)).toHaveLength(count)
      acknowledge(raw, publishes(raw)[count - 2] as IPublishPacket)
    }
    await until('all', () => publishes(raw).length === 5)
    raw.end()
  })

  it('gets no packet that is larger than it takes', async () => {
    const device = await createDevice(owner)
    const raw = await openBytes(device, { properties: [numberProperty(MAX_PACKET, 100, 4)] })
    await listen(raw, own(device, '#'))
    raw.send(location(device, [0]))
    expect(await raw.next('puback')).toMatchObject({ reasonCode: 0x99 })
    raw.send(PINGREQ)
    await raw.next('pingresp')
    expect(publishes(raw)).toEqual([])
    raw.end()
  })

  it('that has too many messages in flight is disconnected', async () => {
    const device = await createDevice(owner)
    const raw = await openBytes(device)
    const ids = Array.from({ length: limits.RECEIVE_MAXIMUM }, (_, n) => n + 1)
    const send = (id: number) => location(device, good(), { qos: 2, id })
    raw.send(...ids.map(send))
    await until(
      'all are answered',
      () => raw.heard.filter(text => text.startsWith('pubrec')).length === ids.length,
    )
    // A flow that has ended makes room for one.
    raw.send(packet(0x62, [0, 1]), send(limits.RECEIVE_MAXIMUM + 1))
    await until('one more', () => raw.heard.includes(`pubrec ${limits.RECEIVE_MAXIMUM + 1}`))
    raw.send(send(limits.RECEIVE_MAXIMUM + 2))
    await raw.closed
    expect(raw.heard.at(-1)).toBe('disconnect 0x93')
  })

  it('gets commands with their expiry, and where and with what to answer', async () => {
    const device = await createDevice(owner)
    const { client } = await open(device)
    const heard: IPublishPacket[] = []
    client.on('message', (_topic, _payload, message) => heard.push(message))
    await client.subscribeAsync(own(device, 'commands'), { qos: 1 })
    const id = await sendCommand(owner, device, { name: 'blink', payload: 3, expiresInSeconds: 600 })
    await until('heard', () => heard.length === 1)
    const [{ properties = {}, payload }] = heard as [IPublishPacket]
    expect(JSON.parse(String(payload))).toMatchObject({ id, name: 'blink', payload: 3 })
    expect(properties).toMatchObject({ responseTopic: own(device, `commands/${id}`) })
    expect(String(properties.correlationData)).toBe(id)
    expect(properties.messageExpiryInterval).toBeGreaterThan(0)
    expect(properties.messageExpiryInterval).toBeLessThanOrEqual(600)
    await untilState(owner, device, id, 'received')
    const unknown = own(device, 'commands/019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70')
    expect(await publish(client, unknown, { status: 'done' })).toMatchObject({ reasonCode: 0x90 })
    const topic = properties.responseTopic as string
    expect(await publish(client, topic, { status: 'finished' })).toMatchObject({ reasonCode: 0x99 })
    expect((await publish(client, topic, { status: 'done', result: 1 })).reasonCode ?? 0).toBe(0)
    // One that was answered is known, and changes nothing.
    expect((await publish(client, topic, { status: 'failed' })).reasonCode ?? 0).toBe(0)
    expect((await readCommands(owner, device)).get(id)).toMatchObject({ state: 'done', result: 1 })
    await client.endAsync()
  })

  it('gets so many commands at once as it wants messages', async () => {
    const device = await createDevice(owner)
    const ids = [await sendCommand(owner, device), await sendCommand(owner, device)]
    const raw = await openBytes(device, { properties: [numberProperty(RECEIVE_MAXIMUM, 1, 2)] })
    await listen(raw, own(device, 'commands'))
    const told = () => publishes(raw).map(({ payload }) => JSON.parse(String(payload)).id)
    await until('the first', () => told().length === 1)
    expect((await readCommands(owner, device)).get(ids[1] as string)).toMatchObject({ state: 'queued' })
    acknowledge(raw, publishes(raw)[0] as IPublishPacket)
    await until('the second', () => told().length === 2)
    expect(told()).toEqual(ids)
    raw.end()
  })

  it('is told why its connection ends', async () => {
    const device = await createDevice(owner)
    const { client, ended } = await open(device, { clientId: 'twice' })
    const other = await open(device, { clientId: 'twice' })
    await until('it was taken over', () => ended.length === 1 && !client.connected)
    expect(ended).toEqual([0x8e])
    await untilTold(async () => {
      await owner.post(`/device/${device.id}/rotate-key`)
      await until('its key has ended', () => other.ended.length === 1)
    })
    expect(other.ended).toEqual([0x87])

    const silent = await openBytes(await createDevice(owner), { keepalive: 1 })
    await silent.closed
    expect(silent.heard).toEqual(['connack 0', 'disconnect 0x8d'])
  })

  it('keeps its client identifiers to itself, over every version', async () => {
    const [device, other] = [await createDevice(owner), await createDevice(owner)]
    const first = await openBytes(device, { clientId: 'same' })
    const second = await openBytes(other, { clientId: 'same' })
    first.send(PINGREQ)
    await first.next('pingresp')
    const older = await connectDevice(server, device, { clientId: 'same' })
    await first.closed
    expect(first.heard).toContain('disconnect 0x8e')
    const closed = new Promise<void>(resolve => older.once('close', () => resolve()))
    const third = await openBytes(device, { clientId: 'same' })
    await closed
    expect(second.stream.destroyed).toBe(false)
    for (const raw of [second, third]) raw.end()
  })

  it('leaves a will for the end of the connection, of its delay or of its session', async () => {
    const device = await createDevice(owner)
    const leave = async (lat: number, delay: number, options: object, end: (raw: RawClient) => void) => {
      const properties = [numberProperty(WILL_DELAY, delay, 4)]
      const payload = JSON.stringify({ ...good(), lat })
      const raw = await openBytes(device, {
        will: { topic: own(device, 'location'), payload, properties },
        ...options,
      })
      end(raw)
      await raw.closed
    }
    const kept = (clientId: string) => ({ clientId, clean: false, properties: expiry(600) })
    const cut = (raw: RawClient) => raw.end()
    await leave(1, 0, kept('at-once'), cut)
    await leave(2, 60, {}, cut)
    await leave(3, 1, kept('delayed'), cut)
    await leave(4, 60, kept('resumed'), cut)
    await openBytes(device, kept('resumed')).then(raw => raw.end())
    await leave(5, 60, kept('ended'), cut)
    await openBytes(device, { clientId: 'ended' }).then(raw => raw.end())
    await leave(6, 60, { ...kept('short'), properties: expiry(1) }, cut)
    await leave(8, 0, {}, raw => raw.send(packet(0xe0, [])))
    await leave(7, 0, {}, raw => raw.send(packet(0xe0, [4])))
    const lats = async () => (await readHistory(owner, device.id)).map(({ lat }) => lat)
    await until('six of them', async () => (await lats()).length >= 6)
    expect(await lats()).toEqual([1, 2, 3, 5, 6, 7])
    const back = await openBytes(device, kept('short'))
    expect(back.heard).toEqual(['connack 0'])
    back.end()
  })

  it('publishes in any pieces, and with what its CONNECT brought', async () => {
    const device = await createDevice(owner)
    const raw = openRaw(server.mqttPort, 5)
    const hello = connectPacket({ clientId: 'pieces', username: device.id, password: device.key, level: 5 })
    const bytes = Buffer.concat([
      hello,
      ...[1, 2, 3].map(id => location(device, good(), { id })),
      Buffer.from(PINGREQ),
    ])
    for (let at = 0; at < bytes.length; at += 7) {
      raw.send(bytes.subarray(at, at + 7))
      await new Promise(resolve => setImmediate(resolve))
    }
    await raw.next('pingresp')
    await until('all are answered', () => raw.heard.includes('puback 3'))
    raw.end()
  })

  it('publishes over a WebSocket, and with mosquitto_pub', async context => {
    const device = await createDevice(owner)
    const url = `${server.url.replace('http', 'ws')}/mqtt`
    const client = await mqtt.connectAsync(url, {
      ...{ protocolVersion: 5, username: device.id, password: device.key, reconnectPeriod: 0 },
    })
    expect((await publish(client, own(device, 'location'), good())).reasonCode ?? 0).toBe(0)
    await client.endAsync()
    const mosquitto = inject('mosquitto')
    if ('reason' in mosquitto) return context.skip(mosquitto.reason)
    const given = [
      '-V',
      '5',
      '-h',
      '127.0.0.1',
      '-p',
      `${server.mqttPort}`,
      '-u',
      device.id,
      '-P',
      device.key,
    ]
    const message = ['-q', '1', '-t', own(device, 'location'), '-m', JSON.stringify(good())]
    await run('mosquitto_pub', [...given, ...message, '-D', 'publish', 'user-property', 'a', 'b'])
    expect(await readHistory(owner, device.id)).toHaveLength(2)
  })
})
