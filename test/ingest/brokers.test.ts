import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import mqtt from 'mqtt'
import { generate } from 'mqtt-packet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AddressNotPublic } from '../../fair/public-addresses.ts'
import { openStream } from '../../ingest/connections/broker/stream.ts'
import { type Mosquitto, startMosquitto } from '../services/mosquitto.ts'
import type { Service } from '../services/services.ts'
import { type Client, readHistory, signIn } from '../support/client.ts'
import { addConnection, readConnection, traccarFix } from '../support/connections.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { heldBytes } from '../support/held-bytes.ts'
import { hold } from '../support/hold.ts'
import { useServer } from '../support/own-server.ts'
import {
  acknowledgedBy,
  type Script,
  type ScriptedBroker,
  startScriptedBroker,
} from '../support/scripted-broker.ts'
import { pause, until } from '../support/wait.ts'

describe('Another broker', () => {
  const { server, database } = useServer({ CONNECTIONS_ALLOW_PRIVATE: 'true' })
  let owner: Client
  const begin = Date.now() - 3_600_000
  const brokers: ScriptedBroker[] = []

  beforeAll(async () => {
    owner = await signIn(server)
  })
  afterAll(async () => {
    for (const broker of brokers) await broker.close()
  })

  const start = async (script?: Script) => {
    const broker = await startScriptedBroker(script)
    brokers.push(broker)
    return broker
  }
  const subscribe = (url: string, more: object = {}, settings: object = {}) =>
    addConnection(owner, { kind: 'broker', createDevices: true, broker: { url, ...settings }, ...more })
  const state = (connection: { _id: string }, wanted: string | RegExp) =>
    until(`it is ${wanted}`, async () => {
      const { state, lastError } = await readConnection(owner, connection)
      return typeof wanted === 'string' ? state === wanted : wanted.test(lastError ?? '')
    })
  const historyOf = async (name: string) => {
    const [device] = (await owner.get(`/devices?search=${name}`)).body.data
    return device ? await readHistory(owner, device._id) : []
  }
  const fixes = (reference: string, ids: number[]) =>
    ids.map(id => ({ id, payload: traccarFix(reference, begin + id * 1_000) }))

  it.runIf(usualKind() === 'postgres')(
    'hears no acknowledgement before the points are stored, all of them in order then, and none of another connection',
    async () => {
      const broker = await start()
      const connection = await subscribe(broker.url)
      await state(connection, 'connected')
      broker.publish(fixes('ordered', [7, 3, 9]))
      await until('they are acknowledged', () => acknowledgedBy(broker).length === 3)
      expect(acknowledgedBy(broker)).toEqual([7, 3, 9])
      expect(await historyOf('ordered')).toHaveLength(3)
      const db = await openTestDatabase(database)
      const release = await hold(db, 'LOCK TABLE points IN ACCESS EXCLUSIVE MODE')
      broker.publish(fixes('ordered', [11, 12]))
      // The state is written by another connection of the database, which goes on.
      await pause(1_500)
      expect(acknowledgedBy(broker)).toEqual([7, 3, 9])
      const before = broker.connections
      broker.hangUp()
      await until(
        'it is back',
        () => broker.connections > before && broker.received.some(({ cmd }) => cmd === 'subscribe'),
      )
      await release()
      await db.close()
      await until('what was in the log is stored', async () => (await historyOf('ordered')).length >= 3)
      // The broker has lost its session: the same identifiers are other messages.
      broker.publish([{ id: 11, payload: traccarFix('ordered', begin + 21_000) }])
      await until('the new one is acknowledged', () => acknowledgedBy(broker).length === 1)
      expect(acknowledgedBy(broker)).toEqual([11])
      // Redelivered, and stored once.
      broker.publish(fixes('ordered', [7, 3, 9, 11, 12]).map(one => ({ ...one, dup: true })))
      await until('all are acknowledged again', () => acknowledgedBy(broker).length === 6)
      expect(await historyOf('ordered')).toHaveLength(6)
    },
  )

  it('that redelivers everything again and again is acknowledged each time, and nothing is stored twice', async () => {
    const broker = await start()
    const connection = await subscribe(broker.url)
    await state(connection, 'connected')
    const ids = Array.from({ length: 200 }, (_, n) => n + 1)
    for (let times = 1; times <= 5; times++) {
      broker.publish(fixes('again', ids).map(one => ({ ...one, dup: times > 1 })))
      await until('all are acknowledged', () => acknowledgedBy(broker).length === times * ids.length)
    }
    expect(acknowledgedBy(broker)).toEqual(Array.from({ length: 5 }, () => ids).flat())
    expect(await historyOf('again')).toHaveLength(200)
    expect(broker.connections).toBe(1)
  })

  it('that speaks 3.1.1 alone is spoken to in 3.1.1, and its session is kept', async () => {
    const broker = await start({
      answer: ({ protocolVersion }) => Buffer.from(protocolVersion === 5 ? [0x20, 2, 0, 1] : [0x20, 2, 0, 0]),
    })
    const connection = await subscribe(broker.url, {}, { username: 'u', password: 'a secret' })
    await state(connection, 'connected')
    expect(broker.received[0]).toMatchObject({
      cmd: 'connect',
      protocolVersion: 4,
      clean: false,
      username: 'u',
    })
    broker.publish(fixes('older', [1]))
    await until('it is acknowledged', () => acknowledgedBy(broker).length === 1)
    expect(JSON.stringify((await owner.get('/connections')).body)).not.toContain('a secret')
    expect(JSON.stringify((await owner.get('/audit-log')).body)).not.toContain('a secret')
    expect(server.output.stderr).not.toContain('a secret')
    // Another address is not sent the old password.
    const moved = await owner.patch(`/connection/${connection._id}`, {
      broker: { url: 'mqtt://elsewhere.example' },
    })
    expect(moved.body.errors).toMatchObject([{ path: 'broker.password', code: 'required' }])
    const before = broker.connections
    await owner.patch(`/connection/${connection._id}`, { broker: { topics: ['other/#'] } })
    await until(
      'it has come anew',
      () => broker.connections > before && broker.received.some(({ cmd }) => cmd === 'subscribe'),
    )
    expect(broker.received[0]).toMatchObject({ password: Buffer.from('a secret') })
    expect(broker.received).toContainEqual(
      expect.objectContaining({ cmd: 'unsubscribe', unsubscriptions: ['#'] }),
    )
    await owner.patch(`/connection/${connection._id}`, { isActive: false })
    await until('it has left', () => broker.received.at(-1)?.cmd === 'disconnect')
  })

  it('that sends 100 MB takes no memory, and what comes after it is taken', async () => {
    const broker = await start()
    const connection = await subscribe(broker.url)
    await state(connection, 'connected')
    const length = 100 * 1024 * 1024
    const pings = () => broker.received.filter(({ cmd }) => cmd === 'pingreq').length
    const pingsBefore = pings()
    const before = heldBytes()
    const header = Buffer.from([
      0x32,
      ...[0, 7, 14, 21].map(shift => ((length >> shift) & 127) | (shift < 21 ? 128 : 0)),
    ])
    broker.write(Buffer.concat([header, Buffer.from([0, 3]), Buffer.from('big'), Buffer.from([0, 5])]))
    const piece = Buffer.alloc(1024 * 1024, 'x')
    let left = length - 7
    for (; left > piece.length; left -= piece.length) await broker.write(piece)
    // What was written has been read, but for the system's buffers, and the message is not over. Another thread frees
    // collected buffers some time later.
    await until('it takes no memory', () => heldBytes() - before < 40 * 1024 * 1024)
    // On a slow machine it is pinged meanwhile: its answers, of two bytes, stand in the message.
    broker.write(piece.subarray(0, left - 2 * (pings() - pingsBefore)))
    broker.publish(fixes('after', [6]))
    await until('both are acknowledged', () => acknowledgedBy(broker).length === 2)
    expect(acknowledgedBy(broker)).toEqual([5, 6])
    await state(connection, /104857600 bytes to big/)
  })

  it('that still has messages of QoS 2 gets both of their answers, once they are stored', async () => {
    const broker = await start()
    const connection = await subscribe(broker.url)
    await state(connection, 'connected')
    const options = { protocolVersion: 5 }
    const message = { cmd: 'publish', topic: 'any', qos: 2, messageId: 9, dup: false, retain: false } as const
    broker.write(generate({ ...message, payload: traccarFix('twofold', begin) }, options))
    const answered = (cmd: string) =>
      broker.received.some(packet => packet.cmd === cmd && packet.messageId === 9)
    await until('it is received', () => answered('pubrec'))
    expect(await historyOf('twofold')).toHaveLength(1)
    broker.write(generate({ cmd: 'pubrel', messageId: 9 }, options))
    await until('it is complete', () => answered('pubcomp'))
  })

  it('that sends topics with NUL, or of 60 KB, is acknowledged, and what comes after them is stored', async () => {
    const broker = await start()
    const connection = await subscribe(broker.url)
    await state(connection, 'connected')
    broker.publish(fixes('topics', [1]))
    await until('there is a device', async () => (await historyOf('topics')).length === 1)
    const text = (value: string) => {
      const bytes = Buffer.from(value)
      return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
    }
    const send = (topic: string, id: number) => {
      // mqtt-packet would not write it. The last byte before the payload: no properties.
      const body = Buffer.concat([
        text(topic),
        Buffer.from([0, id, 0]),
        Buffer.from(traccarFix('topics', begin + id, 100)),
      ])
      const length = [body.length & 127, (body.length >> 7) & 127, body.length >> 14]
      broker.write(
        Buffer.concat([
          Buffer.from([0x32, (length[0] ?? 0) | 128, (length[1] ?? 0) | 128, length[2] ?? 0]),
          body,
        ]),
      )
    }
    send('some\0thing', 2)
    send('x'.repeat(60_000), 3)
    broker.publish(fixes('topics', [4]))
    await until('all are acknowledged', () => acknowledgedBy(broker).length === 4)
    expect(acknowledgedBy(broker)).toEqual([1, 2, 3, 4])
    expect(await historyOf('topics')).toHaveLength(2)
    const [device] = (await owner.get('/devices?search=topics')).body.data
    const rejections = (await owner.get(`/device/${device._id}/rejections`)).body.data
    expect(rejections.map(({ topic }: { topic: string }) => topic).sort()).toEqual([
      'something',
      'x'.repeat(512),
    ])
    await until(
      'they are counted',
      async () => (await readConnection(owner, connection)).counts.rejected === 2,
    )
  })

  it('that is not as it should be has its state and its sentence', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'expired-'))
    const file = (name: string) => join(folder, name)
    const openssl = (...given: string[]) => execFileSync('openssl', given, { stdio: 'pipe' })
    openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file('key.pem'))
    openssl('req', '-new', '-key', file('key.pem'), '-subj', '/CN=localhost', '-out', file('csr.pem'))
    writeFileSync(file('ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1')
    openssl(
      ...['x509', '-req', '-in', file('csr.pem'), '-signkey', file('key.pem'), '-days', '-1'],
      ...['-extfile', file('ext'), '-out', file('cert.pem')],
    )
    const cert = readFileSync(file('cert.pem'), 'utf8')
    const tls = createTlsServer({ cert, key: readFileSync(file('key.pem')) }).listen(0, '127.0.0.1')
    tls.on('tlsClientError', () => {})
    await once(tls, 'listening')
    const { port } = tls.address() as { port: number }
    const refusing = await start({ answer: () => Buffer.from([0x20, 3, 0, 134, 0]) })
    const silent = await start({ subscribes: false })
    const closing = await start({ answer: () => null })
    const garbage = await start({ answer: () => Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n') })
    const cases: [string, object, RegExp][] = [
      [refusing.url, {}, /refuses the user name or the password/],
      [silent.url, {}, /does not answer the subscription/],
      [closing.url, {}, /closed the connection/],
      [garbage.url, {}, /breaks a rule of MQTT/],
      [`mqtts://127.0.0.1:${port}`, { caCertificate: cert }, /certificate of the broker has expired/],
      [`mqtts://localhost:${port}`, {}, /signed by nobody that is known|has expired/],
      [refusing.url.replace('mqtt:', 'mqtts:'), {}, /TLS|closed/],
      ['mqtt://127.0.0.1:1', {}, /Nothing answers/],
      ['mqtt://nobody.invalid', {}, /name of the broker/],
      ['ws://127.0.0.1:1/mqtt', {}, /Nothing answers/],
    ]
    await Promise.all(
      cases.map(async ([url, settings, sentence]) => {
        const connection = await subscribe(url, {}, settings)
        await state(connection, sentence)
        expect((await readConnection(owner, connection)).state).toBe('failed')
        await owner.delete(`/connection/${connection._id}`)
      }),
    )
    tls.close()
    rmSync(folder, { recursive: true })
  })

  it('is asked for at its present address: a name that becomes private is not connected to', async () => {
    const asked: string[] = []
    const addresses = ['93.184.215.14', '127.0.0.1']
    const broker = {
      url: 'mqtt://changing.example',
      username: null,
      clientId: null,
      topics: [],
      caCertificate: null,
      clientCertificate: null,
    }
    const settings = { broker, secrets: { password: null, clientKey: null }, clientId: 'any', topics: [] }
    const open = () =>
      openStream(settings, {
        allowPrivate: false,
        resolve: async name => {
          asked.push(name)
          return [{ address: addresses.shift() ?? '', family: 4 }]
        },
      })
    const first = open()
    first.on('error', () => {})
    await until('its name is looked up', () => asked.length === 1)
    first.destroy()
    const [error] = await once(open(), 'error')
    expect(error).toBeInstanceOf(AddressNotPublic)
    expect(() =>
      openStream({ ...settings, broker: { ...broker, url: 'mqtt://[::1]' } }, { allowPrivate: false }),
    ).toThrow(AddressNotPublic)
  })

  describe('that is Mosquitto', () => {
    let mosquitto: Service<Mosquitto>
    beforeAll(async () => {
      mosquitto = await startMosquitto({ config: 'max_queued_messages 100000' })
    })
    afterAll(async () => {
      if (mosquitto.available) await mosquitto.stop()
    })

    it('delivers 1,000 messages, and those of the time when we were away', async context => {
      if (!mosquitto.available) return context.skip(mosquitto.reason)
      const { port } = mosquitto
      const url = `mqtt://127.0.0.1:${port}`
      const connection = await subscribe(url, { profileId: 'traccar' })
      await state(connection, 'connected')
      const publisher = await mqtt.connectAsync(url)
      const send = (from: number, to: number) =>
        Promise.all(
          Array.from({ length: to - from }, (_, n) =>
            publisher.publishAsync('t', traccarFix(`mosquitto-${n % 10}`, begin + (from + n) * 100), {
              qos: 1,
            }),
          ),
        )
      const stored = async () => {
        const { body } = await owner.get('/devices?search=mosquitto-')
        const all = await Promise.all(body.data.map(({ _id }: { _id: string }) => readHistory(owner, _id)))
        return all.flat().length
      }
      await send(0, 1_000)
      await until('all are stored', async () => (await stored()) === 1_000)
      await owner.patch(`/connection/${connection._id}`, { isActive: false })
      await state(connection, 'stopped')
      await send(1_000, 1_300)
      await owner.patch(`/connection/${connection._id}`, { isActive: true })
      await until('what was queued is stored', async () => (await stored()) === 1_300)
      await publisher.endAsync()
    })
  })
})
