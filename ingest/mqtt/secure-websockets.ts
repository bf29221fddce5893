import type { X509Certificate } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { WebSocketServer } from 'ws'
import { CONNECT_TIMEOUT_MS, MAX_REQUEST_HEAD_BYTES } from './limits.ts'
import { MQTT_SUBPROTOCOLS, offersMqtt, toMqttStream, WEBSOCKET_LIMITS } from './websocket.ts'

/**
 * MQTT over a secure WebSocket, on the port of MQTT over TLS. Fieldline's HTTP port leaves TLS to a proxy, which does not pass
 * on the certificate of a client. Here the handshake is our own, so a device may sign in with its certificate. The first byte
 * says what a client speaks: a request begins with the G of GET, and no packet of MQTT begins so.
 */
export interface SecureWebSockets {
  /** Calls `onStream` with the stream that carries MQTT: the connection, or the WebSocket that is opened on it. */
  open(socket: TLSSocket, onStream: (stream: Duplex) => Carried): void
  /** Closes connections that have not come so far. */
  close(): void
}

/** The connection of MQTT over a stream. */
interface Carried {
  readonly hasConnect: boolean
}

/** Answers a request with a failure, and closes the connection. */
export type RefuseRequest = (
  socket: Duplex,
  code: 'malformed-request' | 'not-found' | 'upgrade-required' | 'invalid-input' | 'forbidden',
  message: string,
) => void

const G = 0x47
const PATH = '/mqtt'

export function createSecureWebSockets(
  refuse: RefuseRequest,
  corsOrigins: readonly string[],
): SecureWebSockets {
  /** Connections that carry no MQTT yet, and what is done with the stream that will. */
  const opening = new Map<Duplex, (stream: Duplex) => unknown>()
  const sockets = new WebSocketServer({
    noServer: true,
    ...WEBSOCKET_LIMITS,
    handleProtocols: offered => MQTT_SUBPROTOCOLS.find(name => offered.has(name)) ?? false,
  })
  sockets.on('wsClientError', (_error, socket) =>
    refuse(socket, 'malformed-request', 'This is not a valid upgrade to a WebSocket.'),
  )
  // It does not listen.
  const requests = createServer({ maxHeaderSize: MAX_REQUEST_HEAD_BYTES })
  requests.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    // The bytes after the invalid ones are invalid again, and discarded.
    else if (!socket.writableEnded) refuse(socket, 'malformed-request', 'This is not a valid HTTP request.')
  })
  requests.on('request', ({ url, socket }) => {
    if (isMqtt(url)) refuse(socket, 'upgrade-required', 'A WebSocket is opened here: send an upgrade.')
    else refuse(socket, 'not-found', `This port takes MQTT, and WebSockets at ${PATH}.`)
  })
  requests.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const carry = opening.get(socket)
    if (!isMqtt(request.url))
      return refuse(socket, 'not-found', `This port takes MQTT, and WebSockets at ${PATH}.`)
    if (!offersMqtt(request.headers['sec-websocket-protocol']))
      return refuse(socket, 'invalid-input', 'The WebSocket has to offer the subprotocol mqtt.')
    if (!isOwnPage(request.headers, corsOrigins))
      return refuse(socket, 'forbidden', 'A page of this origin opens no WebSocket here.')
    sockets.handleUpgrade(request, socket, head, opened => {
      const stream = toMqttStream(opened)
      CARRIERS.set(stream, socket)
      carry?.(stream)
    })
  })

  return {
    open(socket, onStream) {
      let carried: Carried | undefined
      const carry = (stream: Duplex) => {
        opening.delete(socket)
        carried = onStream(stream)
      }
      opening.set(socket, carry)
      // The handshake and the upgrade are part of the time for a CONNECT.
      const late = setTimeout(() => carried?.hasConnect || socket.destroy(), CONNECT_TIMEOUT_MS)
      socket.on('error', ignore)
      socket.once('close', () => {
        clearTimeout(late)
        opening.delete(socket)
      })
      const look = () => {
        const first: Buffer | null = socket.read(1)
        if (first === null) return
        socket.off('readable', look)
        socket.unshift(first)
        // Node forgets that somebody listened for `readable` a tick later; a listener before that is told nothing.
        process.nextTick(() => {
          if (socket.destroyed) return
          if (first[0] === G) requests.emit('connection', socket)
          else carry(socket)
        })
      }
      socket.on('readable', look)
    },
    close() {
      for (const socket of opening.keys()) socket.destroy()
    },
  }
}

const isMqtt = (url: string | undefined) => url?.split('?')[0] === PATH

/**
 * Whether a request comes from no page, or from one of this host or of `CORS_ORIGINS`. A browser shows its certificate whichever
 * page asks, so another page would publish as that device. Ports are not compared: pages come through a proxy.
 */
function isOwnPage({ origin, host }: IncomingHttpHeaders, corsOrigins: readonly string[]): boolean {
  if (origin === undefined || corsOrigins.includes(origin)) return true
  const [page, own] = [origin, `https://${host}`].map(text => (URL.canParse(text) ? new URL(text) : null))
  return page?.hostname !== undefined && page.hostname === own?.hostname
}

function ignore(): void {}

/** The connections under the streams of WebSockets. */
const CARRIERS = new WeakMap<Duplex, Duplex>()

/** The certificate that the client has shown in the handshake of TLS, which proves that it has its key. */
export function shownCertificate(stream: Duplex): X509Certificate | undefined {
  const socket = CARRIERS.get(stream) ?? stream
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
}
