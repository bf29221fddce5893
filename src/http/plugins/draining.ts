import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Draining } from '../../../ingest/drain.ts'
import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'
import { GOING_AWAY, MQTT_SUBPROTOCOLS } from './upgrades.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** How the connections of HTTP end in order. */
    draining: Draining
  }
  interface FastifyContextConfig {
    /** Whether it answers as long as the process does. */
    always?: boolean
  }
}

/** How long a connection without a request stays when the process ends: clients in a loop send their next one within it. */
const IDLE_MS = 250
/** Whoever does not answer the close of its WebSocket within it is cut off. */
const CLOSE_WITHIN_MS = 2_000

interface Connection {
  underWay: Set<ServerResponse>
  /** By `performance.now()`, and what had been read by then: more is a request that arrives. */
  idleSince: number
  bytesRead: number
}

/**
 * Knows what is under way on each connection of HTTP, for the end of the process. `watch` a server before it listens; `add`
 * gives an app its `draining`, and has its answers say that they are the last.
 */
export function createHttpDraining(): { watch(server: Server): void; add(app: App): void } {
  const connections = new Map<Socket, Connection>()
  let state: 'serving' | 'draining' | 'refusing' = 'serving'

  function rest(socket: Socket, connection: Connection): void {
    connection.idleSince = performance.now()
    connection.bytesRead = socket.bytesRead
  }

  function isIdle(socket: Socket, { underWay, idleSince, bytesRead }: Connection): boolean {
    return underWay.size === 0 && socket.bytesRead === bytesRead && performance.now() - idleSince >= IDLE_MS
  }

  return {
    watch(server) {
      server.on('connection', socket => {
        // Node is handed a connection again that offered something else (`upgrades.ts`).
        if (connections.has(socket)) return
        connections.set(socket, { underWay: new Set(), idleSince: performance.now(), bytesRead: 0 })
        socket.once('close', () => connections.delete(socket))
      })
      // From now on it is a WebSocket's, or closed with a failure.
      server.on('upgrade', (_request, socket) => connections.delete(socket as Socket))
      server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
        const connection = connections.get(socket)
        connection?.underWay.add(response)
        response.once('close', () => {
          connection?.underWay.delete(response)
          if (connection?.underWay.size === 0) rest(socket, connection)
        })
      })
    },

    add(app) {
      app.addHook('onRequest', async ({ raw, routeOptions }) => {
        const opens = routeOptions.config.upgrade && raw.headers.upgrade !== undefined
        const refused = state === 'refusing' || (state === 'draining' && opens)
        if (refused && !routeOptions.config.always) {
          throw new RequestError('unavailable', 'The server is stopping. Send this again in a few seconds.')
        }
      })
      app.addHook('onSend', async ({ raw }, reply, payload) => {
        // Of several that were sent at once the last one says it.
        const isLast = (connections.get(raw.socket)?.underWay.size ?? 0) <= 1
        if (state !== 'serving' && isLast) reply.header('connection', 'close')
        return payload
      })
      const sockets = () => [...app.websocketServer.clients]
      app.decorate('draining', {
        begin() {
          state = 'draining'
          // Those of MQTT end when what they sent is acknowledged.
          return sockets()
            .filter(socket => !MQTT_SUBPROTOCOLS.includes(socket.protocol))
            .map(socket => () => {
              socket.close(GOING_AWAY)
              setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS).unref()
            })
        },
        refuse() {
          state = 'refusing'
        },
        remaining() {
          for (const [socket, connection] of connections) if (isIdle(socket, connection)) socket.destroy()
          return connections.size + app.websocketServer.clients.size
        },
      })
    },
  }
}
