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
import { type Admission, createAdmission } from './admission.ts'
import { createPersistence, keepNoNumbers, NO_DELIVERY } from './aedes.ts'
import { Connection, type ConnectionServices } from './connection.ts'
import { createCredentials, endSessionsOfDeleted } from './credentials.ts'
import { CONNECT_TIMEOUT_MS } from './limits.ts'
import { type Listener, listen, openTls, type TlsFiles } from './listeners.ts'
import { Sessions } from './sessions.ts'
import { createTenants } from './tenants.ts'
import { createConnectionThrottle } from './throttle.ts'
import { topicsOf } from './topics.ts'

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
  intake: Intake
  scheduler: Scheduler
  /** All connections of the process; the server's own are counted among them. */
  sockets: Connections
  host: string
  port: number
  tls?: { port: number } & TlsFiles
  connectionsPerSecond: number
  onError: (error: unknown, doing: string) => void
}

/** Accepts a stream, or what `secure` makes of it. */
type Accept = (
  ...accepted: [...Parameters<MqttServer['accept']>, secure?: (stream: Duplex) => Duplex]
) => void

export async function openMqttServer(options: MqttServerOptions): Promise<MqttServer> {
  const { db, log, tokens, watcher, profiles, metrics, lastSeen, intake, scheduler, onError } = options
  keepNoNumbers()
  const sessions = new Sessions()
  const shared = { log, scheduler, profiles, metrics, lastSeen, intake, onError }
  const services: ConnectionServices = { ...shared, sessions, tenants: createTenants() }
  const connections = new Map<Client, Connection>()
  const throttle = createConnectionThrottle({ perSecond: options.connectionsPerSecond })
  const readPublisher = createCredentials({ db, tokens, profiles })
  const admission = createAdmission({ sessions, watcher, profiles, readPublisher })
  const stopEnding = endSessionsOfDeleted({ db, sessions, onError })
  /** The connections that have been asked to end. */
  const ending = new Set<Connection>()
  let closing = false

  const broker = await openBroker(sessions, connections, admission)

  const accept: Accept = (stream, address, onKnown, secure) => {
    if (closing) return void stream.destroy()
    throttle.enter(stream, networkOf(address ?? ''), answered => {
      // It may have closed while it waited.
      if (stream.destroyed) return
      const client = broker.handle(secure ? secure(stream) : stream)
      const connection = new Connection(client, services)
      connections.set(client, connection)
      admission.enter(connection)
      if (closing) end(connection)
      else if (log.full) connection.pause()
      client.once('connected', () => {
        answered()
        onKnown()
        if (connection.session) sessions.resume(connection.session)
      })
      client.conn.once('close', () => {
        admission.leave(connection)
        connections.delete(client)
        ending.delete(connection)
        watcher.forget(connection)
        if (connection.session) sessions.leave(connection.session, connection.socket)
      })
    })
  }

  function end(connection: Connection): void {
    ending.add(connection)
    connection.pause()
  }

  const stopListening = log.onFull(full => holdBack(full, connections, ending))
  const polls = setInterval(() => poll(connections, sessions), POLL_EVERY_MS)
  metrics.observe({ connecting: () => throttle.waiting, sessionsAway: () => sessions.away })

  const listeners = await openListeners(options, (socket, secure) => {
    if (options.sockets.enter(socket))
      accept(socket, socket.remoteAddress, () => options.sockets.work(socket), secure)
  })

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
        for (const { pending, client } of ending) if (pending === 0) client.close()
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
      for (const { client } of connections.values()) client.close()
      await closed
    },
  }
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
  sessions: Sessions,
  connections: ReadonlyMap<Client, Connection>,
  admission: Admission,
): Promise<Aedes> {
  return Aedes.createBroker({
    connectTimeout: CONNECT_TIMEOUT_MS,
    // aedes would apply MQTT 3.1's limit of 23 characters, but OwnTracks sends longer ones. Fieldline's limit: `limits.ts`.
    maxClientsIdLength: 65_535,
    persistence: createPersistence(clientId => sessions.isResumed(clientId)),
    mq: NO_DELIVERY,
    authenticate: (client, username, password, done) =>
      admission.authenticate(client, username, password?.toString('utf8'), () => done(null, true)),
    authorizeSubscribe(client, subscription, done) {
      const { publisher, session } = connections.get(client) ?? {}
      // Other clients' topics, `$SYS/…` and `$share/…` do not begin like this. [MQTT-3.8.4-5]: SUBACK 0x80.
      const granted =
        publisher &&
        publisher.kind !== 'connection' &&
        session &&
        subscription.topic.startsWith(topicsOf(publisher)) &&
        sessions.subscribe(session, subscription.topic, subscription.qos)
      done(null, granted ? subscription : null)
    },
  })
}

/** Listens on TCP and, if configured, TLS. `secure` makes the socket of a connection over TLS. */
async function openListeners(
  { host, port, tls, onError }: MqttServerOptions,
  accept: (socket: Socket, secure?: () => Duplex) => void,
): Promise<Listener> {
  const secured = tls && openTls(tls, onError)
  const listener = await listen({ host, port, onError, onSocket: socket => accept(socket) })
  const other =
    tls &&
    secured &&
    (await listen({
      host,
      port: tls.port,
      onError,
      onSocket: socket => accept(socket, () => secured.secure(socket)),
    }))
  return {
    port: listener.port,
    async close() {
      secured?.close()
      await Promise.all([listener.close(), other?.close()])
    },
  }
}
