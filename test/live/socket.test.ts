import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { createFleet } from '../ingest/fleet.ts'
import { residentMiB } from '../services/processes.ts'
import { type Client, createDevice, signIn } from '../support/client.ts'
import { readFigures } from '../support/figures.ts'
import { useServerProcess } from '../support/own-server.ts'
import { addPerson } from '../support/people.ts'
import { pause, until } from '../support/wait.ts'

const MAX_SOCKETS = 50
const MAX_MESSAGE_BYTES = 256 * 1024

describe('A live socket', () => {
  const { server, database } = useServerProcess()
  let owner: Client

  beforeAll(async () => {
    owner = await signIn(server)
  })

  interface Raw {
    socket: WebSocket
    heard: { type: string; message?: string; positions?: unknown[] }[]
    code: Promise<number>
  }
  async function open(client = owner): Promise<Raw> {
    const url = `${server.url.replace('http', 'ws')}/api/v3/live`
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${client.token}` } })
    const raw: Raw = {
      socket,
      heard: [],
      code: new Promise(done => socket.on('close', code => done(code))),
    }
    socket.on('message', data => raw.heard.push(JSON.parse(String(data))))
    socket.on('error', () => {})
    await new Promise<void>((done, fail) => {
      socket.once('open', done)
      socket.once('unexpected-response', (_request, response) => {
        socket.terminate()
        fail(new Error(`HTTP ${response.statusCode}`))
      })
    })
    return raw
  }
  const errorsOf = ({ heard }: Raw) =>
    heard.flatMap(({ type, message }) => (type === 'error' ? [message] : []))
  async function expectAlive(raw: Raw): Promise<void> {
    const before = raw.heard.length
    raw.socket.send('{"type":"subscribe","filter":{"subjectIds":[]}}')
    await until('a snapshot', () => raw.heard.slice(before).some(({ type }) => type === 'snapshot'))
  }

  it.each<[string, string | Buffer]>([
    ['no JSON', '{'],
    ['an empty message', ''],
    ['a number', '7'],
    ['null', 'null'],
    ['an array', '[]'],
    ['no type', '{}'],
    ['an unknown type', '{"type":"dance"}'],
    ['a type that is none', '{"type":{}}'],
    ['an unknown key', '{"type":"subscribe","filters":{}}'],
    ['an unknown key of an unsubscribe', '{"type":"unsubscribe","filter":{}}'],
    ['an unknown key of the filter', '{"type":"subscribe","filter":{"userIds":[]}}'],
    ['a box of one number', '{"type":"subscribe","filter":{"bbox":[1]}}'],
    ['a box of texts', '{"type":"subscribe","filter":{"bbox":["1","2","3","4"]}}'],
    ['a box beyond the pole', '{"type":"subscribe","filter":{"bbox":[1,1,2,91]}}'],
    ['a box beyond the antimeridian', '{"type":"subscribe","filter":{"bbox":[1,1,181,2]}}'],
    ['a box that is upside down', '{"type":"subscribe","filter":{"bbox":[1,2,3,1]}}'],
    ['a box that is infinite', '{"type":"subscribe","filter":{"bbox":[1e999,1,2,2]}}'],
    ['identifiers that are numbers', '{"type":"subscribe","filter":{"subjectIds":[1]}}'],
    [
      'too many identifiers',
      JSON.stringify({ type: 'subscribe', filter: { subjectIds: Array(10_001).fill('x') } }),
    ],
    [
      '10,000 wrong identifiers',
      JSON.stringify({ type: 'subscribe', filter: { subjectIds: Array(10_000).fill(0) } }),
    ],
    [
      'an identifier of 200 KiB',
      JSON.stringify({ type: 'subscribe', filter: { subjectIds: ['x'.repeat(200_000)] } }),
    ],
    ['a cursor that is a number', '{"type":"subscribe","since":5}'],
    ['100,000 brackets', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['a deep filter', `{"type":"subscribe","filter":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`],
    ['130,000 zeros', `[${Array(130_000).fill(0)}]`],
    ['a key of 200 KiB', JSON.stringify({ type: 'subscribe', ['x'.repeat(200_000)]: 1 })],
    ['bytes', Buffer.from([0xff, 0xfe, 0])],
    ['__proto__', '{"type":"subscribe","__proto__":{"filter":{}}}'],
  ])('answers %s with one sentence, and stays', async (_name, nonsense) => {
    const raw = await open()
    raw.socket.send(nonsense)
    await until('an error', () => raw.heard.length > 0)
    const [sentence = ''] = errorsOf(raw)
    expect(sentence).toMatch(/^["A-Z][^\n]{5,300}\.$/)
    expect(sentence).not.toMatch(/expected|invalid|discriminator|✖/i)
    await expectAlive(raw)
    raw.socket.terminate()
  })

  it('takes a message in pieces, and one with the largest filter', async () => {
    const raw = await open()
    const text = JSON.stringify({
      type: 'subscribe',
      filter: { subjectIds: Array.from({ length: 5_000 }, () => crypto.randomUUID()) },
    })
    for (let at = 0; at < text.length; at += 10_000)
      raw.socket.send(text.slice(at, at + 10_000), { fin: at + 10_000 >= text.length })
    await until('a snapshot', () => raw.heard.some(({ type }) => type === 'snapshot'))
    expect(errorsOf(raw)).toEqual([])
    raw.socket.terminate()
  })

  it('is closed for a message that is too large, or in thousands of pieces, with the code that says so', async () => {
    const large = await open()
    large.socket.send('x'.repeat(MAX_MESSAGE_BYTES + 1))
    expect(await large.code).toBe(1009)
    const pieces = await open()
    for (let piece = 0; piece < 2_000; piece++) pieces.socket.send('x', { fin: false })
    expect(await pieces.code).toBe(1008)
    expect(server.output.stderr).not.toContain('"level":50')
  })

  it('is closed with 1008 for more messages than anybody means, and is sent few answers', async () => {
    for (const message of ['nonsense', '{"type":"unsubscribe"}', '{"type":"subscribe"}']) {
      const raw = await open()
      const begun = performance.now()
      for (let count = 0; count < 5_000; count++) raw.socket.send(message)
      expect(await raw.code).toBe(1008)
      // A thousand at once, and a hundred more each second.
      expect(raw.heard.length).toBeLessThan(1_500 + (performance.now() - begun) / 10)
    }
  })

  it('is closed for more pings or bytes as well', async () => {
    const pings = await open()
    for (let count = 0; count < 5_000; count++) pings.socket.ping(Buffer.alloc(100))
    await pings.code
    const bytes = await open()
    const most = JSON.stringify({ type: 'subscribe', filter: { subjectIds: [] } }).padEnd(MAX_MESSAGE_BYTES)
    for (let count = 0; count < 40; count++) bytes.socket.send(most)
    expect(await bytes.code).toBe(1008)
  })

  it('that never reads costs no memory, whatever it sends and however often it connects', async () => {
    const { client } = await addPerson(server, owner)
    const before = residentMiB(server.pid)
    let peak = 0
    const sockets = await Promise.all(Array.from({ length: MAX_SOCKETS }, () => open(client)))
    for (const { socket } of sockets) {
      socket.pause()
      for (let count = 0; count < 5_000; count++) socket.send('nonsense '.repeat(20))
    }
    for (let look = 0; look < 20; look++) {
      await pause(100)
      peak = Math.max(peak, residentMiB(server.pid))
    }
    expect(peak - before).toBeLessThan(150)
    for (const { socket } of sockets) socket.terminate()
  })

  it('is one of 50 of its user; the next is answered 429, and each makes room when it goes', async () => {
    const [mine, other] = [await addPerson(server, owner), await addPerson(server, owner)]
    const opened = await Promise.allSettled(Array.from({ length: MAX_SOCKETS + 20 }, () => open(mine.client)))
    const sockets = opened.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
    expect(sockets).toHaveLength(MAX_SOCKETS)
    expect(opened.flatMap(one => (one.status === 'rejected' ? one.reason.message : []))).toEqual(
      Array(20).fill('HTTP 429'),
    )
    ;(await open(other.client)).socket.terminate()
    sockets[0]?.socket.terminate()
    await until('room', () =>
      open(mine.client).then(
        raw => sockets.push(raw) > 0,
        () => false,
      ),
    )
    for (const { socket } of sockets) socket.terminate()
  })

  it('that is not opened tells why in the envelope', async () => {
    const { client } = await addPerson(server, owner)
    const sockets = await Promise.all(Array.from({ length: MAX_SOCKETS }, () => open(client)))
    const answer = await upgrade(`Authorization: Bearer ${client.token}\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
    expect(answer).toMatch(/retry-after: \d+/i)
    expect(answer).toContain('"status":false')
    for (const { socket } of sockets) socket.terminate()
    expect(await upgrade('')).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('that asks again and again for another view is shown the last, and holds up nobody', async () => {
    const device = await createDevice(owner)
    const raw = await open()
    const ids = Array.from({ length: 5_000 }, () => crypto.randomUUID())
    for (let count = 0; count < 6; count++)
      raw.socket.send(
        JSON.stringify({ type: 'subscribe', filter: { subjectIds: [...ids.slice(count), device.id] } }),
      )
    raw.socket.send(JSON.stringify({ type: 'subscribe', filter: { subjectIds: [device.id] } }))
    await owner.post('/location-history/bulk', {
      points: [{ lat: 1, lng: 1, timestamp: Date.now() - 1000, deviceId: device.id }],
    })
    await until('shown', () =>
      raw.heard.some(({ positions }) => JSON.stringify(positions ?? []).includes(device.id)),
    )
    expect(errorsOf(raw)).toEqual([])
    raw.socket.terminate()
  })

  it('that leaves more than 1 MiB unread is closed with 1008', async context => {
    if (!database.url) return context.skip('A fleet is made on PostgreSQL')
    const devices = await createFleet(database.url, 10_000)
    for (let at = 0; at < devices.length; at += 5_000) {
      const points = devices
        .slice(at, at + 5_000)
        .map(({ id }) => ({ lat: 1, lng: 1, timestamp: Date.now() - 3_600_000, deviceId: id }))
      expect((await owner.post('/location-history/bulk', { points })).body.data.accepted).toBe(5_000)
    }
    const screens = async () => (await readFigures(server)).get('fieldline_live_screens')
    let others = Number.NaN
    await until('the screens of earlier tests have left', async () => {
      const before = others
      others = (await screens()) ?? Number.NaN
      await pause(500)
      return others === before
    })
    const slow = await open()
    slow.socket.pause()
    slow.socket.send('{"type":"subscribe"}')
    await until('it watches', async () => (await screens()) === others + 1)
    // One snapshot of 2 MB after the other: the buffers of both kernels hold some megabytes.
    while ((await screens()) === others + 1) {
      slow.socket.send('{"type":"subscribe"}')
      await pause(250)
    }
    slow.socket.resume()
    expect(await slow.code).toBe(1008)
    // A client that reads stays connected, however much it is sent at once.
    const quick = await open()
    quick.socket.send('{"type":"subscribe"}')
    await until('a snapshot', () => (quick.heard[0]?.positions?.length ?? 0) >= devices.length)
    quick.socket.terminate()
  })

  async function upgrade(headers: string): Promise<string> {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `GET /api/v3/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    )
    let answer = ''
    for await (const chunk of socket) answer += chunk
    return answer
  }

  it('whose upgrade is reset while it is looked at ends nothing', async () => {
    const { hostname, port } = new URL(server.url)
    for (let count = 0; count < 60; count++) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      await new Promise(done => socket.once('connect', done))
      socket.write(
        `GET /api/v3/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer ${owner.token}\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x81\x85',
        () => socket.resetAndDestroy(),
      )
      await new Promise(done => socket.once('close', done))
    }
    await expectAlive(await open())
  })
})
