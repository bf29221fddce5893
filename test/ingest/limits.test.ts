import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import * as limits from '../../ingest/mqtt/limits.ts'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { connectPacket, openRaw, PINGREQ, publishPacket, type RawClient, subscribePacket } from './raw.ts'

type Options = Partial<Parameters<typeof connectPacket>[0]>

describe('The limits of the MQTT server', () => {
  const { server } = useServer()
  let owner: Client
  let device: TestDevice
  let names = 0

  beforeAll(async () => {
    owner = await signIn(server)
    device = await createDevice(owner)
  })

  const hello = (options: Options = {}, of = device) =>
    connectPacket({ clientId: `limits-${names++}`, username: of.id, password: of.key, ...options })
  async function open(options: Options = {}, of = device): Promise<RawClient> {
    const client = openRaw(server.mqttPort)
    client.send(hello(options, of))
    await client.next('connack')
    return client
  }
  const point = (id: number, of = device, timestamp = Date.now() - 3600_000 + id) =>
    publishPacket({
      topic: `devices/${of.id}/location`,
      payload: JSON.stringify({ lat: 1, lng: 1, timestamp }),
      id,
    })

  it.concurrent('a client without a whole CONNECT within 10 s is disconnected, whether it sent half of one or nothing', async () => {
    const begun = performance.now()
    const clients = [openRaw(server.mqttPort), openRaw(server.mqttPort)]
    clients[1]?.send(hello().subarray(0, 20))
    await Promise.race(clients.map(({ closed }) => closed))
    expect(performance.now() - begun).toBeGreaterThan(limits.CONNECT_TIMEOUT_MS - 500)
    await Promise.all(clients.map(({ closed }) => closed))
  })

  it.concurrent('half a packet and silence end with the keepalive; without one the connection stays', async () => {
    const patient = await open({ keepalive: 0 })
    patient.send(point(1).subarray(0, 50))
    // Two clients in turn: when the second one is closed, `patient` has been silent for twice as long.
    for (let turn = 0; turn < 2; turn++) {
      const begun = performance.now()
      const silent = await open({ keepalive: 1 })
      silent.send(point(1).subarray(0, 50))
      await silent.closed
      // [MQTT-3.1.2-24]: after one and a half times the keepalive.
      expect(performance.now() - begun).toBeGreaterThan(1_000)
    }
    expect(patient.stream.destroyed).toBe(false)
    patient.send(point(1).subarray(50))
    await patient.next('puback')
    patient.end()
  })

  it.concurrent('identifiers, CONNECTs and topics have a length', async () => {
    const long = 'x'.repeat(limits.MAX_CLIENT_ID_BYTES)
    expect((await open({ clientId: long })).heard).toEqual(['connack 0'])
    expect((await open({ clientId: `${long}x` })).heard).toEqual(['connack 2'])

    const large = openRaw(server.mqttPort)
    large.send(hello({ password: 'x'.repeat(limits.MAX_CONNECT_BYTES) }))
    expect(await large.answers(0)).toEqual(['closed'])

    const own = `devices/${device.id}/`
    const fits = own + 'x'.repeat(limits.MAX_TOPIC_BYTES - own.length)
    const deep = own + 'x/'.repeat(limits.MAX_TOPIC_LEVELS - 3)
    const client = await open()
    client.send(
      subscribePacket([
        [fits, 0],
        [`${deep}x`, 0],
      ]),
    )
    expect(await client.next('suback')).toMatchObject({ granted: [0, 0] })
    for (const filter of [`${fits}x`, `${deep}x/x`]) {
      const other = await open()
      other.send(subscribePacket([[filter, 0]]))
      expect(await other.answers(1)).toEqual(['connack 0', 'closed'])
    }
    client.end()
  })

  it.concurrent('more messages than may be in flight are read when there is room, and answered in order', async () => {
    const sender = await createDevice(owner)
    const client = await open({}, sender)
    const count = limits.MAX_PENDING * 3
    client.send(...Array.from({ length: count }, (_, n) => point(n + 1, sender)))
    client.send(PINGREQ)
    await until('all', () => client.heard.includes(`puback ${count}`))
    const ids = client.packets.filter(({ cmd }) => cmd === 'puback').map(({ messageId }) => messageId)
    expect(ids).toEqual(Array.from({ length: count }, (_, n) => n + 1))
    expect(await readHistory(owner, sender.id)).toHaveLength(count)
    client.end()
  })

  it.concurrent('a device has so many connections; one more closes the first', async () => {
    const busy = await createDevice(owner)
    const clients: RawClient[] = []
    for (let n = 0; n < limits.MAX_CONNECTIONS_PER_CREDENTIAL; n++) clients.push(await open({}, busy))
    expect(clients.some(({ stream }) => stream.destroyed)).toBe(false)
    const last = await open({}, busy)
    await clients[0]?.closed
    expect(await last.answers(1)).toEqual(['connack 0', 'open'])
    expect(clients.slice(1).some(({ stream }) => stream.destroyed)).toBe(false)
    for (const client of [...clients, last]) client.end()
  })

  it.concurrent('connections beyond so many a second wait, and are accepted', async () => {
    const own = await createTestDatabase(usualKind())
    const slow = await openServer(own, { MQTT_CONNECTIONS_PER_SECOND: '20' })
    const mine = await createDevice(await signIn(slow))
    const begun = performance.now()
    const clients = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const client = openRaw(slow.mqttPort)
        client.send(connectPacket({ clientId: `${n}`, username: mine.id, password: mine.key }))
        expect(await client.next('connack', 60_000)).toMatchObject({ returnCode: 0 })
        return client
      }),
    )
    expect(performance.now() - begun).toBeGreaterThan(1_800)
    for (const client of clients) client.end()
    await slow.stop()
    await own.remove()
  })

  it('are in docs/mqtt.md as they are in the code', () => {
    const text = readFileSync(resolve(import.meta.dirname, '../../docs/mqtt.md'), 'utf8')
    const missing = Object.entries(limits)
      .filter(
        ([, value]) =>
          ![value, value / 1000, value / 1024, value / 86_400_000].some(shown => has(text, shown)),
      )
      .map(([name, value]) => `${name} ${value}`)
    expect(missing).toEqual([])
  })
})

/** Whether a text contains a number, with or without commas between thousands. */
function has(text: string, value: number): boolean {
  return new RegExp(`(?<![\\d,.])${value.toLocaleString('en').replaceAll(',', ',?')}(?![\\d])`).test(text)
}
