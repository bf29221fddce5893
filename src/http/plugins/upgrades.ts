import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import websocket from '@fastify/websocket'
import { MQTT_SUBPROTOCOLS, WEBSOCKET_LIMITS } from '../../../ingest/mqtt/websocket.ts'
import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'
import { closeWithFailure } from './raw-errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is a WebSocket; set from the route's `websocket`. */
    upgrade?: boolean
  }
}

/** RFC 6455, 7.4.1. */
export const GOING_AWAY = 1001
const INTERNAL_ERROR = 1011

/**
 * WebSockets, and envelopes for the failures that @fastify/websocket and ws would answer without one: the address of a
 * WebSocket without an upgrade, an upgrade elsewhere, and an invalid upgrade.
 */
export async function addUpgrades(app: App): Promise<void> {
  app.addHook('onRoute', route => {
    if (!route.websocket || route.method === 'HEAD') return
    const open = route.handler as unknown as NonNullable<typeof route.wsHandler>
    route.config = { ...route.config, upgrade: true }
    route.websocket = false
    route.wsHandler = open
    route.handler = async (_request, reply) => {
      reply.header('upgrade', 'websocket')
      throw new RequestError('upgrade-required', 'A WebSocket is opened here: send an upgrade.')
    }
  })
  await app.register(websocket, {
    // ws answers a client's fault with a close code; ending the socket at once would lose it.
    errorHandler: (error, socket) => {
      app.log.info({ err: error }, 'A WebSocket failed')
      if (socket.readyState === socket.OPEN) socket.close(INTERNAL_ERROR)
    },
    preClose(done) {
      for (const socket of app.websocketServer.clients) socket.close(GOING_AWAY)
      app.websocketServer.close()
      // Sockets that do not answer the close are cut off with the server.
      done()
    },
    options: {
      ...WEBSOCKET_LIMITS,
      handleProtocols: offered => ['bearer', ...MQTT_SUBPROTOCOLS].find(name => offered.has(name)) ?? false,
    },
  })
  ignoreOtherOffers(app.server)
  // After the plugin's own hook, which closes the requests that are answered with a failure later.
  app.addHook('onRequest', async ({ raw, is404, routeOptions }) => {
    if (raw.headers.upgrade === undefined || is404 || routeOptions.config.upgrade) return
    throw new RequestError('invalid-input', 'There is no WebSocket at this address.')
  })
  app.addHook('onReady', async () => {
    app.websocketServer.on('wsClientError', (_error: Error, socket: Duplex) => {
      closeWithFailure(socket, 'malformed-request', 'This is not a valid upgrade to a WebSocket.')
    })
  })
}

/**
 * Clients offer other protocols with any request (`curl --http2`, Java's HttpClient: h2c). A server that does not
 * accept an offer answers as if there were none. [RFC 9110, 7.8] Node hands over such a request unread, so the server
 * receives the same bytes again, without the offer.
 */
function ignoreOtherOffers(server: Server): void {
  const open = server.listeners('upgrade')
  server.removeAllListeners('upgrade')
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (/(^|,)\s*websocket\s*(,|$)/i.test(request.headers.upgrade ?? '')) {
      for (const listener of open) listener.call(server, request, socket, head)
      return
    }
    socket.unshift(Buffer.concat([writeHead(request), head]))
    server.emit('connection', socket)
  })
}

const OFFER = /^(upgrade|http2-settings)$/i

function writeHead({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at] as string, rawHeaders[at + 1] as string]
    if (OFFER.test(name)) continue
    const kept = /^connection$/i.test(name)
      ? value
          .split(',')
          .filter(option => !OFFER.test(option.trim()))
          .join(',')
      : value
    lines.push(`${name}: ${kept}`)
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}
