import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pace } from '../../src/http/plugins/pipelining.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type Server, startServer } from '../support/server.ts'

/** Many requests on one connection, sent without waiting for their answers. */
describe('Pipelined requests', () => {
  let database: TestDatabase
  let server: Server

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await startServer(database)
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  function open() {
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
    let text = ''
    socket.setEncoding('latin1').on('data', chunk => {
      text += chunk
    })
    socket.on('error', () => {})
    return { socket, closed: once(socket, 'close'), read: () => text }
  }
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  const statusesOf = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(match => match[1])

  it('are answered in their order, bodies among them', async () => {
    const { socket, closed, read } = open()
    const body = JSON.stringify({ email: 'x'.repeat(12_000), password: 1 })
    const login = `POST /api/v3/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const round = get('/health') + login + get('/api/v3/nothing')
    socket.write(round.repeat(30) + get('/health').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    await closed
    const expected = [...Array.from({ length: 30 }, () => ['200', '400', '404']).flat(), '200']
    expect(statusesOf(read())).toEqual(expected)
  })

  it('beyond a hundred are 429, and the connection is closed', async () => {
    for (const path of ['/health', '/metrics', '/api/v3/openapi.json', '/api/v3/user']) {
      const { socket, closed, read } = open()
      socket.write(get(path).repeat(1_500))
      await closed
      expect(statusesOf(read()).length).toBeLessThan(110)
    }
    const { socket, closed, read } = open()
    socket.write(get('/metrics').repeat(1_000))
    await closed
    expect(read()).toMatch(/^HTTP\/1\.1 429 .*\r\nRetry-After: 1\r\n.*"status":false/s)
  })

  it('of figures share what was written once', async () => {
    const texts = await Promise.all(
      Array.from({ length: 60 }, async () => (await fetch(`${server.url}/metrics`)).text()),
    )
    expect(new Set(texts).size).toBeLessThan(20)
  })
})

describe('Requests in turns', () => {
  /**
   * A server whose requests take 4 ms of the process each; counts the requests between two iterations of the event
   * loop.
   */
  async function startBusy() {
    const most = { together: 0, onOne: 0 }
    let together = 0
    const onOne = new Map<object, number>()
    const server = createServer(
      pace(async (request, response) => {
        const { socket } = request
        most.together = Math.max(most.together, ++together)
        onOne.set(socket, (onOne.get(socket) ?? 0) + 1)
        most.onOne = Math.max(most.onOne, onOne.get(socket) as number)
        await Promise.resolve()
        const until = performance.now() + 4
        while (performance.now() < until);
        response.once('close', () => onOne.delete(socket))
        response.end()
      }),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const timer = setInterval(() => {}, 1)
    let counting = true
    const count = () => {
      together = 0
      if (counting) setImmediate(count)
    }
    count()
    return {
      most,
      port: (server.address() as AddressInfo).port,
      async stop() {
        counting = false
        clearInterval(timer)
        server.closeAllConnections()
        server.close()
        await once(server, 'close')
      },
    }
  }

  it('of many connections leave the process free every few milliseconds, one of each connection at a time', async () => {
    const busy = await startBusy()
    const answered = Array.from({ length: 30 }, async () => {
      const socket = connect({ port: busy.port, host: '127.0.0.1' })
      let answers = 0
      socket.setEncoding('latin1').write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10))
      for await (const chunk of socket) {
        answers += (chunk as string).split('HTTP/1.1 200').length - 1
        if (answers === 10) break
      }
      return answers
    })
    expect(new Set(await Promise.all(answered))).toEqual(new Set([10]))
    await busy.stop()
    expect(busy.most.onOne).toBe(1)
    // 10 ms of turns and the one that exceeds it, in each of two phases of an iteration.
    expect(busy.most.together).toBeLessThanOrEqual(8)
  })
})
