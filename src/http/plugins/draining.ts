import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { Draining } from '../../../ingest/drain.ts'
import { MQTT_SUBPROTOCOLS } from '../../../ingest/mqtt/websocket.ts'
import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'
import { GOING_AWAY } from './upgrades.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Closes the HTTP connections in order. */
    draining: Draining
  }
  interface FastifyContextConfig {
    /** Whether the route answers as long as the process runs. */
    always?: boolean
  }
}

/**
 * How long a connection without a request stays open when the process ends: clients in a loop send their next request
 * within it.
 */
const IDLE_MS = 250
/** A client that does not answer the close of its WebSocket within this time is cut off. */
const CLOSE_WITHIN_MS = 2_000

interface Connection {
  underWay: Set<ServerResponse>
  /** By `performance.now()`, with the bytes read by then: more bytes mean that a request is arriving. */
  idleSince: number
  bytesRead: number
}

/**
 * Knows the requests in flight on each HTTP connection, for the end of the process. `watch` a server before it listens;
 * `add` gives an app its `draining`, and marks answers as the last ones of their connections.
 */
export function createHttpDraining(): { watch(server: Server): void; add(app: App): void } {
  const connections = new Map<Socket, Connection>()
  const servers: Server[] = []
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
      servers.push(server)
      server.on('connection', socket => {
        // Node receives a connection a second time if its client offered another protocol (`upgrades.ts`).
        if (connections.has(socket)) return
        connections.set(socket, { underWay: new Set(), idleSince: performance.now(), bytesRead: 0 })
        socket.once('close', () => connections.delete(socket))
      })
      // From now on the connection belongs to a WebSocket, or is closed with a failure.
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
        // If several requests were sent at once, only the last answer closes the connection.
        const isLast = (connections.get(raw.socket)?.underWay.size ?? 0) <= 1
        if (state !== 'serving' && isLast) reply.header('connection', 'close')
        return payload
      })
      const sockets = () => [...app.websocketServer.clients]
      app.decorate('draining', {
        begin() {
          state = 'draining'
          // MQTT sockets end when their messages are acknowledged.
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
        stopListening() {
          // An HTTP server's own `close` would also cut idle connections, over which a request may be arriving.
          for (const server of servers) if (server.listening) NetServer.prototype.close.call(server)
        },
        remaining() {
          for (const [socket, connection] of connections) if (isIdle(socket, connection)) socket.destroy()
          return connections.size + app.websocketServer.clients.size
        },
      })
    },
  }
}
