import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { FAILURES } from './http/error-codes.ts'
import type { Release } from './http/release.ts'
import { aliveAs, createPaced, READ_EVERY_MS } from './resources/health/routes.ts'

/**
 * Servers that answer a few fixed paths beside the interface: one stands in for it while the process starts, so that
 * `/health` answers at once, and one has the metrics where they are on a port of their own.
 */
export interface SmallServer {
  port: number
  close(): Promise<void>
}

interface Place {
  host: string
  port: number
  idleMs?: number
}

interface Answer {
  status: number
  /** An object is sent as JSON. */
  body: object | string
  headers?: Record<string, string>
}

/** For probes and a scraper; what comes with a request is not read. */
const MAX_CONNECTIONS = 64
const MAX_HEADER_BYTES = 16 * 1024
const WITHIN_MS = 5_000
/** Whoever sends nothing, or does not read, loses the connection: the few that there are stay free for probes. */
const IDLE_MS = 10_000

async function openSmallServer(
  { host, port, idleMs = IDLE_MS }: Place,
  answer: (path: string) => Promise<Answer>,
): Promise<SmallServer> {
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: WITHIN_MS, requestTimeout: WITHIN_MS },
    (request: IncomingMessage, response: ServerResponse) => {
      const path = (request.url ?? '').replace(/\?.*/s, '').replace(/(?<=.)\/$/, '')
      answer(path)
        .catch((): Answer => ({ status: 500, body: '' }))
        .then(({ status, body, headers }) => {
          const [type, text] =
            typeof body === 'string' ? ['text/plain', body] : ['application/json', JSON.stringify(body)]
          response.writeHead(status, { 'content-type': type, connection: 'close', ...headers }).end(text)
        })
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(idleMs)
  server.listen({ host, port })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const RETRY_AFTER_S = 2

/** Answers in place of the interface until that listens. */
export const openStandIn = (place: Place, release: Release): Promise<SmallServer> =>
  openSmallServer(place, async path => {
    if (path === '/health') return { status: 200, body: aliveAs(release) }
    const message = 'The server is starting: try again in a moment.'
    const failure = { status: false, code: 'unavailable', message, data: { listeners: false } }
    return {
      status: FAILURES.unavailable.status,
      body: failure,
      headers: { 'retry-after': `${RETRY_AFTER_S}` },
    }
  })

/** The metrics, for those alone who reach this port. */
export function openMetricsServer(place: Place, registry: Registry): Promise<SmallServer> {
  const writeFigures = createPaced(() => registry.metrics(), READ_EVERY_MS)
  return openSmallServer(place, async path =>
    path === '/metrics'
      ? { status: 200, body: await writeFigures(), headers: { 'content-type': registry.contentType } }
      : { status: 404, body: 'The metrics are at /metrics.\n' },
  )
}
