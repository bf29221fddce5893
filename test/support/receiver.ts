import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from './wait.ts'

export interface Received {
  at: number
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** A webhook endpoint that stores its requests; each path answers in its own way. */
export interface Receiver {
  url: string
  received: Received[]
  /** The requests to a path. */
  at(path: string): Received[]
  /** Waits until this many requests have come to a path. */
  wait(path: string, count: number, timeoutMs?: number): Promise<Received[]>
  close(): Promise<void>
}

export async function startReceiver(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void = (_, response) => {
    response.end('ok')
  },
): Promise<Receiver> {
  const received: Received[] = []
  const at = (path: string) => received.filter(one => one.path === path)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url ?? ''
      received.push({
        at: Date.now(),
        path,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      })
      answer(request, response, at(path).length)
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    at,
    async wait(path, count, timeoutMs = 120_000) {
      await until(`${count} at ${path}`, () => at(path).length >= count, timeoutMs)
      return at(path)
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
