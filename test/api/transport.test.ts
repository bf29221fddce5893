import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, readHistory, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addHub, addPerson, newEmail, roleId } from '../support/people.ts'
import { leastUsualMs, processorMs } from '../support/processor-time.ts'

/** Contract section 2, for every route: how requests arrive, and the shape of failures. */
describe('The HTTP transport', () => {
  const { server } = useServer()
  let owner: Client

  beforeAll(async () => {
    owner = await signIn(server)
  })

  const FAILURE = {
    status: false,
    message: expect.stringMatching(/^[A-Z"].*\.$/s),
    code: expect.any(String),
    requestId: expect.any(String),
  }
  const BULK = '/api/v3/location-history/bulk'

  /** Sends bytes over a separate socket; resolves to everything that comes back. */
  async function sendRaw(...parts: (string | Buffer)[]): Promise<string> {
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
    socket.setEncoding('utf8')
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    socket.on('error', () => {})
    for (const part of parts) socket.write(part)
    await once(socket, 'close')
    return text
  }
  const parse = (text: string) => {
    const [head = '', ...rest] = text.split('\r\n\r\n')
    return { status: Number(head.split(' ')[1]), head, body: rest.join('\r\n\r\n') }
  }
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      ...init,
      headers: { authorization: `Bearer ${owner.token}`, ...(init.headers as Record<string, string>) },
    })
  const JSON_TYPE = { 'content-type': 'application/json' }

  describe('a body', () => {
    it('that is answered before it is decompressed, or is no gzip, ends nothing', async () => {
      const gzip = { 'content-encoding': 'gzip' }
      const plain = await send(BULK, { headers: { ...gzip, 'content-type': 'text/plain' }, body: 'hello' })
      expect([plain.status, await plain.json()]).toEqual([415, FAILURE])
      const broken = await send(BULK, { headers: { ...gzip, ...JSON_TYPE }, body: 'hello' })
      expect([broken.status, await broken.json()]).toMatchObject([
        400,
        { ...FAILURE, errors: [{ path: '' }] },
      ])
      const large = await send(BULK, { headers: { ...gzip, ...JSON_TYPE }, body: 'x'.repeat(5_000_000) })
      expect([large.status, await large.json()]).toEqual([413, FAILURE])
      const bomb = gzipSync(Buffer.alloc(50_000_000, ' '))
      const unpacked = await send(BULK, { headers: { ...gzip, ...JSON_TYPE }, body: bomb })
      expect([unpacked.status, await unpacked.json()]).toEqual([413, FAILURE])
      const cut = gzipSync('{"points":[]}').subarray(0, 20)
      expect((await send(BULK, { headers: { ...gzip, ...JSON_TYPE }, body: cut })).status).toBe(400)
      expect((await fetch(`${server.url}/health`)).status).toBe(200)
    })

    it('in gzip is accepted where points are, and nowhere else', async () => {
      const device = await createDevice(owner)
      const points = [{ lat: 1, lng: 2, timestamp: Date.now() - 1000 }]
      const packed = gzipSync(JSON.stringify({ points }))
      const headers = { ...JSON_TYPE, 'content-encoding': 'gzip', authorization: `Bearer ${device.key}` }
      expect((await send(BULK, { headers, body: packed })).status).toBe(200)
      expect(await readHistory(owner, device.id)).toHaveLength(1)
      const hub = gzipSync(JSON.stringify({ name: 'Hub', lat: 1, lng: 2 }))
      const answer = await send('/api/v3/hub', {
        headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
        body: hub,
      })
      expect([answer.status, await answer.json()]).toEqual([415, FAILURE])
      const other = await send(BULK, { headers: { ...JSON_TYPE, 'content-encoding': 'br' }, body: packed })
      expect(other.status).toBe(415)
    })

    it('is UTF-8: invalid bytes are 400, another charset is 415', async () => {
      const bytes = Buffer.concat([
        Buffer.from('{"name":"'),
        Buffer.from([0xff]),
        Buffer.from('","lat":1,"lng":2}'),
      ])
      const invalid = await send('/api/v3/hub', { headers: JSON_TYPE, body: bytes })
      expect([invalid.status, await invalid.json()]).toMatchObject([400, { errors: [{ path: '' }] }])
      const body = JSON.stringify({ name: 'Hub', lat: 1, lng: 2 })
      for (const [charset, status] of [
        ['iso-8859-1', 415],
        ['utf-16', 415],
        ['UTF-8', 201],
        ['"utf-8"', 201],
      ] as const) {
        const headers = { 'content-type': `application/json; charset=${charset}` }
        expect([charset, (await send('/api/v3/hub', { headers, body })).status]).toEqual([charset, status])
      }
    })

    it('of brackets or zeros without end is invalid at once, with an Idempotency-Key too', async () => {
      const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
      const bodies: [string, string][] = [
        [BULK, `{"points":[${deep(1_500_000)}]}`],
        [BULK, `{"points":[${deep(60)},${Array(500_000).fill('[0]').join()}]}`],
        [BULK, `{"points":[${deep(9_000)}]}`],
        [
          '/api/v3/auth/login',
          `{"email":${'['.repeat(60)}${Array(520_000).fill(0).join()}${']'.repeat(60)}}`,
        ],
        ['/api/v3/organization', `{"settings":{"a":${Array(120_000).fill(0).join()}}}`],
        ['/api/v3/organization', `{"settings":{"a":${deep(100)}}}`],
      ]
      for (const [path, body] of bodies) {
        const measure = () =>
          processorMs(async () => {
            const headers = { ...JSON_TYPE, 'idempotency-key': crypto.randomUUID() }
            const method = path.endsWith('organization') ? 'PATCH' : 'POST'
            const answer = await send(path, { method, headers, body })
            expect([400, 413]).toContain(answer.status)
            expect(await answer.json()).toMatchObject(FAILURE)
          })
        expect(await leastUsualMs(1_000, measure), body.slice(0, 60)).toBeLessThan(1_000)
      }
    })

    it('that is too large is 413, and whoever sends it gets to read that', async () => {
      const body = Buffer.alloc(20_000_000, ' ')
      for (let round = 0; round < 3; round++) {
        const answer = await send('/api/v3/hub', { headers: JSON_TYPE, body })
        expect([answer.status, await answer.json()]).toEqual([413, FAILURE])
      }
      // Like Python's urllib: all of it is sent before anything is read, with a request to close the connection.
      const head = `POST /api/v3/hub HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
      const { status } = parse(await sendRaw(head, body))
      expect(status).toBe(413)
      const stranger = head.replace(/Authorization.*\r\n/, '')
      expect(parse(await sendRaw(stranger, body)).status).toBe(401)
    })

    it('may be announced and absent in a DELETE', async () => {
      const hub = await addHub(owner)
      const answer = await send(`/api/v3/hub/${hub}`, { method: 'DELETE', headers: JSON_TYPE })
      expect([200, 404, 405]).toContain(answer.status)
      const device = await createDevice(owner)
      const gone = await send(`/api/v3/device/${device.id}`, { method: 'DELETE', headers: JSON_TYPE })
      expect(gone.status).toBe(200)
    })
  })

  describe('a body that arrives slowly', () => {
    /** A request that announces its body, and sends it when the test says so. */
    function openSlow(client: Client, path: string, body: object) {
      const text = JSON.stringify(body)
      const head = `POST /api/v3${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n`
      const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
      let answer = ''
      socket.on('data', chunk => {
        answer += chunk
      })
      socket.on('error', () => {})
      socket.write(head + text.slice(0, 1))
      const closed = once(socket, 'close')
      return {
        async finish() {
          socket.write(text.slice(1))
          await closed
          return parse(answer)
        },
        async wait() {
          await closed
          return parse(answer)
        },
      }
    }

    it('is decided on when it is there: a caller who was suspended, demoted or signed out meanwhile does nothing', async () => {
      const suspended = await addPerson(server, owner, { role: 'Admin' })
      const demoted = await addPerson(server, owner, { role: 'Admin' })
      const gone = await addPerson(server, owner, { role: 'Admin' })
      const planner = await roleId(owner, 'Planner')
      const invitation = () => ({ email: newEmail(), name: 'New', roleId: planner, hubId: [] })
      const slow = [suspended, demoted, gone].map(({ client }) =>
        openSlow(client, '/users/invite', invitation()),
      )
      await sleep(200)
      await owner.patch(`/user/${suspended.userId}`, { status: 'suspended' })
      await owner.patch(`/user/${demoted.userId}`, { roleId: planner })
      await gone.client.post('/auth/logout')
      const answers = await Promise.all(slow.map(request => request.finish()))
      expect(answers.map(({ status }) => status)).toEqual([401, 403, 401])
    })

    it('takes the room that it needs: many small ones are taken at once, packed or without a length', async () => {
      const { key } = await createDevice(owner)
      const body = (at: number) => JSON.stringify({ points: [{ lat: 1, lng: 2, timestamp: at }] })
      const headers = { ...JSON_TYPE, authorization: `Bearer ${key}` }
      const packed = { ...headers, 'content-encoding': 'gzip' }
      const from = Date.now() - 3_600_000
      const stored = await Promise.all(
        Array.from({ length: 60 }, (_, at) => [
          send(BULK, { headers: packed, body: gzipSync(body(from + at)) }),
          send(BULK, { headers, body: new Blob([body(from + 60 + at)]).stream(), duplex: 'half' }),
        ]).flat(),
      )
      expect(new Set(stored.map(({ status }) => status))).toEqual(new Set([200]))
      for (const { data } of (await Promise.all(stored.map(answer => answer.json()))) as { data: unknown }[])
        expect(data).toMatchObject({ accepted: 1 })
    })

    it('in gzip of several parts is all of them, and is bounded by their sum', async () => {
      const { key } = await createDevice(owner)
      const headers = { ...JSON_TYPE, authorization: `Bearer ${key}`, 'content-encoding': 'gzip' }
      const points = JSON.stringify({ points: [{ lat: 1, lng: 2, timestamp: Date.now() - 1000 }] })
      const parts = [gzipSync(points.slice(0, -2)), gzipSync(points.slice(-2))]
      expect((await send(BULK, { headers, body: Buffer.concat(parts) })).status).toBe(200)
      const large = Array.from({ length: 5 }, () => gzipSync(Buffer.alloc(1_048_576, ' ')))
      expect((await send(BULK, { headers, body: Buffer.concat(large) })).status).toBe(413)
    })

    it("and is cut off is nobody else's fault: nothing is logged of a database", async () => {
      const text =
        'POST /api/v3/hub HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900'
      const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
      socket.write(`${text}\r\nAuthorization: Bearer ${owner.token}\r\n\r\n{`)
      await sleep(300)
      socket.resetAndDestroy()
      await sleep(300)
      expect(server.output.stderr).not.toContain('The database is away')
    })

    it('of a device whose key was rotated meanwhile stores nothing', async () => {
      const device = await createDevice(owner)
      const point = { lat: 1, lng: 2, timestamp: Date.now() - 1000 }
      const client = { token: device.key } as Client
      const slow = openSlow(client, '/location-history/bulk', { points: [point] })
      await sleep(200)
      await owner.post(`/device/${device.id}/rotate-key`)
      expect((await slow.finish()).status).toBe(401)
      expect(await readHistory(owner, device.id)).toEqual([])
    })

    async function trickleOut() {
      const begun = performance.now()
      const slow = openSlow(owner, '/hub', { name: 'Hub', lat: 1, lng: 2 })
      const trickle = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
      trickle.on('error', () => {}).resume()
      trickle.write('GET /health HTTP/1.1\r\nHost: x\r\n')
      const timer = setInterval(() => trickle.write('a: b\r\n'), 1_000)
      const [{ status, body }] = await Promise.all([slow.wait(), once(trickle, 'close')])
      clearInterval(timer)
      return { status, body, tookMs: performance.now() - begun }
    }

    /** Begun before the other tests, which run meanwhile. */
    let trickling: ReturnType<typeof trickleOut> | undefined
    beforeAll(() => {
      trickling = trickleOut()
      trickling.catch(() => {})
    })

    it('has 30 s, then it is 408, and the connection is closed', async () => {
      const begun = trickling ?? trickleOut()
      trickling = undefined
      const { status, body, tookMs } = await begun
      expect([status, JSON.parse(body)]).toEqual([408, FAILURE])
      expect(tookMs).toBeGreaterThan(29_000)
    })
  })
})
