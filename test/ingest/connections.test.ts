import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type Server, Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { divideDescriptors } from '../../db/descriptors.ts'
import { type Connections, createConnections } from '../../ingest/connections.ts'
import { countConnections } from '../../src/http/plugins/connections.ts'
import { until } from '../support/wait.ts'

const MAX = 12
const PROXY = '127.0.0.9'

describe('The connections of a process', () => {
  let server: Server
  let connections: Connections
  let accepted: Socket[]
  let clients: Socket[]
  beforeEach(async () => {
    connections = createConnections({ max: MAX, isProxy: address => address === PROXY })
    accepted = []
    clients = []
    server = createServer({ pauseOnConnect: true }, socket => {
      if (connections.enter(socket)) accepted.push(socket)
      socket.on('error', () => {})
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })
  afterEach(() => {
    for (const client of clients) client.destroy()
    server.close()
  })

  /** Opens connections from an address, one after the other. */
  async function open(address: string, count = 1): Promise<Socket[]> {
    const { port } = server.address() as { port: number }
    const opened: Socket[] = []
    for (let n = 0; n < count; n++) {
      const [closed, size] = [connections.closed, accepted.length]
      const client = connect({ port, host: '127.0.0.1', localAddress: address })
      client.on('error', () => {})
      client.resume()
      opened.push(client)
      await once(client, 'connect')
      await until('it is counted', () => connections.closed > closed || accepted.length > size)
    }
    clients.push(...opened)
    return opened
  }
  const isClosed = (client: Socket | undefined) => client?.destroyed === true
  const lastAccepted = () => accepted.at(-1) as Socket

  it('are limited for an address to half of the room that others leave, and its oldest idle one makes room for its next', async () => {
    const own = await open('127.0.0.1', MAX / 2)
    const [next] = await open('127.0.0.1')
    await until('the oldest is closed', () => isClosed(own[0]))
    expect(own.slice(1).some(isClosed) || isClosed(next)).toBe(false)
    expect(connections.size).toBe(MAX / 2)
    // Others still have room.
    const others = await open('127.0.0.2', 3)
    expect([...own.slice(1), ...others].some(isClosed)).toBe(false)
    expect(connections.size).toBe(MAX / 2 + 3)
  })

  it('are closed while they are idle, and never while they are worked on', async () => {
    const own: Socket[] = []
    for (let n = 0; n < MAX / 2; n++) {
      own.push(...(await open('127.0.0.1')))
      connections.work(lastAccepted())
    }
    const [refused] = await open('127.0.0.1')
    await until('the newcomer is closed', () => isClosed(refused))
    expect(own.some(isClosed)).toBe(false)
    connections.leaveWork(accepted[3] as Socket)
    await open('127.0.0.1')
    await until('the one that became idle is closed', () => isClosed(own[3]))
    expect(own.filter(isClosed)).toHaveLength(1)
  })

  it('are closed, the oldest idle one first, if there is no room for an address with few connections', async () => {
    const all: Socket[] = []
    // Each address takes half of the remaining room; many devices share a proxy's address.
    all.push(...(await open('127.0.0.1', 6)), ...(await open(PROXY, 6)))
    expect(connections.size).toBe(MAX)
    connections.work(accepted[0] as Socket)
    const [newcomer] = await open('127.0.0.3')
    await until('the oldest idle one is closed', () => isClosed(all[1]))
    expect(all.filter(isClosed)).toHaveLength(1)
    expect(isClosed(newcomer)).toBe(false)
    expect(connections.size).toBe(MAX)
  })

  it('go in their order, those of strangers before those by which somebody has signed in', async () => {
    const own = await open('127.0.0.1', MAX / 2)
    for (const socket of accepted.slice(0, 2)) {
      connections.work(socket)
      connections.know(socket)
      connections.leaveWork(socket)
    }
    await open('127.0.0.1', 4)
    await until('the strangers are closed', () => own.slice(2).every(isClosed))
    expect(own.slice(0, 2).some(isClosed)).toBe(false)
    for (const socket of accepted.slice(-4)) connections.work(socket)
    await open('127.0.0.1')
    await until('the older one is closed', () => isClosed(own[0]))
    expect(isClosed(own[1])).toBe(false)
  })

  it('of a client that a proxy names are limited as if it had come itself', async () => {
    const own: Socket[] = []
    for (let n = 0; n <= MAX / 2; n++) {
      own.push(...(await open(PROXY)))
      expect(connections.move(lastAccepted(), '198.51.100.7')).toBe(true)
    }
    await until('its oldest is closed', () => isClosed(own[0]))
    expect(own.filter(isClosed)).toHaveLength(1)
    expect(connections.size).toBe(MAX / 2)
  })

  it('make room after a request that was answered before its body was there', async () => {
    const held = createConnections({ max: 1, isProxy: () => true })
    let hasEnded = false
    const http = createHttpServer((request, response) => {
      request.once('end', () => {
        hasEnded = true
      })
      request.resume()
      response.end()
    })
    countConnections(http, held)
    await once(http.listen(0, '127.0.0.1'), 'listening')
    const { port } = http.address() as { port: number }
    const early = connect(port, '127.0.0.1')
    early.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n')
    await once(early, 'data')
    early.write('body')
    await until('its body is there', () => hasEnded)
    early.resume()
    const newcomer = connect(port, '127.0.0.1')
    newcomer.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const [answer] = await Promise.race([once(newcomer, 'data'), once(newcomer, 'close')])
    expect(String(answer)).toMatch(/^HTTP\/1.1 200/)
    await until('the earlier one has made room', () => isClosed(early))
    newcomer.destroy()
    http.close()
  })

  it('stay within their bounds whatever happens, and busy ones are not closed', () => {
    const step = fc.record({
      does: fc.constantFrom('enter', 'enter', 'enter', 'work', 'rest', 'close'),
      address: fc.integer({ min: 0, max: 4 }),
      which: fc.nat(50),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (steps, max) => {
        const held = createConnections({ max, isProxy: address => address === 'address 0' })
        const open = new Set<Socket>()
        const working = new Set<Socket>()
        for (const { does, address, which } of steps) {
          const chosen = [...open][which % Math.max(1, open.size)]
          if (does === 'enter') {
            // Without a handle the socket is closed at once, as a real one is.
            const socket = new Socket()
            Object.defineProperty(socket, 'remoteAddress', { value: `address ${address}` })
            const isIn = held.enter(socket)
            // A proxy names its client.
            if (isIn && (address > 0 || which % 2 === 0 || held.move(socket, `address ${which % 5}`)))
              open.add(socket)
          } else if (chosen && does === 'work') {
            if (!working.has(chosen)) held.work(chosen)
            working.add(chosen)
          } else if (chosen && does === 'rest') {
            if (working.delete(chosen)) held.leaveWork(chosen)
          } else if (chosen && does === 'close' && !working.has(chosen)) {
            chosen.destroy()
            chosen.emit('close')
          }
          for (const socket of open) if (socket.destroyed) open.delete(socket)
          for (const socket of working)
            if (socket.destroyed) throw new Error('one that is worked on is closed')
          if (open.size > max) throw new Error(`${open.size} of ${max} are open`)
        }
        return held.size === open.size
      }),
      { numRuns: 300 },
    )
  })

  it('leave descriptors to the database and to everything else, whatever the limit', () => {
    for (const limit of [256, 500, 1_024, 4_096, 20_000, 1_048_576]) {
      for (const isEmbedded of [true, false]) {
        const { databaseFiles, connections } = divideDescriptors(limit, isEmbedded)
        const left = limit - connections - (isEmbedded ? databaseFiles : 0)
        expect(connections).toBeGreaterThan(0)
        expect(left).toBeGreaterThanOrEqual(Math.min(1_000, Math.floor(limit / 4)))
      }
    }
  })
})
