import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { type Client, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useMeasuredServer } from '../support/held-loop.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { pause } from '../support/wait.ts'
import {
  connectPacket,
  openRaw,
  PINGREQ,
  packet,
  publishPacket,
  type RawClient,
  subscribePacket,
  unsubscribePacket,
} from './raw.ts'

/** The maximum processor time for which one message or chunk may hold the event loop. */
const MAX_HELD_MS = 250
/** Points of another tenant that are acknowledged during an attack. */
const POINTS_BESIDE = 30
const PACKET = 256 * 1024 - 200
const ATTACKERS = 5
const PATIENCE_MS = 30_000

describe('Whatever one tenant sends', () => {
  const { server, heldMs } = useMeasuredServer()
  let points = 0
  let owner: Client
  let attacker: TestDevice
  let bystander: TestDevice

  beforeAll(async () => {
    owner = await signIn(server)
    attacker = await createDevice(owner)
    const { client } = await addPerson(server, owner, { role: 'Owner' })
    bystander = await createDevice((await addOrganization(server, client)).client)
  })

  let names = 0
  async function open(device: TestDevice, clientId = `stall-${names++}`): Promise<RawClient> {
    const client = openRaw(server.mqttPort)
    client.send(connectPacket({ clientId, username: device.id, password: device.key, keepalive: 0 }))
    await client.next('connack', PATIENCE_MS)
    return client
  }
  const message = (payload: string, topic = `devices/${attacker.id}/location`) =>
    publishPacket({ topic, payload })
  const times = (count: number, bytes: Buffer | number[]) =>
    Buffer.concat(Array<Buffer>(count).fill(Buffer.from(bytes)))
  const filters = (count: number) => Array.from({ length: count }, (_, n) => n.toString(36))

  /** Publishes one point after the other; resolves after this many acknowledgements. */
  async function publishBeside(): Promise<void> {
    const client = await open(bystander)
    const begun = Date.now() - 3600_000
    for (let id = 1; id <= POINTS_BESIDE; id++) {
      const payload = JSON.stringify({ lat: 1, lng: 1, timestamp: begun + points++ })
      client.send(publishPacket({ topic: `devices/${bystander.id}/location`, payload, id }))
      await client.next('puback', PATIENCE_MS)
      await pause(5)
    }
    client.end()
  }

  /** Fails if an attack holds the event loop, or keeps another tenant's points from being acknowledged. */
  async function attack(work: (beside: () => Promise<void>) => Promise<unknown>): Promise<void> {
    const held = await heldMs(MAX_HELD_MS, () => work(publishBeside))
    if (process.env.STALLS) console.log({ held })
    expect(held, 'milliseconds of processor between two turns').toBeLessThan(MAX_HELD_MS)
  }

  const zeros = `[${Array(1000).fill(0)}]`
  // Of each attacker two chunks of 64 KB or more, and more than may wait where that has a bound.
  it.each<[string, () => Buffer]>([
    ['70,000 PINGREQs', () => times(70_000, PINGREQ)],
    ['35,000 PUBRELs', () => times(35_000, packet(0x62, [0, 1]))],
    ['35,000 PUBRECs', () => times(35_000, packet(0x50, [0, 1]))],
    ['2,500 SUBSCRIBEs', () => times(2_500, subscribePacket([[`devices/${attacker.id}/#`, 0]]))],
    ['2,500 UNSUBSCRIBEs', () => times(2_500, unsubscribePacket([`devices/${attacker.id}/#`]))],
    ['SUBSCRIBEs of 2,000 filters', () => times(25, subscribePacket(filters(2_000).map(name => [name, 0])))],
    ['UNSUBSCRIBEs of 2,000 filters', () => times(25, unsubscribePacket(filters(2_000)))],
    ['20,000 messages of no JSON', () => times(20_000, message('x'))],
    [
      '20,000 messages of QoS 0',
      () => times(20_000, publishPacket({ topic: `devices/${attacker.id}/location`, payload: '{}', qos: 0 })),
    ],
    [
      'OwnTracks messages of 130,000 zeros',
      () => times(6, message(`[${Array(PACKET / 2).fill(0)}]`, 'owntracks/a/b')),
    ],
    ['native messages of 130,000 zeros', () => times(6, message(`[${Array(PACKET / 2).fill(0)}]`))],
    [
      'messages of 130,000 brackets',
      () => times(6, message('['.repeat(PACKET / 2) + ']'.repeat(PACKET / 2))),
    ],
    [
      'points nested 40,000 deep',
      () =>
        times(6, message(`{"lat":1,"lng":1,"attributes":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`)),
    ],
    ['100 messages of 1,000 wrong points', () => times(100, message(zeros))],
    ['100 OwnTracks messages of 1,000 wrong points', () => times(100, message(zeros, 'owntracks/a/b'))],
  ])('holds up nobody: %s', async (_name, make) => {
    const bytes = make()
    await attack(async beside => {
      const clients = await Promise.all(Array.from({ length: ATTACKERS }, () => open(attacker)))
      for (const client of clients) client.send(bytes)
      await beside()
      for (const client of clients) client.end()
    })
  })

  it.each([
    ['wrong', () => 0],
    ['good', (n: number) => ({ lat: 1, lng: 1, timestamp: Date.now() - 1000 * n })],
  ])('holds up nobody: messages of 1,000 %s points over 60 connections', async (_name, make) => {
    const bytes = times(10, message(JSON.stringify(Array.from({ length: 1000 }, (_, n) => make(n)))))
    await attack(async beside => {
      const clients = await Promise.all(Array.from({ length: 60 }, () => open(attacker)))
      for (const client of clients) client.send(bytes)
      await beside()
      for (const client of clients) client.end()
    })
  })

  it('holds up nobody: 20 requests of 5,000 wrong points that end together', async () => {
    const points = Array.from({ length: 5_000 }, (_, n) => ({ lat: 'x'.repeat(300), n }))
    const body = JSON.stringify({ points })
    const { hostname, port } = new URL(server.url)
    await attack(async beside => {
      const requests = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const socket = connect(Number(port), hostname)
          const answered = once(socket, 'data')
          socket.write(
            `POST /api/v3/location-history/bulk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker.key}\r\n` +
              `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
          )
          await new Promise(resolve => socket.write(body.slice(0, -1), resolve))
          return { socket, answered }
        }),
      )
      await pause(1_000)
      for (const { socket } of requests) socket.write(body.slice(-1))
      await Promise.all([beside(), ...requests.map(({ answered }) => answered)])
      for (const { socket } of requests) socket.destroy()
    })
  })

  it('delays nobody: 1,000 wrong points, announced to 50 subscribers that do not read', async () => {
    const subscribers = await Promise.all(Array.from({ length: 50 }, () => open(attacker)))
    for (const [index, client] of subscribers.entries()) {
      client.send(subscribePacket([[`devices/${attacker.id}/#`, index % 2]]))
      // The messages that wait for its own organization delay it, and no other organization.
      await client.next('suback', PATIENCE_MS)
      client.stream.pause()
    }
    await attack(async beside => {
      const client = await open(attacker)
      client.send(times(40, message(zeros)))
      await beside()
      client.end()
    })
    for (const client of subscribers) client.end()
  })

  it('holds up nobody: 2,000 connects with a wrong key', async () => {
    await attack(async beside => {
      const clients = Array.from({ length: 2_000 }, () => {
        const client = openRaw(server.mqttPort)
        client.send(
          connectPacket({ clientId: 'x', username: attacker.id, password: 'wrong' }),
          times(100, message('x')),
        )
        return client
      })
      await beside()
      for (const client of clients) client.end()
    })
  })

  const ids = Array.from({ length: 5_000 }, () => crypto.randomUUID())
  it.each<[string, string, number]>([
    [
      'subscriptions of 5,000 subjects',
      JSON.stringify({ type: 'subscribe', filter: { subjectIds: ids } }),
      6,
    ],
    ['small subscriptions', '{"type":"subscribe"}', 1_000],
    ['nonsense', 'nonsense', 3_000],
    ['130,000 zeros', `[${Array(130_000).fill(0)}]`, 6],
    ['130,000 brackets', '['.repeat(130_000) + ']'.repeat(130_000), 6],
    [
      '10,000 wrong identifiers',
      JSON.stringify({ type: 'subscribe', filter: { subjectIds: Array(10_000).fill(0) } }),
      40,
    ],
    [
      'a filter nested 40,000 deep',
      `{"type":"subscribe","filter":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`,
      6,
    ],
    [
      '20,000 unknown keys',
      `{"type":"subscribe",${Array.from({ length: 20_000 }, (_, n) => `"${n}":0`)}}`,
      6,
    ],
  ])('holds up nobody over 10 live sockets: %s', async (_name, text, count) => {
    await attack(async beside => {
      const sockets = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const url = `${server.url.replace('http', 'ws')}/api/v3/live`
          const socket = new WebSocket(url, { headers: { authorization: `Bearer ${owner.token}` } })
          socket.on('error', () => {})
          await new Promise(done => socket.once('open', done))
          return socket
        }),
      )
      for (const socket of sockets) for (let sent = 0; sent < count; sent++) socket.send(text)
      await beside()
      for (const socket of sockets) socket.terminate()
    })
  })
})
