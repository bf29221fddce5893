import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import {
  connectPacket,
  openRaw,
  PINGREQ,
  publishPacket,
  type RawClient,
  subscribePacket,
  unsubscribePacket,
} from './raw.ts'

const DAY_MS = 24 * 3600_000
/**
 * The random attacks of a run (10,000 by hand: `ATTACKS=10000 npm test -- bad-input`), and how many attack one server
 * at once.
 */
const ATTACKS = Number(process.env.ATTACKS ?? 1_000)
const AT_ONCE = 50

describe('Bad input', () => {
  let database: TestDatabase
  let server: ServerProcess
  let owner: Client
  let device: TestDevice
  let time = Date.now() - 30 * DAY_MS

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await startServer(database, { MQTT_CONNECTIONS_PER_SECOND: '0' })
    owner = await signIn(server)
    device = await createDevice(owner)
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  const hello = (clientId: string) => connectPacket({ clientId, username: device.id, password: device.key })
  const topic = () => `devices/${device.id}/location`
  const good = () =>
    publishPacket({ topic: topic(), payload: JSON.stringify({ lat: 1, lng: 1, timestamp: time++ }) })
  async function open(clientId: string): Promise<RawClient> {
    const client = openRaw(server.mqttPort)
    client.send(hello(clientId))
    await client.next('connack')
    return client
  }
  async function expectGoodPoint(): Promise<void> {
    const client = await open('good')
    client.send(good())
    await client.next('puback')
    client.end()
  }

  const now = Date.now()
  const fix = { lat: 1, lng: 1, timestamp: now - 1000 }
  it.each<[string, string | Buffer, string]>([
    ['no JSON', '{"lat":', 'not-json'],
    ['NaN', '{"lat":NaN,"lng":1,"timestamp":1}', 'not-json'],
    ['no UTF-8', Buffer.from([0xff, 0xfe]), 'not-json'],
    ['nothing', '', 'not-json'],
    ['a number', '7', 'bad-shape'],
    ['a text for a latitude', JSON.stringify({ ...fix, lat: 'x' }), 'bad-coordinates'],
    ['no longitude', JSON.stringify({ lat: 1, timestamp: now }), 'bad-coordinates'],
    ['a latitude of 91', JSON.stringify({ ...fix, lat: 91 }), 'bad-coordinates'],
    ['an infinite latitude', '{"lat":1e999,"lng":1,"timestamp":1}', 'bad-coordinates'],
    ['0, 0', JSON.stringify({ ...fix, lat: 0, lng: 0 }), 'no-fix'],
    ['no time', JSON.stringify({ lat: 1, lng: 1 }), 'bad-timestamp'],
    ['a time that is none', JSON.stringify({ ...fix, timestamp: '2026-02-30T00:00:00Z' }), 'bad-timestamp'],
    ['the future', JSON.stringify({ ...fix, timestamp: now + DAY_MS }), 'future'],
    ['past the retention', JSON.stringify({ ...fix, timestamp: now - 400 * DAY_MS }), 'too-old'],
    ['1,001 points', JSON.stringify(Array(1001).fill(fix)), 'too-many'],
    ['100,000 brackets', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'bad-shape'],
    [
      'a point with 30,000 brackets',
      `{"lat":99,"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
      'bad-coordinates',
    ],
    [
      'attributes that nest',
      `{"lat":1,"lng":1,"timestamp":1,"attributes":${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}}`,
      'too-old',
    ],
  ])('%s is acknowledged, and listed with its reason', async (_name, payload, reason) => {
    const sender = await createDevice(owner)
    const client = openRaw(server.mqttPort)
    client.send(connectPacket({ clientId: sender.id, username: sender.id, password: sender.key }))
    await client.next('connack')
    client.send(publishPacket({ topic: `devices/${sender.id}/location`, payload }))
    await client.next('puback')
    const { body } = await owner.get(`/device/${sender.id}/rejections`)
    expect(body.counts).toEqual({ [reason]: 1 })
    expect(body.data[0]).toMatchObject({ reason, topic: `devices/${sender.id}/location` })
    client.end()
    await expectGoodPoint()
  })

  it('attributes that nest without end do not stop a good point', async () => {
    const sender = await createDevice(owner)
    const client = openRaw(server.mqttPort)
    client.send(connectPacket({ clientId: sender.id, username: sender.id, password: sender.key }))
    await client.next('connack')
    const nested = `${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}`
    const payload = `{"lat":1,"lng":1,"timestamp":${now - 1000},"attributes":${nested}}`
    client.send(publishPacket({ topic: `devices/${sender.id}/location`, payload }))
    await client.next('puback')
    expect(await readHistory(owner, sender.id)).toMatchObject([{ lat: 1, attributes: null }])
    client.end()
  })

  it(`${ATTACKS} attacks of random bytes end as they may; the server lives and the next good point goes through`, async () => {
    const { pid } = server
    const valid = [
      () => hello('mutant'),
      () => good(),
      () => subscribePacket([[`devices/${device.id}/#`, 1]]),
      () => unsubscribePacket([`devices/${device.id}/#`]),
      () => Buffer.from(PINGREQ),
      () => Buffer.from([0x62, 2, 0, 1]),
    ]
    const bytes = fc.uint8Array({ maxLength: 300 }).map(array => Buffer.from(array))
    /** A packet of an existing type with the right length: random bytes alone seldom get that far. */
    const framed = fc
      .tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 120 }))
      .map(([first, body]) => Buffer.from([first, body.length, ...body]))
    const mutated = fc
      .tuple(
        fc.nat(valid.length - 1),
        fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      )
      .map(([which, changes]) => {
        const packet = Buffer.from((valid[which] as () => Buffer)())
        for (const [at, value] of changes) packet[at % packet.length] = value
        return packet
      })
    const attack = fc.oneof(
      fc.array(fc.oneof(bytes, framed, mutated), { minLength: 1, maxLength: 3 }).map(parts => parts),
      fc
        .array(fc.oneof(bytes, framed, mutated), { minLength: 1, maxLength: 3 })
        .map(parts => [hello(''), ...parts]),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(attack, { minLength: AT_ONCE, maxLength: AT_ONCE }), async attacks => {
        await Promise.all(
          attacks.map(async parts => {
            const client = openRaw(server.mqttPort)
            client.send(...parts)
            // The server reads all bytes that were sent before it ends the connection.
            client.stream.end()
            await client.closed
          }),
        )
        await expectGoodPoint()
      }),
      { numRuns: ATTACKS / AT_ONCE, endOnFailure: true },
    )
    expect(process.kill(pid, 0)).toBe(true)
    expect(server.output.stderr).not.toMatch(/"level":(50|60)/)
    const { body } = await owner.get('/devices')
    expect(body.status).toBe(true)
  })
})
