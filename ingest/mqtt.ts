import { createServer, type Socket } from 'node:net'
import { Aedes, type AuthenticateError, type Client } from 'aedes'
import type { Database } from '../db/client.ts'
import { listDeviceKeys } from '../db/queries/devices.ts'
import { listLivingSessions } from '../db/queries/sessions.ts'
import type { Log } from '../stream/log.ts'
import type { Entry, Outcomes } from '../stream/point.ts'
import { authenticateDevice, authenticateToken, type Publisher } from './authenticate.ts'
import { readNativeMessage, readOwnTracksMessage } from './entries.ts'
import { type Gate, installGate, type PublishPacket, refreshKeepalive } from './gate.ts'
import type { IngestMetrics } from './metrics.ts'
import type { Tokens } from './tokens.ts'

/**
 * The MQTT door. A connection is authenticated once, and closed when its credential ends. Whoever is connected
 * publishes to its own topics alone, through the gate; the broker's own part is connections, and the topics on
 * which a device hears about its rejections.
 */
export interface MqttDoor {
  readonly port: number
  readonly connections: number
  /** Takes no more connections, waits for what was read to be acknowledged, and closes. */
  close(): Promise<void>
}

/** Why a CONNECT is refused: the return codes of MQTT 3.1.1, table 3.1. */
const IDENTIFIER_REJECTED = 2
const SERVER_UNAVAILABLE = 3
const NOT_AUTHORIZED = 5

const DRAIN_MS = 5_000
const KEEPALIVE_REFRESH_MS = 500

interface Connection {
  publisher: Publisher
  gate: Gate
  client: Client
}

export async function openMqttDoor(options: {
  db: Database
  log: Log
  tokens: Tokens
  metrics: IngestMetrics
  host: string
  port: number
  onError: (error: unknown, doing: string) => void
}): Promise<MqttDoor> {
  const { db, log, tokens, metrics } = options
  const connections = new Map<Client, Connection>()
  const gates = new Map<Client, Gate>()
  /** Who uses a client identifier. */
  const owners = new Map<string, Connection>()

  const broker = await Aedes.createBroker({
    // MQTT 3.1 limits identifiers to 23 characters, and OwnTracks sends longer ones in it.
    maxClientsIdLength: 65_535,
    authenticate(client, username, password, done) {
      authenticate(username, password?.toString('utf8')).then(
        publisher => {
          if (!publisher) return done(refusal(NOT_AUTHORIZED, 'Bad credentials'), false)
          if (isForeign(client.id, publisher))
            return done(refusal(IDENTIFIER_REJECTED, 'Identifier in use'), false)
          const will = (client as unknown as { _will?: { topic: string } })._will
          if (will && !formatOf(will.topic, publisher)) {
            return done(refusal(NOT_AUTHORIZED, 'A will on a topic that is not its own'), false)
          }
          const gate = gates.get(client)
          if (gate) {
            const connection = { publisher, gate, client }
            connections.set(client, connection)
            owners.set(client.id, connection)
          }
          done(null, true)
        },
        error => {
          options.onError(error, 'authenticating an MQTT connection')
          done(refusal(SERVER_UNAVAILABLE, 'Server unavailable'), false)
        },
      )
    },
    // Only wills come here: the gate takes every PUBLISH. The error keeps the broker from delivering it.
    authorizePublish(client, packet, done) {
      const connection = client && connections.get(client)
      const will = { topic: packet.topic, payload: Buffer.from(packet.payload), qos: packet.qos }
      const entries = connection && readMessage(connection.publisher, will)
      if (connection && entries?.length) {
        log.append(entries, { ended: false, subjects: [connection.publisher] }).catch(() => {})
      }
      done(new Error('Points are not delivered to subscribers'))
    },
    authorizeSubscribe(client, subscription, done) {
      const publisher = client && connections.get(client)?.publisher
      const own = publisher && `${publisher.kind}s/${publisher.id}/`
      done(null, own && subscription.topic.startsWith(own) ? subscription : null)
    },
  })

  async function authenticate(
    username: string | undefined,
    password: string | undefined,
  ): Promise<Publisher | null> {
    if (username === undefined || password === undefined) return null
    if (username !== 'token') return authenticateDevice(db, username, password)
    const caller = await authenticateToken(db, tokens, password)
    return (
      caller && {
        kind: 'user',
        id: caller.userId,
        organizationId: caller.organizationId,
        subject: caller.subject,
        sessionId: caller.sessionId,
        expiresAt: caller.expiresAt,
      }
    )
  }

  /** A client identifier belongs to the credential that uses it: another one cannot take the connection over. */
  function isForeign(clientId: string, publisher: Publisher): boolean {
    const owner = owners.get(clientId)
    return owner !== undefined && owner.publisher.id !== publisher.id
  }

  function readMessage(publisher: Publisher, packet: PublishPacket): Entry[] | null {
    const format = formatOf(packet.topic, publisher)
    if (!format) return null
    const arrival = { subject: publisher.subject, receivedAt: Date.now(), topic: packet.topic }
    const entries =
      format === 'native'
        ? readNativeMessage(packet.payload, arrival)
        : readOwnTracksMessage(packet.payload, arrival)
    metrics.received('mqtt', entries)
    return entries
  }

  function publishRejections(publisher: Publisher, entries: readonly Entry[], outcomes: Outcomes): void {
    const topic = `${publisher.kind}s/${publisher.id}/rejections`
    entries.forEach((entry, place) => {
      const outcome = outcomes.get(entry)
      const rejection =
        entry.kind === 'rejection' ? entry : outcome?.kind === 'rejected' ? outcome : undefined
      if (!rejection) return
      const index = 'index' in rejection ? rejection.index : entries.length > 1 ? place : null
      const { reason, message } = rejection
      const receivedAt = new Date(entry.receivedAt).toISOString()
      const payload = Buffer.from(JSON.stringify({ reason, message, index, receivedAt }))
      broker.publish({ cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false }, () => {})
    })
  }

  function accept(stream: Socket): void {
    const client = broker.handle(stream, undefined as never)
    const publisher = () => connections.get(client)?.publisher
    const gate = installGate(client, {
      log,
      publisher,
      read: packet => {
        const from = publisher()
        return from ? readMessage(from, packet) : null
      },
      onRejected: (entries, outcomes) => {
        const from = publisher()
        if (from) publishRejections(from, entries, outcomes)
      },
      onAcknowledged: (entries, receivedAt) =>
        metrics.acknowledged('mqtt', entries, (performance.now() - receivedAt) / 1000),
      onFull: holdAll,
    })
    gates.set(client, gate)
    if (log.full) gate.hold()
    stream.once('close', () => {
      gates.delete(client)
      // The will is read after the connection has closed, so the connection is remembered a little longer.
      setImmediate(() => {
        if (owners.get(client.id)?.client === client) owners.delete(client.id)
        connections.delete(client)
      })
    })
  }

  function holdAll(): void {
    for (const gate of gates.values()) gate.hold()
  }

  const stopRelief = log.onRelief(() => {
    for (const gate of gates.values()) gate.release()
  })
  const keepalive = setInterval(() => {
    for (const { client, gate } of connections.values())
      if (gate.pending > 0 || log.full) refreshKeepalive(client)
    const now = Date.now()
    for (const { client, publisher } of connections.values()) {
      if (publisher.kind === 'user' && publisher.expiresAt <= now) client.close()
    }
  }, KEEPALIVE_REFRESH_MS)

  const closeWhere = (test: (publisher: Publisher) => boolean) => {
    for (const { client, publisher } of [...connections.values()]) if (test(publisher)) client.close()
  }
  const stopListening = db.onChange(event => {
    if (event.kind === 'device') closeWhere(({ id }) => id === event.deviceId)
    else if (event.kind === 'session') closeWhere(p => p.kind === 'user' && p.sessionId === event.sessionId)
    else if (event.kind === 'user') closeWhere(({ id }) => id === event.userId)
    else if (event.kind === 'resync')
      checkCredentials().catch(error => options.onError(error, 'checking credentials'))
  })

  /** After a gap in the notifications, every open connection is checked again. */
  async function checkCredentials(): Promise<void> {
    const publishers = [...connections.values()].map(connection => connection.publisher)
    const devices = publishers.filter(publisher => publisher.kind === 'device')
    const users = publishers.filter(publisher => publisher.kind === 'user')
    const keys = await listDeviceKeys(
      db.autocommit,
      devices.map(device => device.id),
    )
    const living = await listLivingSessions(
      db.autocommit,
      users.map(user => user.sessionId),
    )
    closeWhere(publisher =>
      publisher.kind === 'device'
        ? !keys.get(publisher.id)?.equals(publisher.keyHash)
        : !living.has(publisher.sessionId),
    )
  }

  const server = createServer({ noDelay: true, keepAlive: true }, accept)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  server.on('error', error => options.onError(error, 'MQTT listener'))

  return {
    get port() {
      return (server.address() as { port: number }).port
    },
    get connections() {
      return connections.size
    },
    async close() {
      stopListening()
      stopRelief()
      clearInterval(keepalive)
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      holdAll()
      const deadline = Date.now() + DRAIN_MS
      while ([...gates.values()].some(gate => gate.pending > 0) && Date.now() < deadline) {
        await new Promise(resolve => setTimeout(resolve, 10))
      }
      await new Promise<void>(resolve => broker.close(resolve))
      for (const client of gates.keys()) client.conn.destroy()
      await closed
    },
  }
}

type Format = 'native' | 'owntracks'

/** Which format a topic carries, or null where this publisher may not publish there. */
function formatOf(topic: string, publisher: Publisher): Format | null {
  if (topic === `${publisher.kind}s/${publisher.id}/location`) return 'native'
  if (publisher.kind !== 'device') return null
  return /^owntracks\/[^/]+\/[^/]+(\/[^/]+)?$/.test(topic) ? 'owntracks' : null
}

function refusal(returnCode: number, message: string): AuthenticateError {
  return Object.assign(new Error(message), { returnCode }) as AuthenticateError
}
