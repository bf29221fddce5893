import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Aedes, type AedesOptions, type Client } from 'aedes'
import mqttPacket, { writeToStream } from 'mqtt-packet'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createPersistence,
  endWith,
  keepNoNumbers,
  NO_DELIVERY,
  PacketParser,
  pauseReading,
  refreshKeepalive,
  resumeReading,
  signIn,
} from '../../ingest/mqtt/aedes.ts'
import type { Packet } from '../../ingest/mqtt/protocol.ts'
import { until } from '../support/wait.ts'
import { connectPacket, numberProperty, PINGREQ, publishPacket, speak, userProperty } from './raw.ts'

const require = createRequire(import.meta.url)
const SUBSCRIBE = Buffer.from([0x82, 6, 0, 1, 0, 1, 0x61, 0])

/** aedes and mqtt-packet do not document these parts. If an upgrade changes one, a test here fails and names it. */
describe('The private parts of aedes and mqtt-packet', () => {
  /**
   * Opens a connection to a broker, whose answers a PacketParser reads. `chunks` and `packets` are in the order of
   * arrival.
   */
  async function open(options: AedesOptions = {}, keep: 'chunks' | 'nothing' = 'nothing') {
    const broker = await Aedes.createBroker({ connectTimeout: 120_000, ...options })
    const chunks: Buffer[] = []
    const packets: string[] = []
    const state = { pauses: false, takesWill: false }
    let opened: { client: Client; parser: PacketParser } | undefined
    const server = createServer(socket => {
      const client = broker.handle(socket)
      const parser: PacketParser = new PacketParser(client, chunk => {
        chunks.push(chunk)
        if (keep === 'chunks') return
        for (let at = 0; at < chunk.length; ) {
          const end = at + (parser.missingBytes ?? 2 + (chunk[at + 1] ?? 0))
          const packet = parser.parse(chunk.subarray(at, end))
          at = Math.min(end, chunk.length)
          if (!packet) continue
          packets.push(packet.cmd)
          if (state.takesWill) packet.will = undefined
          parser.passOn(packet)
        }
        if (state.pauses) pauseReading(client)
      })
      opened = { client, parser }
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const raw = speak(connect((server.address() as AddressInfo).port, '127.0.0.1'))
    await until('a connection', () => opened !== undefined)
    onTestFinished(async () => {
      raw.end()
      await new Promise<void>(resolve => broker.close(resolve))
      await new Promise(resolve => server.close(resolve))
    })
    return { raw, chunks, packets, state, ...(opened as NonNullable<typeof opened>) }
  }

  it('the versions are those that they were read in, and there is one parser in the tree', () => {
    expect(require('mqtt-packet/package.json').version).toBe('9.0.2')
    expect(new Aedes()).toMatchObject({ version: '1.2.0' })
    const aedes = createRequire(require.resolve('aedes'))
    expect(aedes.resolve('mqtt-packet')).toBe(require.resolve('mqtt-packet'))
  })

  it('the parser of a client gets every chunk, and aedes handles only the packets that are passed on', async () => {
    const { raw, chunks, packets } = await open({ authorizePublish: () => expect.unreachable() })
    raw.send(connectPacket({ clientId: 'one' }))
    await raw.next('connack')
    raw.send(PINGREQ)
    await raw.next('pingresp')
    expect(packets).toEqual(['connect', 'pingreq'])
    expect(Buffer.concat(chunks)).toEqual(
      Buffer.concat([connectPacket({ clientId: 'one' }), Buffer.from(PINGREQ)]),
    )
  })

  it('a packet comes out of any pieces, and it is known how much of it is missing', async () => {
    const { raw, chunks, parser } = await open({}, 'chunks')
    raw.send(PINGREQ)
    await until('a chunk', () => chunks.length === 1)
    parser.forgetConnect(4)
    const publish = publishPacket({ topic: 'a', payload: 'x'.repeat(200), id: 7 })
    expect(parser.missingBytes).toBeNull()
    expect(parser.parse(publish.subarray(0, 1))).toBeNull()
    expect(parser.missingBytes).toBe(1)
    expect(parser.parse(publish.subarray(1, 2))).toBeNull()
    expect(parser.missingBytes).toBe(1)
    expect(parser.parse(publish.subarray(2, 50))).toBeNull()
    expect(parser.missingBytes).toBe(publish.length - 50)
    expect(parser.parse(publish.subarray(50))).toMatchObject({
      cmd: 'publish',
      topic: 'a',
      messageId: 7,
      qos: 1,
    })
    expect(parser.missingBytes).toBeNull()
  })

  it('a packet that comes byte by byte is kept in few pieces: each takes as much as 280 bytes', async () => {
    const { client, parser } = await open({}, 'chunks')
    parser.forgetConnect(4)
    const payload = Buffer.from(Array.from({ length: 5_000 }, (_, n) => n & 255))
    const publish = publishPacket({ topic: 'a', payload: payload as never, id: 7 })
    const { _list } = (client as unknown as { _parser: { _list: { getBuffers(): Buffer[] } } })._parser
    for (let at = 0; at < publish.length - 1; at++) {
      expect(parser.parse(publish.subarray(at, at + 1))).toBeNull()
      expect(_list.getBuffers().length).toBeLessThanOrEqual(1_000)
    }
    expect(parser.parse(publish.subarray(-1))).toMatchObject({ cmd: 'publish', payload })
  })

  it.each<[string, Buffer | number[], string]>([
    ['the position stands at the end of a packet', [0x40, 3, 0, 1, 0], 'fields and remaining length differ'],
    ['the length is announced before the rest is there', [0x82, 0xff, 0xff, 0x7f], 'too large'],
    ['strings are read in one place', [0x30, 5, 0, 3, 0x61, 0xff, 0x61], 'not UTF-8'],
    ['the flags are read in the header', [0x62 | 8, 2, 0, 1], 'Invalid header flag bits'],
  ])('what is wrong is thrown: %s', async (_name, bytes, message) => {
    const { parser } = await open({}, 'chunks')
    parser.forgetConnect(4)
    expect(() => parser.parse(Buffer.from(bytes))).toThrow(message)
  })

  it('name and version of a CONNECT are read before the rest, and DUP of MQTT 3.1 is allowed', async () => {
    const { parser } = await open({}, 'chunks')
    expect(() => parser.parse(connectPacket({ clientId: 'a', level: 6 }))).toThrow('[MQTT-3.1.2-2]')
    const old = (await open({}, 'chunks')).parser
    old.forgetConnect(3)
    expect(old.parse(Buffer.from([0x62 | 8, 2, 0, 1]))).toMatchObject({ cmd: 'pubrel', messageId: 1 })
    const first = (await open({}, 'chunks')).parser
    expect(() => first.parse(Buffer.from(PINGREQ))).toThrow('[MQTT-3.1.0-1]')
  })

  it('properties of version 5 are read in one place, wherever their packet is cut', async () => {
    const { parser } = await open({}, 'chunks')
    parser.forgetConnect(5)
    const properties = [numberProperty(2, 9, 4), userProperty('a', 'b')]
    const publish = publishPacket({ topic: 'a', payload: 'x', id: 7, properties })
    for (const byte of publish.subarray(0, -1)) expect(parser.parse(Buffer.of(byte))).toBeNull()
    expect(parser.parse(publish.subarray(-1))).toMatchObject({
      ...{ topic: 'a', messageId: 7, payload: Buffer.from('x') },
      properties: { messageExpiryInterval: 9 },
    })
  })

  it('a client is signed in without aedes seeing its CONNECT, and aedes handles its DISCONNECT', async () => {
    const asked: unknown[] = []
    const { raw, client, parser } = await open({
      connectTimeout: 1_000,
      authenticate(_client, username, _password, done) {
        asked.push(username)
        done(null, true)
      },
    })
    const told: string[] = []
    client.once('connected', () => told.push('connected'))
    const packet = { clientId: 'five', clean: true, keepalive: 1, username: 'a' } as Packet
    signIn(client, packet, {
      onAdmitted: () => told.push('admitted'),
      onSilent: () => told.push('silent'),
    })
    expect(asked).toEqual(['a'])
    expect(client).toMatchObject({ id: 'five', version: 5, connected: true })
    await until('the keepalive is over, and with it the time for a CONNECT', () => told.length === 3)
    expect(told).toEqual(['admitted', 'connected', 'silent'])
    expect(client.closed).toBe(false)
    parser.passOn({ cmd: 'disconnect' } as Packet)
    await raw.closed
  })

  it('the parser continues after aedes has closed the connection', async () => {
    const { client, parser } = await open({}, 'chunks')
    parser.forgetConnect(4)
    client.close()
    expect(parser.parse(Buffer.from(PINGREQ))).toMatchObject({ cmd: 'pingreq' })
  })

  it('a client that is paused is not read, and is read again however many packets aedes had not counted', async () => {
    const { raw, client, chunks, packets, state } = await open()
    raw.send(connectPacket({ clientId: 'one' }))
    await raw.next('connack')
    // aedes itself continues reading after it has handled the CONNECT.
    raw.send(PINGREQ)
    await raw.next('pingresp')
    state.pauses = true
    raw.send(PINGREQ, PINGREQ, PINGREQ)
    await until('three answers', () => raw.heard.filter(text => text === 'pingresp').length === 4)
    state.pauses = false
    const before = chunks.length
    for (let n = 0; n < 5; n++) raw.send(PINGREQ)
    await until('they wait', () => client.conn.readableLength === 5 * PINGREQ.length)
    expect(chunks).toHaveLength(before)
    resumeReading(client)
    await until('all are read', () => packets.filter(cmd => cmd === 'pingreq').length === 9)
    raw.send(PINGREQ)
    await until('what comes then is read', () => packets.filter(cmd => cmd === 'pingreq').length === 10)
  })

  it('the keepalive of a client restarts on request', async () => {
    const { raw, client } = await open()
    raw.send(connectPacket({ clientId: 'one', keepalive: 1 }))
    await raw.next('connack')
    const begun = performance.now()
    while (performance.now() - begun < 2_000) {
      refreshKeepalive(client)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    expect(client.closed).toBe(false)
    await raw.closed
  })

  it('the will is the connection’s: without one aedes publishes none', async () => {
    const { raw, client, state } = await open({ authorizePublish: () => expect.unreachable() })
    state.takesWill = true
    raw.send(connectPacket({ clientId: 'one', will: { topic: 'the/will', payload: Buffer.from('x') } }))
    await raw.next('connack')
    raw.end()
    await until('the end', () => client.closed)
  })

  it('a last answer reaches a client that continues to send', async () => {
    const { raw, client } = await open({}, 'chunks')
    raw.send(connectPacket({ clientId: 'one' }))
    endWith(client, Buffer.from([0x20, 2, 0, 5]))
    raw.send(Buffer.alloc(100_000))
    expect(await raw.next('connack')).toMatchObject({ returnCode: 5 })
    client.close()
  })

  it('numbers are written without 65,536 buffers', () => {
    keepNoNumbers()
    expect(writeToStream.cacheNumbers).toBe(false)
    expect(mqttPacket.generate({ cmd: 'puback', messageId: 258 })).toEqual(Buffer.from([0x40, 2, 1, 2]))
  })

  it.each([true, false])('CONNACK says whether a session is kept: %s', async kept => {
    const { raw } = await open({
      persistence: createPersistence(id => kept && id === 'one'),
      mq: NO_DELIVERY,
    })
    raw.send(connectPacket({ clientId: 'one', clean: false }))
    expect(await raw.next('connack')).toMatchObject({ sessionPresent: kept })
    raw.send(SUBSCRIBE)
    expect(await raw.next('suback')).toMatchObject({ granted: [0] })
    raw.send(PINGREQ)
    await raw.next('pingresp')
  })
})
