import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Aedes, type Client } from 'aedes'
import type { Database } from '../../db/client.ts'
import { networkOf } from '../../fair/network.ts'
import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log } from '../../stream/log.ts'
import type { Intake } from '../connections/intake.ts'
import type { Connections } from '../connections.ts'
import type { Draining } from '../drain.ts'
import type { Tokens } from '../identity/tokens.ts'
import type { Watcher } from '../identity/watcher.ts'
import type { LastSeen } from '../last-seen.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Profiles } from '../profiles/profiles.ts'
import type { Traces } from '../traces.ts'
import { type Admission, createAdmission } from './admission.ts'
import { createPersistence, keepNoNumbers, NO_DELIVERY } from './aedes.ts'
import { Commands } from './commands.ts'
import { Connection, type ConnectionServices } from './connection.ts'
import { createCredentials, endSessionsOfDeleted, isDevice } from './credentials.ts'
import { createForDevices } from './for-devices.ts'
import { CONNECT_TIMEOUT_MS } from './limits.ts'
import { type Listener, listen, openTls, type TlsFiles } from './listeners.ts'
import { createProxyHeaders } from './proxy-protocol.ts'
import { REASON } from './reasons.ts'
import { createRefusalLog } from './refusals.ts'
import { createSecureWebSockets, type RefuseRequest } from './secure-websockets.ts'
import { Sessions } from './sessions.ts'
import type { ClientSocket } from './socket.ts'
import { subscribe } from './subscriptions.ts'
import type { Tenants } from './tenants.ts'
import { createConnectionThrottle } from './throttle.ts'

/**
 * The MQTT server. A connection waits for its turn (`throttle.ts`), is authenticated once (`admission.ts`), and is closed when
 * its credential ends. A client publishes only to its own topics, through its connection. aedes handles sockets,
 * keepalives and subscriptions.
 */
export interface MqttServer {
  readonly port: number
  readonly connections: number
  /** Accepts a stream that speaks MQTT. `address` is the peer's; `onKnown` is called once the client is authenticated. */
  accept(stream: Duplex, address: string | undefined, onKnown: () => void): void
  /** Stops accepting, and stops reading connections one by one; each closes when its messages are acknowledged. */
  readonly draining: Draining
  /** Ends the remaining connections: waits until their messages are acknowledged, and closes them. */
  close(): Promise<void>
}

const ACKNOWLEDGED_WITHIN_MS = 5_000
const POLL_EVERY_MS = 500

export interface MqttServerOptions {
  db: Database
  log: Log
  tokens: Tokens
  watcher: Watcher
  profiles: Profiles
  metrics: IngestMetrics
  lastSeen: Pick<LastSeen, 'see'>
  traces: Pick<Traces, 'note' | 'refuse'>
  intake: Intake
  scheduler: Scheduler
  tenants: Tenants
  /** All connections of the process; the server's own are counted among them. */
  sockets: Connections
  host: string
  port: number
  /** `refuseRequest` answers what comes to this port over HTTP, and opens no WebSocket. Pages of `corsOrigins` may open one. */
  tls?: { port: number; refuseRequest: RefuseRequest; corsOrigins: readonly string[] } & TlsFiles
  connectionsPerSecond: number
  /** Whether a peer is a proxy whose connections begin with a header of the PROXY protocol; none is by default. */
  writesHeader?: (address: string) => boolean
  onError: (error: unknown, doing: string) => void
  /** Takes what is worth a line in the log and no failure. */
  onNote?: (details: object, message: string) => void
}

/** Secures a connection, and hands over the stream that carries MQTT. */
type Secure = (onStream: (stream: Duplex) => Connection) => unknown

/** Accepts a stream, or what `secure` makes of it. */
type Accept = (...accepted: [...Parameters<MqttServer['accept']>, secure?: Secure]) => void

export async function openMqttServer(options: MqttServerOptions): Promise<MqttServer> {
  const { db, log, watcher, metrics, onError } = options
  const sessions = new Sessions()
  const forDevices = createForDevices({ ...options, sessions })
  const services = { ...options, sessions, commands: new Commands({ db, sessions, onError }), forDevices }
  const connections = new Map<Client, Connection>()
  const throttle = createConnectionThrottle({ perSecond: options.connectionsPerSecond })
  const credentials = { readPublisher: createCredentials(options), refusals: logRefusals(options) }
  const admission = createAdmission({ ...options, ...credentials, sessions })
  const stopEnding = endSessionsOfDeleted({ db, sessions, onError })
  /** The connections that have been asked to end. */
  const ending = new Set<Connection>()
  let closing = false
  const broker = await openBroker(services, connections, admission)

  const accept: Accept = (stream, address, onKnown, secure = onStream => onStream(stream)) => {
    if (closing) return void stream.destroy()
    throttle.enter(stream, networkOf(address ?? ''), answered => {
      // It may have closed while it waited.
      if (stream.destroyed) return
      secure(carrier => {
        const connection = serve(carrier, address)
        connection.client.once('connected', answered).once('connected', onKnown)
        return connection
      })
    })
  }

  function serve(stream: Duplex, address: string | undefined): Connection {
    const client = broker.handle(stream)
    const connection = new Connection(client, address, services)
    connections.set(client, connection)
    admission.enter(connection)
    if (closing) end(connection)
    else if (log.full) connection.pause()
    followCredential(connection, services, watcher)
    client.conn.once('close', () => {
      admission.leave(connection)
      connections.delete(client)
      ending.delete(connection)
    })
    return connection
  }

  function end(connection: Connection): void {
    ending.add(connection)
    connection.pause()
  }

  const stopListening = log.onFull(full => holdBack(full, connections, ending))
  const polls = setInterval(() => poll(connections, sessions), POLL_EVERY_MS)
  const listeners = await openListeners(options, (socket, address, secure) =>
    accept(socket, address, () => options.sockets.work(socket), secure),
  )

  metrics.observe({ connecting: () => throttle.waiting, sessionsAway: () => sessions.away, listeners })

  let closed: Promise<unknown> | undefined
  function stopAccepting(): void {
    closing = true
    stopEnding()
    throttle.close()
    closed ??= listeners.close()
  }

  return {
    port: listeners.port,
    get connections() {
      return connections.size
    },
    accept: (stream, address, onKnown) => accept(stream, address, onKnown),
    draining: {
      begin() {
        stopAccepting()
        return [...connections.values()].map(connection => () => end(connection))
      },
      remaining() {
        for (const { pending, socket } of ending) if (pending === 0) goAway(socket)
        return connections.size
      },
    },
    async close() {
      stopAccepting()
      stopListening()
      for (const connection of connections.values()) end(connection)
      await untilAcknowledged(connections)
      clearInterval(polls)
      await new Promise<void>(resolve => broker.close(resolve))
      for (const { socket } of connections.values()) goAway(socket)
      forDevices.close()
      await Promise.all([closed, services.commands.close()])
      sessions.close()
    },
  }
}

const goAway = (socket: ClientSocket) =>
  socket.leave(REASON.serverShuttingDown, 'The server is shutting down.')

function followCredential(
  connection: Connection,
  { sessions, commands }: Pick<ConnectionServices, 'sessions' | 'commands'>,
  watcher: Watcher,
): void {
  const { client, socket } = connection
  client.once('connected', () => {
    const { session } = connection
    if (!session) return
    sessions.resume(session)
    commands.follow(session)
  })
  client.conn.once('close', () => {
    watcher.forget(connection)
    const { session } = connection
    if (!session) return
    commands.leave(session, socket)
    sessions.leave(session, socket)
  })
}

/** Reads no connection while the log is full. Those that have been asked to end stay paused. */
function holdBack(
  full: boolean,
  connections: ReadonlyMap<Client, Connection>,
  ending: ReadonlySet<Connection>,
): void {
  for (const connection of connections.values()) {
    if (full) connection.pause()
    else if (!ending.has(connection)) connection.resume()
  }
}

function poll(connections: ReadonlyMap<Client, Connection>, sessions: Sessions): void {
  for (const connection of connections.values()) {
    if (connection.isWaiting) connection.refreshKeepalive()
  }
  sessions.expire(performance.now())
}

/** Waits until nothing of the connections is unacknowledged, but not for long. */
async function untilAcknowledged(connections: ReadonlyMap<Client, Connection>): Promise<void> {
  const deadline = performance.now() + ACKNOWLEDGED_WITHIN_MS
  while ([...connections.values()].some(({ pending }) => pending > 0) && performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** aedes, which handles sockets, keepalives and subscriptions. */
function openBroker(
  services: Pick<ConnectionServices, 'sessions' | 'commands'>,
  connections: ReadonlyMap<Client, Connection>,
  admission: Admission,
): Promise<Aedes> {
  keepNoNumbers()
  return Aedes.createBroker({
    connectTimeout: CONNECT_TIMEOUT_MS,
    // aedes would apply MQTT 3.1's limit of 23 characters, but OwnTracks sends longer ones. Fieldline's limit: `limits.ts`.
    maxClientsIdLength: 65_535,
    persistence: createPersistence(clientId => services.sessions.isResumed(clientId)),
    mq: NO_DELIVERY,
    authenticate: (client, username, password, done) =>
      admission.authenticate(client, username, password?.toString('utf8'), () => done(null, true)),
    authorizeSubscribe(client, subscription, done) {
      const { publisher = null, session = null } = connections.get(client) ?? {}
      // [MQTT-3.8.4-5]: SUBACK 0x80, whatever the reason is.
      const code = subscribe(services, { publisher, session }, subscription)
      done(null, code < REASON.unspecified ? subscription : null)
    },
  })
}

const logRefusals = ({ db, onNote }: MqttServerOptions) =>
  createRefusalLog({ isDevice: id => isDevice(db, id), onNote })

/** Gives a connection to `accept` with its client's address. `secure` makes the stream of one over TLS. */
type Enter = (socket: Socket, secure?: Secure) => void

function createEnter(
  { sockets, writesHeader = () => false }: MqttServerOptions,
  accept: (socket: Socket, address: string | undefined, secure?: Secure) => void,
): Enter {
  const headers = createProxyHeaders()
  return (socket, secure) => {
    if (!sockets.enter(socket)) return
    const { remoteAddress } = socket
    if (remoteAddress === undefined || !writesHeader(remoteAddress))
      return accept(socket, remoteAddress, secure)
    headers.read(socket, (address, taken) => {
      if (address !== null && !sockets.move(socket, address)) return
      accept(socket, address ?? remoteAddress, onStream => {
        taken()
        return secure ? secure(onStream) : onStream(socket)
      })
    })
  }
}

/** Listens on TCP and, if configured, TLS. */
async function openListeners(
  options: MqttServerOptions,
  accept: Parameters<typeof createEnter>[1],
): Promise<Listener & { certificateEndsAt: (() => number) | undefined }> {
  const { host, port, tls, onError } = options
  const enter = createEnter(options, accept)
  const secured = tls && openTls(tls, onError)
  const websockets = tls && createSecureWebSockets(tls.refuseRequest, tls.corsOrigins)
  const listener = await listen({ host, port, onError, onSocket: socket => enter(socket) })
  const other =
    tls &&
    secured &&
    websockets &&
    (await listen({
      host,
      port: tls.port,
      onError,
      onSocket: socket => enter(socket, onStream => websockets.open(secured.secure(socket), onStream)),
    }))
  return {
    port: listener.port,
    certificateEndsAt: secured && (() => secured.endsAt),
    async close() {
      secured?.close()
      websockets?.close()
      await Promise.all([listener.close(), other?.close()])
    },
  }
}
