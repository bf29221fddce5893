import type { Duplex } from 'node:stream'
import { Aedes, type Client } from 'aedes'
import { writeToStream } from 'mqtt-packet'
import type { Database } from '../../db/client.ts'
import type { Log } from '../../stream/log.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { Tokens } from '../identity/tokens.ts'
import type { LastSeen } from '../last-seen.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Turns } from '../turns.ts'
import { Gate, type Hooks } from './connection.ts'
import { createCredentials } from './credentials.ts'
import { CONNECT_TIMEOUT_MS, MAX_CONNECTIONS_PER_CREDENTIAL, MAX_LEFT_BYTES } from './limits.ts'
import { listen, openTls, type TlsFiles } from './listeners.ts'
import { createMessages } from './messages.ts'
import { Breach, NOT_AUTHORIZED, SERVER_UNAVAILABLE } from './protocol.ts'
import { createSessions } from './sessions.ts'
import { createTenants } from './tenants.ts'
import { createWaitingRoom, networkOf } from './throttle.ts'
import { formatOf, topicsOf } from './topics.ts'

/**
 * The MQTT door. A connection waits for its turn, is authenticated once, and is closed when its credential ends.
 * Whoever is connected publishes to its own topics alone, through its gate; aedes' part is connections, keepalives,
 * subscriptions and wills.
 */
export interface MqttDoor {
  readonly port: number
  readonly connections: number
  /** Takes a connection that speaks MQTT. `address` is the peer's. */
  accept(stream: Duplex, address: string | undefined): void
  /** Takes no more connections, waits for what was read to be acknowledged, and closes. */
  close(): Promise<void>
}

const DRAIN_MS = 5_000
const LOOK_EVERY_MS = 500

export async function openMqttDoor(options: {
  db: Database
  log: Log
  tokens: Tokens
  metrics: IngestMetrics
  lastSeen: Pick<LastSeen, 'see'>
  turns: Turns
  host: string
  port: number
  tls?: { port: number } & TlsFiles
  connectionsPerSecond: number
  onError: (error: unknown, doing: string) => void
}): Promise<MqttDoor> {
  const { db, log, tokens, metrics, turns } = options
  // 65,536 buffers, 12 MB, for numbers that are written here and there.
  writeToStream.cacheNumbers = false
  const gates = new Map<Client, Gate>()
  /** Those that are being authenticated; some have gone meanwhile. */
  const unknown = new Map<Client, Gate>()
  const left = new Map<Client, number>()
  let leftBytes = 0
  const sessions = createSessions()
  const messages = createMessages({ log, metrics, sessions, turns })
  const room = createWaitingRoom({ perSecond: options.connectionsPerSecond })
  const credentials = createCredentials({
    db,
    tokens,
    sessions,
    gates: () => gates.values(),
    onError: options.onError,
  })
  let holding = false
  let closing = false

  const broker = await Aedes.createBroker({
    connectTimeout: CONNECT_TIMEOUT_MS,
    // MQTT 3.1 limits identifiers to 23 characters, and OwnTracks sends longer ones in it. Ours: `limits.ts`.
    maxClientsIdLength: 65_535,
    persistence: sessions.persistence,
    mq: NOBODY_LISTENS,
    authenticate(client, username, password, done) {
      const gate = unknown.get(client)
      if (!gate) return
      credentials
        .check(username, password?.toString('utf8'))
        .then(
          publisher => {
            if (!publisher)
              return gate.refuse(new Breach('credentials', 'a wrong user name or password', NOT_AUTHORIZED))
            const refusal = objectionTo(client, publisher)
            if (refusal) return gate.refuse(refusal)
            if (client.closed) return gate.takeLeft(publisher)
            admit(gate, publisher)
            done(null, true)
          },
          error => gate.refuse(new Breach('unavailable', 'authenticating', SERVER_UNAVAILABLE, error)),
        )
        .finally(() => forget(client))
    },
    // Only wills come here: the gate takes every PUBLISH. The error keeps the broker from delivering it.
    authorizePublish(client, packet, done) {
      const publisher = client && gates.get(client)?.publisher
      if (publisher)
        messages.takeWill(publisher, { topic: packet.topic, payload: Buffer.from(packet.payload) })
      done(new Error('Points are not delivered to subscribers'))
    },
    authorizeSubscribe(client, subscription, done) {
      const { publisher, session } = gates.get(client) ?? {}
      // A foreign topic, `$SYS/…` and `$share/…` begin otherwise. [MQTT-3.8.4-5]: SUBACK 0x80.
      const granted =
        publisher &&
        session &&
        subscription.topic.startsWith(topicsOf(publisher)) &&
        sessions.subscribe(session, subscription.topic, subscription.qos)
      done(null, granted ? subscription : null)
    },
  })

  /** Why a client that has proved to be `publisher` is not let in, or null. */
  function objectionTo(client: Client, publisher: Publisher): Breach | null {
    const { _will: will } = client as unknown as { _will?: { topic: string } }
    return will && !formatOf(will.topic, publisher)
      ? new Breach('topic', 'a will on a topic that is not its own', NOT_AUTHORIZED)
      : null
  }

  function admit(gate: Gate, publisher: Publisher): void {
    const { client } = gate
    // The same identifier from another credential is another client: none can keep another's out.
    client.id = `${publisher.id}/${client.id}`
    // [MQTT-3.1.4-2]: whoever has this identifier makes room. Here, because aedes forgets connections now and then.
    for (const other of sessions.connectionsOf(publisher.id)) {
      if (other.client.id === client.id) other.client.close()
    }
    const [oldest, ...others] = sessions.connectionsOf(publisher.id)
    if (others.length + 1 >= MAX_CONNECTIONS_PER_CREDENTIAL) oldest?.client.close()
    gate.admit(publisher, sessions.open(gate, publisher))
  }

  const hooks: Hooks = {
    log,
    turns,
    tenants: createTenants(),
    read: ({ publisher }, packet) => publisher && messages.read(publisher, packet),
    onAcknowledged: ({ publisher }, group, outcomes) => messages.acknowledged(publisher, group, outcomes),
    onHeld: change => metrics.held('mqtt', change),
    onFull: hold,
    onUnsubscribe({ session }, filters) {
      for (const filter of filters) session?.filters.delete(filter)
    },
    onPuback({ session }, id) {
      if (session) sessions.acknowledge(session, id)
    },
    onHeard: options.lastSeen.see,
    onRefused(error) {
      // The parser's own errors are of the protocol as well.
      metrics.refused(error instanceof Breach ? error.kind : 'protocol')
      if (error.cause !== undefined) options.onError(error.cause, `MQTT: ${error.message}`)
    },
  }

  function accept(stream: Duplex, address: string | undefined, secure?: (stream: Duplex) => Duplex): void {
    if (closing) return void stream.destroy()
    room.enter(stream, networkOf(address), answered => {
      // It may have gone while it waited.
      if (stream.destroyed) return
      const client = broker.handle(secure ? secure(stream) : stream)
      const gate = new Gate(client, hooks)
      gates.set(client, gate)
      unknown.set(client, gate)
      if (holding) gate.hold()
      client.once('connected', () => {
        answered()
        if (gate.session) sessions.resume(gate.session)
      })
      client.conn.once('close', () => {
        if (unknown.has(client)) leave(gate)
        // A will is read after the connection has closed, so its publisher is remembered a little longer.
        setImmediate(() => {
          gates.delete(client)
          if (gate.session) sessions.leave(gate.session, gate)
        })
      })
    })
  }

  /** A client that is not yet known has closed the socket: what it sent waits, while there is room for it. */
  function leave(gate: Gate): void {
    const { client, isGreeted, unparsedBytes: bytes } = gate
    if (!isGreeted || bytes === 0 || leftBytes + bytes > MAX_LEFT_BYTES) {
      unknown.delete(client)
      return
    }
    left.set(client, bytes)
    leftBytes += bytes
  }

  function forget(client: Client): void {
    unknown.delete(client)
    leftBytes -= left.get(client) ?? 0
    left.delete(client)
  }

  function hold(): void {
    if (holding) return
    holding = true
    for (const gate of gates.values()) gate.hold()
  }

  const stopRelief = log.onRelief(() => {
    if (closing) return
    holding = false
    for (const gate of gates.values()) gate.release()
  })
  const looks = setInterval(() => {
    const now = Date.now()
    for (const gate of gates.values()) {
      if (gate.pending > 0 || holding) gate.refreshKeepalive()
    }
    credentials.closeExpired(now)
    sessions.expire(now)
  }, LOOK_EVERY_MS)
  metrics.observe({ waiting: () => room.waiting, sessionsAway: () => sessions.away })

  const tls = options.tls && openTls(options.tls, options.onError)
  const { host, onError } = options
  const listener = await listen({
    host,
    port: options.port,
    onError,
    onSocket: socket => accept(socket, socket.remoteAddress),
  })
  const secured =
    options.tls &&
    (await listen({
      host,
      port: options.tls.port,
      onError,
      onSocket: socket =>
        accept(socket, socket.remoteAddress, () => (tls as NonNullable<typeof tls>).secure(socket)),
    }))

  return {
    port: listener.port,
    get connections() {
      return gates.size
    },
    accept: (stream, address) => accept(stream, address),
    async close() {
      closing = true
      credentials.close()
      stopRelief()
      room.close()
      tls?.close()
      const closed = [listener.close(), secured?.close()]
      hold()
      const deadline = Date.now() + DRAIN_MS
      while ([...gates.values()].some(gate => gate.pending > 0) && Date.now() < deadline) {
        await new Promise(resolve => setTimeout(resolve, 10))
      }
      clearInterval(looks)
      await new Promise<void>(resolve => broker.close(resolve))
      for (const { client } of gates.values()) client.close()
      await Promise.all(closed)
    },
  }
}

/** aedes' own way of delivering, which nothing takes: `sessions.ts` sends what is sent. */
const NOBODY_LISTENS = {
  on: (_topic: string, _notify: unknown, done?: () => void) => void (done && setImmediate(done)),
  removeListener: (_topic: string, _notify: unknown, done?: () => void) => void (done && setImmediate(done)),
  emit: (_packet: unknown, done?: () => void) => void (done && setImmediate(done)),
  close: (done: () => void) => void setImmediate(done),
}
