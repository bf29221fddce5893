import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createWebSocketStream, WebSocket } from 'ws'
import { createDevice, readHistory, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { pause, until } from '../support/wait.ts'
import {
  connectPacket,
  DISCONNECT,
  openRaw,
  PINGREQ,
  packet,
  publishPacket,
  type RawClient,
  speak,
} from './raw.ts'

type Close = (client: RawClient) => void
const TIMES = 5

describe('A client that sends and hangs up', () => {
  const { server, owner } = useOrganization()
  let time = Date.now() - 3600_000

  const hello = (device: TestDevice, options = {}) =>
    connectPacket({ clientId: 'hasty', username: device.id, password: device.key, ...options })
  const point = (device: TestDevice, options: { qos?: 0 | 1 | 2; id?: number; topic?: string } = {}) =>
    publishPacket({
      topic: `devices/${device.id}/location`,
      payload: JSON.stringify({ lat: 1, lng: 1, timestamp: time++ }),
      ...options,
    })
  const countOf = async (device: TestDevice) => (await readHistory(owner, device.id)).length

  /** Sends all bytes in one segment right after connecting, and closes at once. */
  async function hitAndRun(bytes: Buffer[], close: Close): Promise<void> {
    const client = openRaw(server.mqttPort)
    await new Promise(resolve => client.stream.once('connect', resolve))
    client.send(...bytes)
    // A reset would overtake bytes that are still to be sent.
    await new Promise(resolve => client.stream.write('', resolve))
    close(client)
    await client.closed
  }

  const CLOSES: [string, Close][] = [
    ['half', client => void client.stream.end()],
    ['wholly', client => void client.stream.destroy()],
  ]
  describe.each(CLOSES)('%s', (_name, close) => {
    it.each([0, 1, 2] as const)(
      'is heard, in QoS %i: its CONNECT and PUBLISH come in one segment',
      async qos => {
        const device = await createDevice(owner)
        for (let time = 0; time < TIMES; time++)
          await hitAndRun([hello(device), point(device, { qos }), point(device, { qos, id: 2 })], close)
        await until('all of them', async () => (await countOf(device)) === 2 * TIMES)
      },
    )

    it('is not heard when its key is wrong', async () => {
      const device = await createDevice(owner)
      for (let time = 0; time < TIMES; time++)
        await hitAndRun([hello(device, { password: 'wrong' }), point(device)], close)
      await pause(300)
      expect(await countOf(device)).toBe(0)
    })

    it('is heard once it is connected as well', async () => {
      const device = await createDevice(owner)
      const client = openRaw(server.mqttPort)
      client.send(hello(device))
      await client.next('connack')
      client.send(...Array.from({ length: 50 }, (_, id) => point(device, { id: id + 1 })))
      await new Promise(resolve => client.stream.write('', resolve))
      close(client)
      await until('all of them', async () => (await countOf(device)) === 50)
    })
  })

  it('with a reset ends nothing, whatever of it has arrived', async () => {
    const device = await createDevice(owner)
    for (let time = 0; time < 50; time++)
      await hitAndRun(
        [hello(device), point(device)],
        client => void (client.stream as Socket).resetAndDestroy(),
      )
    const client = openRaw(server.mqttPort)
    client.send(hello(device), point(device))
    await client.next('puback')
    client.end()
  })

  it.each([1, 10, 60, 100, 140])(
    'is heard when its CONNECT is cut at byte %i, and more comes with the rest',
    async at => {
      const device = await createDevice(owner)
      const client = openRaw(server.mqttPort)
      const bytes = Buffer.concat([hello(device), point(device), point(device, { id: 2 })])
      client.send(bytes.subarray(0, at))
      await pause(50)
      client.send(bytes.subarray(at))
      expect(await client.answers(3)).toEqual(['connack 0', 'puback 1', 'puback 2', 'open'])
      client.end()
    },
  )

  it('may write its user name in capitals, as identifiers may be written', async () => {
    const device = await createDevice(owner)
    const client = openRaw(server.mqttPort)
    client.send(hello(device, { username: device.id.toUpperCase() }), point(device))
    expect(await client.answers(2)).toEqual(['connack 0', 'puback 1', 'open'])
    client.end()
  })

  it('has its will heard, unless it said goodbye', async () => {
    const device = await createDevice(owner)
    const will = {
      topic: `devices/${device.id}/location`,
      payload: JSON.stringify({ lat: 1, lng: 1, timestamp: time++ }),
    }
    const other = { ...will, payload: JSON.stringify({ lat: 2, lng: 1, timestamp: time++ }) }
    await hitAndRun(
      [hello(device, { will: other }), point(device), Buffer.from(DISCONNECT)],
      client => void client.stream.destroy(),
    )
    await hitAndRun([hello(device, { will })], client => void client.stream.destroy())
    await until('the point and the will', async () => (await countOf(device)) === 2)
    await pause(200)
    expect((await readHistory(owner, device.id)).map(({ lat }) => lat)).toEqual([1, 1])
  })

  it('is heard over a WebSocket', async () => {
    const device = await createDevice(owner)
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/mqtt`, 'mqtt')
    const client = speak(createWebSocketStream(socket))
    client.send(hello(device), point(device))
    await new Promise(resolve => socket.once('open', resolve))
    client.stream.end()
    await until('heard', async () => (await countOf(device)) === 1)
  })

  describe('is heard until its DISCONNECT: what follows in the same segment is not', () => {
    const rest = (device: TestDevice) => [
      point(device),
      ...[DISCONNECT, point(device), point(device, { topic: 'owntracks/a/b' }), PINGREQ].map(bytes =>
        Buffer.from(bytes),
      ),
    ]
    it.each<[string, (device: TestDevice) => Promise<void>]>([
      [
        'before it is accepted',
        async device => {
          const client = openRaw(server.mqttPort)
          client.send(hello(device), ...rest(device))
          await client.closed
        },
      ],
      [
        'once it is accepted',
        async device => {
          const client = openRaw(server.mqttPort)
          client.send(hello(device))
          await client.next('connack')
          client.send(...rest(device))
          await client.closed
        },
      ],
      [
        'when it has gone',
        device => hitAndRun([hello(device), ...rest(device)], client => void client.stream.destroy()),
      ],
    ])('%s', async (_name, send) => {
      const device = await createDevice(owner)
      await send(device)
      await until('the first', async () => (await countOf(device)) > 0)
      await pause(200)
      expect(await countOf(device)).toBe(1)
    })
  })

  it('with more than one read holds is answered in order, once it is accepted', async () => {
    const device = await createDevice(owner)
    const client = openRaw(server.mqttPort)
    const count = 3_000
    client.send(hello(device), ...Array.from({ length: count }, (_, id) => point(device, { id: id + 1 })))
    await until('the last', () => client.heard.includes(`puback ${count}`))
    const ids = client.packets.flatMap(({ cmd, messageId }) => (cmd === 'puback' ? [messageId] : []))
    expect(ids).toEqual(Array.from({ length: count }, (_, index) => index + 1))
    client.end()
  })

  it('after a CONNECT in many pieces is heard all the same', async () => {
    const device = await createDevice(owner)
    const client = openRaw(server.mqttPort)
    const bytes = Buffer.concat([hello(device), point(device), packet(0xc0, []), point(device, { id: 2 })])
    for (const byte of bytes) {
      client.send([byte])
      await new Promise(resolve => setImmediate(resolve))
    }
    await client.next('puback')
    await client.next('puback')
    client.end()
  })
})
