import { connect, type Socket } from 'node:net'
import { resolve } from 'node:path'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readHeader } from '../../ingest/mqtt/proxy-protocol.ts'
import { freePort } from '../services/commands.ts'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { connectPacket, publishPacket, speak } from './raw.ts'

const CERTIFICATES = resolve(import.meta.dirname, '../data/tls')
const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

/** A header of version 2, with notes of the balancer behind the addresses. */
function binary(command: number, family: number, addresses: number[], notes = 0): Buffer {
  const noted = Buffer.concat([Buffer.from(addresses), Buffer.alloc(notes, 1)])
  const fixed = Buffer.from([command, family, noted.length >> 8, noted.length & 0xff])
  return Buffer.concat([SIGNATURE, fixed, noted])
}

const PORTS = [0x30, 0x39, 0x07, 0x5b]
const SIX = [0x20, 0x01, 0x0d, 0xb8, ...Array(11).fill(0), 9]
const HEADERS: [string, Buffer, string | null][] = [
  ['a line, IPv4', Buffer.from('PROXY TCP4 198.51.100.7 192.0.2.1 12345 1883\r\n'), '198.51.100.7'],
  ['a line, IPv6', Buffer.from('PROXY TCP6 2001:db8::9 2001:db8::1 12345 1883\r\n'), '2001:db8::9'],
  ['a line of the proxy itself', Buffer.from('PROXY UNKNOWN\r\n'), null],
  ['binary, IPv4', binary(0x21, 0x11, [198, 51, 100, 7, 192, 0, 2, 1, ...PORTS]), '198.51.100.7'],
  ['binary, IPv6 with notes', binary(0x21, 0x21, [...SIX, ...SIX, ...PORTS], 300), '2001:db8::9'],
  ['binary, of the proxy itself', binary(0x20, 0, []), null],
  ['binary, a UNIX socket', binary(0x21, 0x31, Array(216).fill(0)), null],
]

describe('A header of the PROXY protocol', () => {
  it.each(HEADERS)(
    '%s: names the client, is whole with its last byte, and ends there',
    (_, header, address) => {
      for (let cut = 0; cut < header.length; cut++)
        expect(readHeader(header.subarray(0, cut)), `${cut} bytes`).toBe('incomplete')
      for (const rest of [Buffer.alloc(0), Buffer.from([0x10, 0x0c]), header])
        expect(readHeader(Buffer.concat([header, rest]))).toEqual({ length: header.length, address })
    },
  )

  it.each([
    ['MQTT', connectPacket({ clientId: 'x' })],
    ['TLS', Buffer.from([0x16, 3, 1, 2, 0])],
    ['a request', Buffer.from('GET /mqtt HTTP/1.1\r\n')],
    ['no address', Buffer.from('PROXY TCP4 nobody 192.0.2.1 1 1\r\n')],
    ['too long a line', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(200)}\r\n`)],
    ['a line without end', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(200)}`)],
    ['another version', binary(0x31, 0x11, [198, 51, 100, 7, 192, 0, 2, 1, ...PORTS])],
    ['less than its address', binary(0x21, 0x11, [198, 51])],
    ['too many notes', binary(0x21, 0x11, [198, 51, 100, 7, 192, 0, 2, 1, ...PORTS], 4_000)],
  ])('%s is none', (_, bytes) => {
    expect(readHeader(bytes)).toBeNull()
  })

  it('is told from arbitrary bytes within a bound', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 2_100, maxLength: 2_200 }), bytes => {
        expect(readHeader(Buffer.from(bytes))).not.toBe('incomplete')
        expect(readHeader(Buffer.concat([SIGNATURE, bytes]))).not.toBe('incomplete')
        expect(readHeader(Buffer.concat([Buffer.from('PROXY '), bytes]))).not.toBe('incomplete')
      }),
    )
  })
})

describe('MQTT behind a balancer that says whom it serves', () => {
  const BALANCER = '127.0.0.9'
  const CLIENT = '198.51.100.7'
  const header = `PROXY TCP4 ${CLIENT} 192.0.2.1 12345 1883\r\n`
  let database: TestDatabase
  let server: Server
  let tlsPort: number
  let owner: Client
  let device: TestDevice
  let count = 0

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    tlsPort = await freePort()
    server = await openServer(database, {
      ...{ TRUSTED_PROXIES: BALANCER, MQTT_PROXY_PROTOCOL: 'true', MQTT_TLS_PORT: `${tlsPort}` },
      ...{ MQTT_TLS_CERT: resolve(CERTIFICATES, 'first-cert.pem') },
      ...{ MQTT_TLS_KEY: resolve(CERTIFICATES, 'first-key.pem') },
    })
    owner = await signIn(server)
    device = await createDevice(owner)
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  const open = (localAddress: string, port = server.mqttPort): Socket =>
    connect({ port, host: '127.0.0.1', localAddress })
  const hello = () =>
    connectPacket({ clientId: `behind-${count++}`, username: device.id, password: device.key })
  /** A packet of `points` points, and the time of its last one. */
  const points = (points: number) => {
    const begin = Date.now() - 3_600_000 + 10_000 * count++
    const times = Array.from({ length: points }, (_, index) => begin + index)
    const payload = JSON.stringify(times.map(timestamp => ({ lat: 1, lng: 2, timestamp })))
    return {
      packet: publishPacket({ topic: `devices/${device.id}/location`, payload }),
      last: new Date(times.at(-1) as number).toISOString(),
    }
  }
  const timesStored = async () => (await readHistory(owner, device.id)).map(({ timestamp }) => timestamp)

  it.each([
    ['in one piece with all that the device sends', 0],
    ['byte by byte', 1],
  ])('a device connects and publishes, the header %s', async (_, size) => {
    const { packet, last } = points(900)
    const socket = open(BALANCER)
    const client = speak(socket)
    if (size === 0) client.send(Buffer.from(header), hello(), packet)
    else {
      socket.setNoDelay()
      for (const byte of Buffer.concat([Buffer.from(header), hello()])) {
        client.send([byte])
        await new Promise(resolve => setImmediate(resolve))
      }
      await client.next('connack')
      client.send(packet)
    }
    await client.next('puback')
    client.end()
    expect(await timesStored()).toContain(last)
  })

  it('the header comes before the handshake of TLS', async () => {
    const { packet, last } = points(1)
    const socket = open(BALANCER, tlsPort)
    socket.write(binary(0x21, 0x21, [...SIX, ...SIX, ...PORTS], 100))
    const client = speak(connectTls({ socket, rejectUnauthorized: false }))
    client.send(hello(), packet)
    await client.next('puback')
    client.end()
    expect(await timesStored()).toContain(last)
  })

  it("a refused device is diagnosed with the client's address, or the balancer's where that speaks for itself", async () => {
    const refuse = async (before: string) => {
      const other = await createDevice(owner)
      const client = speak(open(BALANCER))
      const password = 'fld_wrong'
      client.send(Buffer.from(before), connectPacket({ clientId: 'x', username: other.id, password }))
      expect(await client.next('connack')).toMatchObject({ returnCode: 5 })
      let address: unknown
      await until('it is diagnosed', async () => {
        const { causes } = (await owner.get(`/device/${other.id}/diagnosis`)).body.data
        address = causes.find(({ cause }: { cause: string }) => cause === 'wrong-key')?.address
        return address !== undefined
      })
      return address
    }
    expect(await refuse(header)).toBe(CLIENT)
    expect(await refuse('PROXY UNKNOWN\r\n')).toBe(BALANCER)
  })

  it('a connection of the balancer without a header is closed, and one of anybody else with one too', async () => {
    const without = speak(open(BALANCER))
    without.send(hello())
    await without.closed
    const forged = speak(open('127.0.0.8'))
    forged.send(Buffer.from(header), hello())
    await forged.closed
    expect([...without.heard, ...forged.heard]).toEqual([])
    const direct = speak(open('127.0.0.8'))
    direct.send(hello())
    expect(await direct.next('connack')).toMatchObject({ returnCode: 0 })
    direct.end()
  })
})
