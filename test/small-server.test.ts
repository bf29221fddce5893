import { connect, type Socket } from 'node:net'
import { Gauge, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { openMetricsServer } from '../src/small-server.ts'
import { until } from './support/wait.ts'

describe('The port of the metrics', () => {
  it('is free again for a scraper after strangers took all of its connections and never read', async () => {
    const registry = new Registry()
    // More than the system's buffers hold for a connection.
    new Gauge({ name: 'large', help: 'x'.repeat(8 * 1024 ** 2), registers: [registry] })
    const server = await openMetricsServer({ host: '127.0.0.1', port: 0, idleMs: 300 }, registry)
    const sockets: Socket[] = []
    for (let n = 0; n < 64; n++) {
      const socket = connect(server.port, '127.0.0.1').on('error', () => {})
      socket.pause().write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
      sockets.push(socket)
    }
    const status = () => fetch(`http://127.0.0.1:${server.port}/metrics`).then(answer => answer.status)
    await until('a scraper gets an answer', () =>
      status().then(
        found => found === 200,
        () => false,
      ),
    )
    expect(await status()).toBe(200)
    for (const socket of sockets) socket.destroy()
    await server.close()
  })
})
