import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Aedes, type Client } from 'aedes'
import type { Database } from '../../db/client.ts'
import { networkOf } from '../../fair/network.ts'
import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log } from '../../stream/log.ts'
import { type TrackerConnection, takesTopic } from '../connections/connection.ts'
import type { Intake } from '../connections/intake.ts'
import type { Connections } from '../connections.ts'
import type { Draining } from '../drain.ts'
import { formatOf } from '../formats/table.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { Tokens } from '../identity/tokens.ts'
import type { Watcher } from '../identity/watcher.ts'
import type { LastSeen } from '../last-seen.ts'
import type { IngestMetrics } from '../metrics.ts'
import { type Profiles, readerOf, type UsedProfile } from '../profiles/profiles.ts'
import { createPersistence, keepNoNumbers, NO_DELIVERY } from './aedes.ts'
import { Connection, type ConnectionServices } from './connection.ts'
import { createCredentials, endSessionsOfDeleted } from './credentials.ts'
import { CONNECT_TIMEOUT_MS, MAX_CONNECTIONS_PER_CREDENTIAL, MAX_LEFT_BYTES } from './limits.ts'
import { listen, openTls, type TlsFiles } from './listeners.ts'
import { NOT_AUTHORIZED, ProtocolError, SERVER_UNAVAILABLE } from './protocol.ts'
import { createSessions } from './sessions.ts'
import { createTenants } from './tenants.ts'
import { createConnectionThrottle } from './throttle.ts'
import { topicsOf } from './topics.ts'

/**
 * The MQTT server. A connection waits for its turn, is authenticated once, and is closed when its credential ends.
 * A client publishes only to its own topics, through its connection. aedes handles sockets, keepalives and
 * subscriptions.
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

export async function openMqttServer(options: {
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
}): Promise<MqttServer> {
  const { db, log, tokens, watcher, profiles, metrics, lastSeen, intake, scheduler, sockets, host, onError } =
    options
  keepNoNumbers()
  const sessions = createSessions()
  const services: ConnectionServices = {
    log,
    scheduler,
    tenants: createTenants(),
    sessions,
    profiles,
    metrics,
    lastSeen,
    intake,
    onError,
  }
  const connections = new Map<Client, Connection>()
  /** Clients that are being authenticated, and the bytes left by those that have disconnected meanwhile. */
  const unauthenticated = new Map<Client, { connection: Connection; leftBytes: number }>()
  let leftBytes = 0
  const throttle = createConnectionThrottle({ perSecond: options.connectionsPerSecond })
  const readPublisher = createCredentials({ db, tokens, profiles })
  const stopEnding = endSessionsOfDeleted({ db, sessions, onError })
  /** The connections that have been asked to end. */
  const ending = new Set<Connection>()
  let closing = false

  const broker = await Aedes.createBroker({
    connectTimeout: CONNECT_TIMEOUT_MS,
    // aedes would apply MQTT 3.1's limit of 23 characters, but OwnTracks sends longer ones. Fieldline's limit: `limits.ts`.
    maxClientsIdLength: 65_535,
    persistence: createPersistence(sessions.isResumed),
    mq: NO_DELIVERY,
    authenticate(client, username, password, done) {
      const connection = unauthenticated.get(client)?.connection
      if (!connection) return
      let profile: UsedProfile | null = null
      watcher
        .read(async () => {
          const publisher = await readPublisher(username, password?.toString('utf8'), client.conn)
          const profileId = publisher?.kind === 'device' ? publisher.profileId : null
          profile = profileId === null ? null : await profiles.use(profileId)
          return publisher
        })
        .then(
          publisher => {
            // The client has disconnected, and left nothing, or too much.
            if (!unauthenticated.has(client)) return
            const error = findRefusal(connection, publisher, profile)
            if (error) connection.socket.closeFor(error)
            else if (client.closed) connection.admitLeft(publisher as Sender, profile)
            else {
              admit(connection, publisher as Sender, profile)
              done(null, true)
            }
          },
          error =>
            connection.socket.closeFor(
              new ProtocolError('unavailable', 'authenticating', SERVER_UNAVAILABLE, error),
            ),
        )
        .finally(() => forget(client))
    },
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

  function admit(connection: Connection, publisher: Sender, profile: UsedProfile | null): void {
    const { client, socket } = connection
    // The identifier is private to its credential, so no client can disconnect one of another credential.
    client.id = `${publisher.id}/${client.id}`
    // [MQTT-3.1.4-2]: an older connection with this identifier is closed. Done here, because aedes sometimes forgets
    // connections.
    for (const other of sessions.socketsOf(publisher.id)) {
      if (other.client.id === client.id) other.client.close()
    }
    const [oldest, ...others] = sessions.socketsOf(publisher.id)
    if (others.length + 1 >= MAX_CONNECTIONS_PER_CREDENTIAL) oldest?.client.close()
    connection.admit(publisher, sessions.open(socket, publisher), profile)
    watcher.watch(connection, publisher)
  }

  function accept(
    stream: Duplex,
    address: string | undefined,
    onKnown: () => void,
    secure?: (stream: Duplex) => Duplex,
  ): void {
    if (closing) return void stream.destroy()
    throttle.enter(stream, networkOf(address ?? ''), answered => {
      // It may have closed while it waited.
      if (stream.destroyed) return
      const client = broker.handle(secure ? secure(stream) : stream)
      const connection = new Connection(client, services)
      connections.set(client, connection)
      unauthenticated.set(client, { connection, leftBytes: 0 })
      if (closing) end(connection)
      else if (log.full) connection.pause()
      client.once('connected', () => {
        answered()
        onKnown()
        if (connection.session) sessions.resume(connection.session)
      })
      client.conn.once('close', () => {
        leave(connection)
        connections.delete(client)
        ending.delete(connection)
        watcher.forget(connection)
        if (connection.session) sessions.leave(connection.session, connection.socket)
      })
    })
  }

  /** Handles an unauthenticated client that has closed the socket: its input waits, if there is room. */
  function leave(connection: Connection): void {
    const { client, hasConnect, leftBytes: bytes } = connection
    const pending = unauthenticated.get(client)
    if (!pending) return
    if (!hasConnect || bytes === 0 || leftBytes + bytes > MAX_LEFT_BYTES) {
      unauthenticated.delete(client)
      connection.drop()
      return
    }
    pending.leftBytes = bytes
    leftBytes += bytes
  }

  function forget(client: Client): void {
    leftBytes -= unauthenticated.get(client)?.leftBytes ?? 0
    unauthenticated.delete(client)
  }

  function end(connection: Connection): void {
    ending.add(connection)
    connection.pause()
  }

  const stopListening = log.onFull(full => {
    for (const connection of connections.values()) {
      if (full) connection.pause()
      else if (!ending.has(connection)) connection.resume()
    }
  })
  const polls = setInterval(() => {
    for (const connection of connections.values()) {
      if (connection.isWaiting) connection.refreshKeepalive()
    }
    sessions.expire(performance.now())
  }, POLL_EVERY_MS)
  metrics.observe({ connecting: () => throttle.waiting, sessionsAway: () => sessions.away })

  const { port } = options
  const tls = options.tls && openTls(options.tls, onError)
  const acceptSocket = (socket: Socket, secure?: () => Duplex) => {
    if (sockets.enter(socket)) accept(socket, socket.remoteAddress, () => sockets.work(socket), secure)
  }
  const listener = await listen({ host, port, onError, onSocket: socket => acceptSocket(socket) })
  const secured =
    options.tls &&
    (await listen({
      host,
      port: options.tls.port,
      onError,
      onSocket: socket => acceptSocket(socket, () => (tls as NonNullable<typeof tls>).secure(socket)),
    }))

  let closed: Promise<unknown> | undefined
  function stopAccepting(): void {
    closing = true
    stopEnding()
    throttle.close()
    tls?.close()
    closed ??= Promise.all([listener.close(), secured?.close()])
  }

  return {
    port: listener.port,
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
      const deadline = performance.now() + ACKNOWLEDGED_WITHIN_MS
      while ([...connections.values()].some(({ pending }) => pending > 0) && performance.now() < deadline) {
        await new Promise(resolve => setTimeout(resolve, 10))
      }
      clearInterval(polls)
      await new Promise<void>(resolve => broker.close(resolve))
      for (const { client } of connections.values()) client.close()
      await closed
    },
  }
}

type Sender = Publisher | TrackerConnection

const isAllowed = (topic: string, sender: Sender, profile: UsedProfile | null): boolean =>
  sender.kind === 'connection'
    ? takesTopic(sender, topic)
    : formatOf(topic, sender) !== null || readerOf(profile, topic) !== null

/** Why an authenticated client is not accepted, or null. */
function findRefusal(
  { willTopic }: Connection,
  publisher: Sender | null,
  profile: UsedProfile | null,
): ProtocolError | null {
  if (!publisher) return new ProtocolError('credentials', 'a wrong user name or password', NOT_AUTHORIZED)
  return willTopic !== undefined && !isAllowed(willTopic, publisher, profile)
    ? new ProtocolError('topic', 'a will on a topic that is not its own', NOT_AUTHORIZED)
    : null
}
