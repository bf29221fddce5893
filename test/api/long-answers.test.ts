import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Caller } from '../../db/queries/sessions.ts'
import { learnRoots } from '../../fair/roots.ts'
import { addErrorHandling } from '../../src/http/plugins/errors.ts'
import { createStreams, type StreamLimits } from '../../src/http/streams.ts'
import type { App } from '../../src/services.ts'
import {
  type Client,
  createDevice,
  readHistory,
  sendPoints,
  signIn,
  type TestDevice,
} from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { readFigures } from '../support/figures.ts'
import { type Server, startServer } from '../support/server.ts'

/** A client that sends a request and stops reading once the answer has begun. */
async function stallHere(url: string, path: string): Promise<Socket> {
  const socket = stall(url, path)
  await once(socket, 'readable')
  return socket
}

/** A client that sends a request and reads nothing of the answer. */
function stall(url: string, path: string, token = ''): Socket {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  return socket
}

describe('A long answer', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client
  let device: TestDevice
  const POINTS = 6_000

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await startServer(database)
    owner = await signIn(server)
    device = await createDevice(owner)
    const text = 'x'.repeat(2_000)
    // One moment for all: points of two requests at the same millisecond would be duplicates.
    const now = Date.now()
    for (let from = 0; from < POINTS; from += 1_000) {
      const points = Array.from({ length: 1_000 }, (_, index) => ({
        lat: 1,
        lng: 2,
        timestamp: now - (from + index + 1) * 1_000,
        deviceId: device.id,
        attributes: { text },
      }))
      await sendPoints(owner, points)
    }
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  const memory = async () => {
    return ((await readFigures(server)).get('process_resident_memory_bytes') ?? Number.NaN) / 1024 / 1024
  }

  it('is whole, in order and with a cursor that goes on, however large its points are', async () => {
    const all = await readHistory(owner, device.id)
    expect(all).toHaveLength(POINTS)
    const times = all.map(({ timestamp }) => timestamp)
    expect(times).toEqual([...new Set(times)].sort())
    const path = `/location-histories?deviceId=${device.id}&limit=2000&order=desc`
    const first = (await owner.get(path)).body
    const second = (await owner.get(`${path}&cursor=${first.pagination.nextCursor}`)).body
    const seen = [...first.data, ...second.data].map(({ timestamp }) => timestamp)
    expect(seen).toEqual(times.toReversed().slice(0, 4_000))
    // Node warns of an answer with too many listeners.
    expect(server.output.stderr).not.toContain('Warning')
  })

  it('that sixty readers leave unread takes no memory to speak of, and hurts nobody else', async () => {
    const before = await memory()
    const path = `/api/v3/location-histories?deviceId=${device.id}&limit=100000`
    const sockets = Array.from({ length: 60 }, () => stall(server.url, path, owner.token))
    await sleep(4_000)
    expect((await memory()) - before).toBeLessThan(300)
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    const refused = await owner.get(`/location-histories?deviceId=${device.id}`)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    for (const socket of sockets) socket.destroy()
    expect((await owner.get(`/location-histories?deviceId=${device.id}&limit=1`)).status).toBe(200)
  })
})

describe('Long answers together', () => {
  const LIMITS = { perAccount: 2, perOrganization: 3, total: 5, waitMs: 300, takenWithinMs: 300 }
  let app: App
  let url: string

  /** Answers 64 MiB to the reader that the query names. */
  async function open(limits: StreamLimits): Promise<void> {
    app = Fastify({ forceCloseConnections: true }) as unknown as App
    addErrorHandling(app)
    const streams = createStreams(limits)
    app.get('/', (request, reply) => {
      // An account has a user in each of its organizations.
      const { of: userId } = request.query as { of: string }
      const [accountId, organizationId] = userId.split(':')
      request.caller = { userId, accountId, organizationId } as Caller
      return streams.send(request, reply, 'text/plain', async () => pieces())
    })
    url = await app.listen({ host: '127.0.0.1', port: 0 })
  }
  async function* pieces() {
    for (let n = 0; n < 128; n++) yield 'x'.repeat(512 * 1024)
  }
  const status = async (of: string) => {
    const answer = await fetch(`${url}/?of=${of}`)
    await answer.body?.cancel()
    return answer.status
  }

  it('have bounds for an account in all of its organizations, an organization and all, and a place that is left is given to who waits', async () => {
    const limits = { ...LIMITS, takenWithinMs: 60_000 }
    await open(limits)
    const readers = [await stallHere(url, '/?of=anna:a'), await stallHere(url, '/?of=anna:a')]
    expect(await status('anna:a')).toBe(429)
    expect(await status('anna:b')).toBe(429)
    readers.push(await stallHere(url, '/?of=bob:a'))
    expect(await status('cyd:a')).toBe(429)
    readers.push(await stallHere(url, '/?of=dora:b'), await stallHere(url, '/?of=emil:c'))
    expect(await status('fay:d')).toBe(503)
    limits.waitMs = 60_000
    const waiting = status('fay:d')
    await sleep(50)
    readers[0]?.destroy()
    expect(await waiting).toBe(200)
    for (const reader of readers) reader.destroy()
    await app.close()
  })

  it('leave half of the places to others, however many accounts and organizations somebody has', async () => {
    learnRoots([1, 2, 3, 4, 5].map(n => ({ organizationId: `x${n}`, root: 'x' })))
    await open({ ...LIMITS, total: 8, takenWithinMs: 60_000 })
    const readers: Socket[] = []
    for (const n of [1, 2, 3, 4]) readers.push(await stallHere(url, `/?of=sock${n}:x${n}`))
    expect(await status('sock5:x5')).toBe(429)
    for (const n of [1, 2]) readers.push(await stallHere(url, `/?of=anna:a${n}`))
    expect(await status('bob:b')).toBe(200)
    for (const reader of readers) reader.destroy()
    await app.close()
  })

  it('end where a reader takes too long, which makes room for the next', async () => {
    await open({ ...LIMITS, perAccount: 1, waitMs: 60_000 })
    const reader = await stallHere(url, '/?of=anna:a')
    expect(await status('anna:a')).toBe(200)
    let length = 0
    for await (const chunk of reader) length += chunk.length
    expect(length).toBeLessThan(64 * 1024 * 1024)
    await app.close()
  })
})
