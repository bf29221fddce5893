import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import mqtt from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket, { createWebSocketStream } from 'ws'
import { freePort } from '../services/commands.ts'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { openServer, type Server, startRefused } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { connectPacket, openRaw, PINGREQ, publishPacket, speak } from './raw.ts'

const CERTIFICATES = resolve(import.meta.dirname, '../data/tls')

describe('MQTT over TLS and WebSocket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-tls-'))
  const files = { MQTT_TLS_CERT: join(folder, 'cert.pem'), MQTT_TLS_KEY: join(folder, 'key.pem') }
  let database: TestDatabase
  let server: Server
  let tlsPort: number
  let owner: Client
  let device: TestDevice

  const install = (name: string) => {
    copyFileSync(join(CERTIFICATES, `${name}-cert.pem`), files.MQTT_TLS_CERT)
    copyFileSync(join(CERTIFICATES, `${name}-key.pem`), files.MQTT_TLS_KEY)
  }

  beforeAll(async () => {
    install('first')
    database = await createTestDatabase(usualKind())
    tlsPort = await freePort()
    const more = { MQTT_TLS_PORT: `${tlsPort}`, CORS_ORIGINS: 'https://ours.example' }
    server = await openServer(database, { ...more, ...files })
    owner = await signIn(server)
    device = await createDevice(owner)
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
    rmSync(folder, { recursive: true })
  })

  const options = { protocolVersion: 4 as const, reconnectPeriod: 0, connectTimeout: 60_000 }
  const credentials = () => ({ username: device.id, password: device.key })
  const publishOver = async (url: string, lat: number, more = {}) => {
    const client = await mqtt.connectAsync(url, { ...options, ...credentials(), ...more })
    const timestamp = Date.now() - 60_000 + lat
    await client.publishAsync(`devices/${device.id}/location`, JSON.stringify({ lat, lng: 1, timestamp }), {
      qos: 1,
    })
    await client.endAsync()
    expect((await readHistory(owner, device.id)).map(point => point.lat)).toContain(lat)
  }
  const handshake = (more = {}) =>
    new Promise<TLSSocket>((done, fail) => {
      const socket = connectTls({ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false, ...more })
      socket.once('secureConnect', () => done(socket))
      socket.once('error', fail)
    })

  it('a device publishes over TLS, in 3.1.1 and in version 5', async () => {
    const url = `mqtts://127.0.0.1:${tlsPort}`
    await publishOver(url, 1, { rejectUnauthorized: false })
    await publishOver(url, 7, { rejectUnauthorized: false, protocolVersion: 5 })
  })

  it('a device publishes over a WebSocket at /mqtt, and an old one with the subprotocol of MQTT 3.1', async () => {
    const url = `${server.url.replace('http', 'ws')}/mqtt`
    await publishOver(url, 2)
    await publishOver(url, 3, { protocolId: 'MQIsdp', protocolVersion: 3 })
  })

  it('a device publishes over a WebSocket at /mqtt of the TLS port, and an old one with the subprotocol of MQTT 3.1', async () => {
    const url = `wss://127.0.0.1:${tlsPort}/mqtt`
    await publishOver(url, 5, { rejectUnauthorized: false })
    await publishOver(url, 6, { rejectUnauthorized: false, protocolId: 'MQIsdp', protocolVersion: 3 })
  })

  it('the TLS port answers any other request with a failure, and closes', async () => {
    const ask = async (head: string) => {
      const socket = await handshake()
      let answer = ''
      socket.on('data', chunk => {
        answer += chunk
      })
      socket.write(head)
      await new Promise<void>(done => socket.once('close', () => done()))
      return [Number(answer.slice(9, 12)), JSON.parse(answer.split('\r\n\r\n')[1] ?? '').code]
    }
    const upgrade = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
    const mqttOnly = 'Sec-WebSocket-Protocol: mqtt\r\n'
    expect(await ask('GET /mqtt HTTP/1.1\r\nHost: x\r\n\r\n')).toEqual([426, 'upgrade-required'])
    expect(await ask('GET /api/v3/devices HTTP/1.1\r\nHost: x\r\n\r\n')).toEqual([404, 'not-found'])
    expect(await ask(`GET /api/v3/live HTTP/1.1\r\n${upgrade}${key}${mqttOnly}\r\n`)).toEqual([
      404,
      'not-found',
    ])
    expect(await ask(`GET /mqtt HTTP/1.1\r\n${upgrade}${key}\r\n`)).toEqual([400, 'invalid-input'])
    expect(await ask(`GET /mqtt HTTP/1.1\r\n${upgrade}${mqttOnly}\r\n`)).toEqual([400, 'malformed-request'])
    expect(await ask('GET nonsense\r\n\r\n')).toEqual([400, 'malformed-request'])
    const long = `GET /mqtt HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`
    expect(await ask(long)).toEqual([400, 'malformed-request'])
  })

  it('the TLS port opens a WebSocket for pages of its own host and of CORS_ORIGINS, and for no others', async () => {
    const open = async (origin: string) => {
      const socket = new WebSocket(`wss://127.0.0.1:${tlsPort}/mqtt`, ['mqtt'], {
        ...{ rejectUnauthorized: false, origin },
      })
      const result = await Promise.race([
        once(socket, 'open').then(() => 'open'),
        once(socket, 'unexpected-response').then(([, answer]) => answer.statusCode),
      ])
      socket.on('error', () => {}).terminate()
      return result
    }
    for (const origin of ['https://127.0.0.1', 'https://127.0.0.1:8443', 'https://ours.example'])
      expect(await open(origin), origin).toBe('open')
    for (const origin of ['https://evil.example', 'https://127.0.0.1.evil.example', 'null', 'x'])
      expect(await open(origin), origin).toBe(403)
  })

  it('a connection over TLS that sends nothing, or half a request, is closed', async () => {
    await Promise.all(
      ['', 'G', 'GET /mqtt HTTP/1.1\r\nHost:'].map(async bytes => {
        const socket = await handshake()
        socket.on('data', () => {})
        socket.write(bytes)
        await new Promise<void>(done => socket.once('close', () => done()))
      }),
    )
  })

  it('a certificate is read again when it changes; open connections stay', async () => {
    const before = await handshake()
    expect(before.getPeerCertificate().subject.CN).toBe('first.example')
    const client = speak(before)
    client.send(connectPacket({ clientId: 'stays', username: device.id, password: device.key }))
    await client.next('connack')

    // The new certificate does not fit the old key: the old pair is used until both new files are there.
    copyFileSync(join(CERTIFICATES, 'second-cert.pem'), files.MQTT_TLS_CERT)
    await until('noticed', () => server.output.stderr.includes('TLS certificate again'))
    expect((await handshake()).getPeerCertificate().subject.CN).toBe('first.example')
    install('second')
    await until('changed', async () => {
      const socket = await handshake()
      const name = socket.getPeerCertificate().subject.CN
      socket.destroy()
      return name === 'second.example'
    })
    client.send(PINGREQ)
    await client.next('pingresp')
    client.end()
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('a client resumes its session of %s', async version => {
    const first = connectTls({
      ...{ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false },
      ...{ minVersion: version, maxVersion: version },
    })
    const session = await new Promise<Buffer>((done, fail) => {
      first.once('error', fail).once('session', done)
    })
    first.destroy()
    const again = await handshake({ minVersion: version, maxVersion: version, session })
    expect(again.isSessionReused()).toBe(true)
    again.destroy()
  })

  it('a client that speaks no TLS to the TLS port, or breaks off in the handshake, harms nobody', async () => {
    const plain = openRaw(tlsPort)
    plain.send(connectPacket({ clientId: 'plain', username: device.id, password: device.key }))
    await plain.closed
    const broken = openRaw(tlsPort)
    broken.send([0x16, 3, 1, 0, 200, 1])
    broken.end()
    await broken.closed
    await expect(handshake({ maxVersion: 'TLSv1.1' })).rejects.toThrow()
    ;(await handshake()).destroy()
  })

  it('does not start without a certificate, with an invalid one, or with another’s key', async () => {
    // This database has no other writer: a second writer would be refused before its certificate is read.
    const own = await createTestDatabase(usualKind())
    const env = { MQTT_TLS_PORT: '0' }
    expect((await startRefused(own, env)).stderr).toContain('MQTT_TLS_CERT and MQTT_TLS_KEY')
    const missing = await startRefused(own, { ...env, ...files, MQTT_TLS_CERT: join(folder, 'none.pem') })
    expect(missing.stderr).toContain('none.pem')
    const key = join(CERTIFICATES, 'first-key.pem')
    const mismatch = await startRefused(own, { ...env, ...files, MQTT_TLS_KEY: key })
    expect(mismatch.stderr).toMatch(/cannot start: .*key values mismatch/)
    await own.remove()
  })

  const openSocket = async (protocols: string[]) => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/mqtt`, protocols)
    await new Promise<void>((done, fail) => {
      socket.once('open', () => done())
      socket.once('error', fail)
    })
    return socket
  }

  it('packets and WebSocket frames need not have the same bounds', async () => {
    const socket = await openSocket(['something', 'mqtt'])
    // [MQTT-6.0.0-4]
    expect(socket.protocol).toBe('mqtt')
    const client = speak(createWebSocketStream(socket))
    const payload = JSON.stringify({ lat: 4, lng: 4, timestamp: Date.now() - 1_000 })
    const bytes = Buffer.concat([
      connectPacket({ clientId: 'pieces', username: device.id, password: device.key }),
      publishPacket({ topic: `devices/${device.id}/location`, payload }),
      Buffer.from(PINGREQ),
    ])
    // [MQTT-6.0.0-2]
    for (let at = 0; at < bytes.length; at += 7) client.send(bytes.subarray(at, at + 7))
    await client.next('puback')
    client.end()
  })

  it('a text frame closes the connection', async () => {
    const socket = await openSocket(['mqtt'])
    const closed = new Promise<number>(done => socket.once('close', done))
    socket.send('text')
    // [MQTT-6.0.0-1]
    await closed
  })

  it('a WebSocket without the subprotocol, and an invalid request, are not accepted', async () => {
    await expect(openSocket([])).rejects.toThrow('400')
    expect((await fetch(`${server.url}/mqtt`)).status).toBe(400)
  })

  it('a CONNACK that says no reaches its client over WebSocket and TLS as well', async () => {
    const secure = new WebSocket(`wss://127.0.0.1:${tlsPort}/mqtt`, ['mqtt'], { rejectUnauthorized: false })
    await once(secure, 'open')
    const streams = [
      createWebSocketStream(await openSocket(['mqtt'])),
      createWebSocketStream(secure),
      await handshake(),
    ]
    for (const stream of streams) {
      const client = speak(stream)
      client.send(connectPacket({ clientId: 'wrong', username: device.id, password: 'wrong' }))
      expect(await client.answers(1)).toEqual(['connack 5', 'closed'])
    }
  })

  it('a restart closes them all, and tells those of version 5', async () => {
    const silent = await handshake()
    silent.on('data', () => {})
    const clients = [
      await mqtt.connectAsync(`wss://127.0.0.1:${tlsPort}/mqtt`, {
        ...options,
        ...credentials(),
        rejectUnauthorized: false,
      }),
      await mqtt.connectAsync(`mqtts://127.0.0.1:${tlsPort}`, {
        ...options,
        ...credentials(),
        rejectUnauthorized: false,
      }),
      await mqtt.connectAsync(`${server.url.replace('http', 'ws')}/mqtt`, { ...options, ...credentials() }),
    ]
    const told: (number | undefined)[] = []
    for (const url of [`mqtt://127.0.0.1:${server.mqttPort}`, `${server.url.replace('http', 'ws')}/mqtt`]) {
      const five = await mqtt.connectAsync(url, { ...options, ...credentials(), protocolVersion: 5 })
      five.on('disconnect', ({ reasonCode }) => told.push(reasonCode))
      clients.push(five)
    }
    const closed = [silent, ...clients].map(
      client => new Promise<void>(done => client.once('close', () => done())),
    )
    expect(await server.stop()).toBe(0)
    await Promise.all(closed)
    expect(told).toEqual([0x8b, 0x8b])
    server = await openServer(database, { MQTT_TLS_PORT: `${tlsPort}`, ...files })
  })
})
