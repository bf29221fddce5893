import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type Kind, postgresMissing, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const DESCRIPTORS = 500
const STRANGERS = 700

const kinds: Kind[] = postgresMissing() ? ['pglite'] : ['pglite', 'postgres']

describe.each(kinds)(`A server with ${DESCRIPTORS} descriptors, on %s`, kind => {
  let database: TestDatabase
  let server: ServerProcess
  let owner: Client
  let device: TestDevice
  beforeAll(async () => {
    database = await createTestDatabase(kind)
    server = await startServer(database, {}, { descriptors: DESCRIPTORS })
    owner = await signIn(server)
    device = await createDevice(owner)
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  /** Opens this many connections, and sends `bytes` on each. */
  async function flood(port: number, bytes = ''): Promise<Socket[]> {
    const sockets: Socket[] = []
    for (let n = 0; n < STRANGERS; n++) {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => {})
      socket.resume()
      sockets.push(socket)
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
      if (bytes) socket.write(bytes)
    }
    return sockets
  }

  const metric = async (name: string) => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }

  it.each([
    ['connections without a byte', () => Number(new URL(server.url).port), ''],
    [
      'heads that never end',
      () => Number(new URL(server.url).port),
      'GET /health HTTP/1.1\r\nHost: x\r\nX: ',
    ],
    [
      'bodies that never come',
      () => Number(new URL(server.url).port),
      'POST /api/v3/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 200\r\n\r\n{',
    ],
    ['MQTT connections without a CONNECT', () => server.mqttPort, ''],
  ])(
    'goes on beside more %s than it has: it reads, stores and keeps who is known',
    async (whose, port, bytes) => {
      const tracker = await connectDevice(server, device)
      const closedBefore = await metric('fieldline_connections_closed_total')
      const strangers = await flood(port(), bytes)
      try {
        for (let n = 0; n < 5; n++) {
          expect((await owner.get('/user')).status).toBe(200)
          expect((await owner.post('/hub', { name: `${kind} ${whose} ${n}`, lat: 1, lng: 2 })).status).toBe(
            201,
          )
          await publish(tracker, device, { lat: 1, lng: 2, timestamp: Date.now() - n * 1_000 - 60_000 })
        }
        expect(tracker.connected).toBe(true)
        expect(await metric('fieldline_connections')).toBeLessThan(DESCRIPTORS)
        const closed = (await metric('fieldline_connections_closed_total')) - closedBefore
        expect(closed).toBeGreaterThan(STRANGERS - DESCRIPTORS)
      } finally {
        for (const socket of strangers) socket.destroy()
        await tracker.endAsync(true)
      }
      await until('they are gone', async () => (await metric('fieldline_connections')) < 10)
      expect(server.output.stderr).not.toContain('"level":60')
    },
  )
})
