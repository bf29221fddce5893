import type { Client } from 'aedes'
import { UntrustedClockError } from '../../db/clock.ts'
import type { TraceKind } from '../../db/queries/device-traces.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log } from '../../stream/log.ts'
import type { TrackerConnection } from '../connections/connection.ts'
import type { Intake } from '../connections/intake.ts'
import { isKey, maySend, type Publisher } from '../identity/authenticate.ts'
import type { Watched, Watcher } from '../identity/watcher.ts'
import type { LastSeen } from '../last-seen.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Profiles, UsedProfile } from '../profiles/profiles.ts'
import type { Traces } from '../traces.ts'
import { PacketParser, pauseReading, refreshKeepalive, resumeReading } from './aedes.ts'
import { TopicAliases } from './aliases.ts'
import { Appending } from './appending.ts'
import type { Commands } from './commands.ts'
import type { ForDevices } from './for-devices.ts'
import { Input } from './input.ts'
import { LEFT_MS, RECEIVE_MAXIMUM, TURN_MS } from './limits.ts'
import { type Sender, takeMessage } from './messages.ts'
import { type Packet, ProtocolError } from './protocol.ts'
import type { Publish } from './publishes.ts'
import { REASON } from './reasons.ts'
import type { Session, Sessions } from './sessions.ts'
import { ClientSocket } from './socket.ts'
import type { Tenants } from './tenants.ts'
import { releaseUnknown, USUAL_TERMS } from './terms.ts'
import { isWithinLimits, topicsOf } from './topics.ts'
import { answerVersion5, keepSession } from './version5.ts'
import { publishWill, takeOut, type Will } from './will.ts'

/**
 * One connection, where a publish leaves the broker and becomes points: it is read, decoded and validated, appended
 * to the log, and acknowledged (PUBACK for QoS 1, PUBREC for QoS 2) when it is durable.
 *
 * The connection wraps aedes' parser. Before the parser, the usual publishes of trackers are read straight from the
 * chunk (`publishes.ts`). After it, packets that break a rule of MQTT (`protocol.ts`) go no further, and neither does a
 * PUBLISH. The connection also handles PUBREL, PUBREC and PUBCOMP, the PUBACK of messages from `sessions.ts`, PINGREQ,
 * and the will. All other packets go on to aedes unchanged; CONNECT, SUBSCRIBE and UNSUBSCRIBE of version 5, which aedes does
 * not speak, are answered here as well.
 *
 * This keeps three promises that aedes alone cannot keep: while the log is away, PINGREQ is still answered and the
 * keepalive timer does not run; the acknowledgements of one batch leave in one write (three times the rate of single
 * writes); and ingested points are never delivered to subscribers.
 *
 * Chunks are handled a little at a time, so that none blocks the event loop: the rest waits here, and the socket is not
 * read meanwhile. Packets that follow a CONNECT wait until it is accepted. They count even if the client has closed the
 * socket by then, because trackers send and hang up.
 *
 * Points are identified by their content, so QoS 2 needs no store of packet identifiers.
 */
export interface ConnectionServices {
  log: Log
  scheduler: Scheduler
  tenants: Tenants
  watcher: Watcher
  sessions: Sessions
  commands: Commands
  profiles: Profiles
  metrics: IngestMetrics
  lastSeen: Pick<LastSeen, 'see'>
  traces: Pick<Traces, 'note'>
  intake: Intake
  forDevices: ForDevices
  onError: (error: unknown, doing: string) => void
}

const PINGRESP = Buffer.from([0xd0, 0])

export class Connection implements Watched {
  readonly client: Client
  /** The peer's, without a port. */
  readonly address: string | undefined
  readonly socket: ClientSocket
  /** The sender, once the CONNECT is accepted; null again when its credential has ended. */
  publisher: Publisher | TrackerConnection | null = null
  session: Session | null = null
  /** The profile of its device, by which it may publish to further topics. */
  #profile: UsedProfile | null = null
  readonly #services: ConnectionServices
  readonly #parser: PacketParser
  readonly #input: Input
  readonly #appending: Appending
  /** The topic of its points, set when it first publishes. */
  #topic = ''
  #waitsForTurn = false
  #waitsForRoom = false
  /** The number of PINGREQs in this turn. */
  #pings = 0
  #will: Will | undefined
  #aliases: TopicAliases | undefined
  /** The CONNECT has been passed on. */
  #hasConnect = false
  #hasDisconnect = false
  #hasEnded = false
  #isPaused = false
  #isUnread = false

  constructor(client: Client, address: string | undefined, services: ConnectionServices) {
    this.client = client
    this.address = address
    this.socket = new ClientSocket(client, services)
    this.#services = services
    this.#parser = new PacketParser(client, chunk => this.#read(chunk))
    this.#input = new Input(this.#parser)
    this.#appending = new Appending(this.socket, services)
    // [MQTT-3.1.4-5]: packets that came with the CONNECT count now that it is accepted.
    client.once('connected', () => this.#updateReading())
    client.conn.once('close', () => this.#end())
  }

  /** The number of messages that wait for the log. */
  get pending(): number {
    return this.#appending.pending
  }

  /** Whether its CONNECT has arrived. */
  get hasConnect(): boolean {
    return this.#hasConnect
  }

  /** Whether the client waits for the server: for acknowledgements, or for its bytes to be read. */
  get isWaiting(): boolean {
    return this.pending > 0 || this.#isUnread
  }

  get willTopic(): string | undefined {
    return this.#will?.topic
  }

  /** The bytes that a disconnected client has left: unread input and its will. */
  get leftBytes(): number {
    return this.#input.length + (this.#will?.payload.length ?? 0)
  }

  /** Accepts the authenticated client. */
  admit(publisher: Publisher | TrackerConnection, session: Session, profile: UsedProfile | null): void {
    this.session = session
    this.#open(publisher, profile)
  }

  /** Accepts a client that was authenticated after it had closed the socket: its earlier packets count. */
  admitLeft(publisher: Publisher | TrackerConnection, profile: UsedProfile | null): void {
    this.#open(publisher, profile)
    this.#updateReading()
  }

  /** Drops everything that a disconnected client has left; it will not be authenticated. */
  drop(): void {
    this.#input.drop()
    this.#will = undefined
  }

  #open(publisher: Publisher | TrackerConnection, profile: UsedProfile | null): void {
    this.publisher = publisher
    this.#profile = profile
    if (publisher.kind !== 'connection') this.#services.lastSeen.see(publisher, this.address)
    this.#appending.open(publisher, this.session?.resumed === true)
    this.#parser.forgetConnect(this.client.version)
  }

  /** Applies a change of its user's role. */
  follow(caller: Caller): boolean {
    return maySend(caller)
  }

  /** Applies another profile of its device. */
  followProfile(profileId: string | null): void {
    this.#profile = this.#services.profiles.replace(this.#profile, profileId)
  }

  /** Closes the connection because its credential has ended. Its will is dropped. */
  end(): void {
    this.publisher = null
    this.socket.leave(REASON.notAuthorized, 'The credential has ended.')
  }

  /** Stops reading; messages read before are still acknowledged, and a CONNECT is answered first. */
  pause(): void {
    this.#isPaused = true
    this.#updateReading()
  }

  resume(): void {
    this.#isPaused = false
    this.#updateReading()
  }

  /** Restarts the keepalive timer while messages wait for the server and not for the client. */
  refreshKeepalive(): void {
    refreshKeepalive(this.client)
  }

  /** Handles a new chunk. */
  #read(chunk: Buffer): void {
    const { publisher } = this
    if (publisher && publisher.kind !== 'connection') this.#services.lastSeen.see(publisher, this.address)
    this.#input.add(chunk)
    if (this.#mayAdvance && !this.#waitsForTurn && this.#services.scheduler.isFree) this.#advance()
    this.#updateReading()
  }

  /** Handles the input packet by packet for a moment. Returns whether more is ready. */
  #advance(): boolean {
    const until = performance.now() + TURN_MS
    let published = false
    this.#pings = 0
    try {
      do {
        const topic = this.#mayPublish ? this.#ownTopic : ''
        const publish = topic ? this.#input.nextPublish(topic, this.socket.terms !== null) : null
        if (publish) {
          published = true
          this.#publish(publish)
        } else {
          const packet = this.#input.nextPacket()
          if (packet) this.#handle(packet)
        }
      } while (this.#mayAdvance && performance.now() < until)
    } catch (error) {
      // No bytes of a client may end the process.
      const known = error instanceof ProtocolError
      const kind = error instanceof UntrustedClockError ? 'unavailable' : 'failure'
      if (known) this.#trace(error.kind === 'limit' ? 'too-large' : 'broken-rule', error.message)
      // An invalid CONNECT of version 5 is answered in its own way.
      if (this.#parser.version === 5) this.socket.terms ??= USUAL_TERMS
      this.socket.closeFor(known ? error : new ProtocolError(kind, 'reading a packet', { cause: error }))
    }
    // [MQTT-3.1.2-24]: any packet shows that the client is alive.
    if (published) this.refreshKeepalive()
    // All answers in one write: a separate write takes fifty bytes more until it is read.
    if (this.#pings > 0) this.socket.write(Buffer.alloc(PINGRESP.length * this.#pings, PINGRESP))
    if (this.socket.isClosing || this.#hasDisconnect) this.#input.drop()
    return this.#mayAdvance
  }

  /** Whether the input may be handled now. */
  get #mayAdvance(): boolean {
    // [MQTT-3.14.4-2]: packets after a DISCONNECT do not count.
    if (this.#input.length === 0 || this.socket.isClosing || this.#hasDisconnect) return false
    if (!this.#hasConnect) return true
    return this.#mayPublish && (!this.#isPaused || this.#hasEnded) && !this.#appending.over
  }

  /** Whether the client is connected, or authenticated and disconnected. */
  get #mayPublish(): boolean {
    return this.publisher !== null && (this.client.connected || this.#hasEnded)
  }

  /** Empty for a connection of trackers, which have none of ours, and for an API key, which has many. */
  get #ownTopic(): string {
    const { publisher } = this
    if (publisher && publisher.kind !== 'connection' && !isKey(publisher))
      this.#topic ||= `${topicsOf(publisher)}location`
    return this.#topic
  }

  #handle(packet: Packet): void {
    this.refreshKeepalive()
    const { messageId: id = 0 } = packet
    switch (packet.cmd) {
      case 'connect':
        this.#hasConnect = true
        this.#will = takeOut(packet)
        break
      case 'publish':
        this.#publish(this.#withTopic(packet))
        return
      case 'pubrel':
        this.#appending.release(id)
        return
      case 'puback':
        if (this.session) this.#services.commands.acknowledge(this.session, id)
        return
      case 'pubrec':
        this.socket.write(releaseUnknown(id, this.socket.terms, packet.reasonCode))
        return
      case 'pubcomp':
        return
      case 'pingreq':
        this.#pings++
        return
      case 'unsubscribe':
        if (this.session && !this.socket.terms)
          this.#services.commands.unsubscribe(this.session, packet.unsubscriptions)
        break
      case 'disconnect':
        if (this.session) keepSession(this.session, this.socket, packet)
        this.#hasDisconnect = true
        // [MQTT-3.14.4-3]; a client of version 5 may want it published all the same.
        if (!packet.reasonCode) this.#will = undefined
        break
    }
    const isAsking = packet.cmd === 'connect'
    if (isAsking || !(this.#hasEnded || this.socket.closeUnread())) {
      const isAnswered = this.#parser.version === 5 && answerVersion5(this.#services, this, packet)
      if (!isAnswered) this.#parser.passOn(packet)
    }
    // The server reads nothing more until the CONNECT is answered.
    if (isAsking) pauseReading(this.client)
  }

  #withTopic(packet: Packet): Publish {
    const alias = packet.properties?.topicAlias
    if (alias === undefined) return packet
    this.#aliases ??= new TopicAliases()
    return this.#aliases.resolve(packet, alias)
  }

  /** Takes a message, to be stored with those read together with it. */
  #publish(publish: Publish): void {
    const { publisher } = this
    if (!publisher) return
    const { terms } = this.socket
    const isOver = terms && publish.qos > 0 && this.#appending.inFlight >= RECEIVE_MAXIMUM
    if (isOver)
      throw new ProtocolError('protocol', 'MQTT 5, section 3.3.4: too many messages in flight', {
        reasonCode: REASON.receiveMaximum,
      })
    const isNamed = !terms || isWithinLimits(publish.topic)
    if (isNamed && takeMessage(this.#services, this.#appending, this.#senderOf(publisher), publish)) return
    this.#trace('wrong-topic', publish.topic)
    // [MQTT-3.3.5-2]: MQTT 3.1.1 can only refuse a PUBLISH by closing the connection.
    if (terms) this.#appending.refuse(publish, isNamed ? REASON.notAuthorized : REASON.topicName)
    else this.socket.closeFor(new ProtocolError('topic', `publishing to ${publish.topic} is not allowed`))
  }

  /** Remembers why the messages of a device become no points. */
  #trace(kind: TraceKind, detail: string): void {
    if (this.publisher?.kind === 'device') this.#services.traces.note(this.publisher, kind, { detail })
  }

  #senderOf(publisher: Publisher | TrackerConnection): Sender {
    return { publisher, profile: this.#profile, clientId: this.client.id, pointsTopic: this.#topic }
  }

  #publishWill(): void {
    const { publisher } = this
    const will = this.#will
    if (!publisher || !will) return
    this.#will = undefined
    publishWill(this.#services, this.#senderOf(publisher), this, will)
  }

  /** Handles the end of the connection; bytes of the client may still be unread. */
  #end(): void {
    this.#hasEnded = true
    // Bytes that have arrived in the socket and were not read.
    const rest = this.#hasDisconnect || this.socket.isClosing ? null : this.client.conn.read()
    if (rest) this.#input.add(rest)
    if (!this.#hasConnect && this.#mayAdvance) this.#advance()
    if (this.pending > 0 || this.#input.length > 0)
      setTimeout(Connection.#endAppending, LEFT_MS, this).unref()
    this.#updateReading()
  }

  /**
   * A client that disconnected without DISCONNECT sends unacknowledged messages again. So its messages wait for a short
   * time, and not until the log is back.
   */
  static #endAppending(connection: Connection): void {
    if (!connection.#hasDisconnect) connection.#appending.end()
  }

  /** Resumes or pauses reading, depending on the input and the log. */
  #updateReading(): void {
    if (this.#mayAdvance) this.#waitForTurn()
    else if (this.#hasEnded && !this.#appending.over) this.#publishWill()
    if (this.#appending.over) this.#waitForRoom()
    const isUnread = this.#isPaused || this.#appending.over || this.#input.length > 0
    if (!this.client.connected || this.client.closed || isUnread === this.#isUnread) return
    this.#isUnread = isUnread
    if (isUnread) pauseReading(this.client)
    else resumeReading(this.client)
  }

  #waitForTurn(): void {
    if (this.#waitsForTurn) return
    this.#waitsForTurn = true
    this.#services.scheduler.enter(this.publisher?.organizationId ?? '', () => {
      if (this.#mayAdvance && this.#advance()) return true
      this.#waitsForTurn = false
      this.#updateReading()
      return false
    })
  }

  /** Continues when fewer entries wait for the log. */
  #waitForRoom(): void {
    if (this.#waitsForRoom) return
    this.#waitsForRoom = true
    this.#appending.wait(() => {
      this.#waitsForRoom = false
      this.#updateReading()
    })
  }
}
