import type { Client } from 'aedes'
import { timeOfDay, UntrustedClockError } from '../../db/clock.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { Log } from '../../stream/log.ts'
import type { Entry } from '../../stream/point.ts'
import { decode } from '../decode.ts'
import { formatOf } from '../formats/table.ts'
import { maySend, type Publisher } from '../identity/authenticate.ts'
import type { Watched } from '../identity/watcher.ts'
import type { LastSeen } from '../last-seen.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Turns } from '../turns.ts'
import { PacketParser, pauseReading, refreshKeepalive, resumeReading } from './aedes.ts'
import { Appending } from './appending.ts'
import { Input } from './input.ts'
import { LEFT_MS, TURN_MS } from './limits.ts'
import { type Packet, ProtocolError } from './protocol.ts'
import type { Publish } from './publishes.ts'
import { sendRejections } from './rejections.ts'
import type { Session, Sessions } from './sessions.ts'
import { ClientSocket } from './socket.ts'
import type { Tenants } from './tenants.ts'
import { topicsOf } from './topics.ts'

/**
 * One connection, and where a publish leaves the broker and becomes points: it is read, decoded and validated, appended
 * to the log, and acknowledged (PUBACK for QoS 1, PUBREC for QoS 2) when it is durable.
 *
 * The connection stands around aedes' parser. Ahead of it, what a tracker sends all day is read straight from the chunk
 * (`publishes.ts`). Behind it, what breaks a rule of MQTT (`protocol.ts`) goes no further, nor does a PUBLISH. What
 * belongs to a message is answered here as well: PUBREL, PUBREC, PUBCOMP, and PUBACK for what `sessions.ts` sends. So
 * is PINGREQ, and the will stays here. Everything else (CONNECT, SUBSCRIBE, …) goes on to aedes as if there were
 * nothing between.
 *
 * This keeps three promises that aedes' own way cannot: while the log is away PINGREQ is still answered and the
 * keepalive stands still; acknowledgements of one batch leave in one write (three times the rate of one by one);
 * and ingested points are never delivered to subscribers.
 *
 * What was read is gone through a little at a time, so that no chunk holds up the event loop: the rest waits here, and
 * the socket is not read meanwhile. What comes with a CONNECT waits here too, until it is accepted, and counts also
 * when the client has closed the socket by then: trackers send and hang up.
 *
 * Points are identified by their content, so QoS 2 needs no store of packet identifiers: a PUBLISH that comes again
 * before its PUBREL is the same point again.
 */
export interface ConnectionServices {
  log: Log
  turns: Turns
  tenants: Tenants
  sessions: Sessions
  metrics: IngestMetrics
  lastSeen: Pick<LastSeen, 'see'>
  onError: (error: unknown, doing: string) => void
}

const PUBREL = 0x62
const PINGRESP = Buffer.from([0xd0, 0])

export class Connection implements Watched {
  readonly client: Client
  readonly socket: ClientSocket
  /** Who it is, once the CONNECT was accepted; null again when its credential has ended. */
  publisher: Publisher | null = null
  session: Session | null = null
  readonly #services: ConnectionServices
  readonly #parser: PacketParser
  readonly #input: Input
  readonly #appending: Appending
  /** Where it publishes; made with the first thing that it sends. */
  #topic = ''
  #waitsForTurn = false
  #waitsForRoom = false
  /** PINGREQs of this turn. */
  #pings = 0
  #will: Packet['will']
  /** The CONNECT has been passed on. */
  #isGreeted = false
  #isOrderly = false
  #hasEnded = false
  #isPaused = false
  #isUnread = false

  constructor(client: Client, services: ConnectionServices) {
    this.client = client
    this.socket = new ClientSocket(client, services)
    this.#services = services
    this.#parser = new PacketParser(client, chunk => this.#read(chunk))
    this.#input = new Input(this.#parser)
    this.#appending = new Appending(this.socket, services)
    // [MQTT-3.1.4-5]: what came with the CONNECT counts now that it is accepted.
    client.once('connected', () => this.#updateReading())
    client.conn.once('close', () => this.#end())
  }

  /** Messages that wait for the log. */
  get pending(): number {
    return this.#appending.pending
  }

  /** Whether its CONNECT has come. */
  get isGreeted(): boolean {
    return this.#isGreeted
  }

  /** Whether the client waits for us: its messages for the log, or what it sends to be read. */
  get isWaiting(): boolean {
    return this.pending > 0 || this.#isUnread
  }

  get willTopic(): string | undefined {
    return this.#will?.topic
  }

  /** What a client that has gone has left, in bytes: what was read and waits, and its will. */
  get leftBytes(): number {
    return this.#input.length + (this.#will?.payload.length ?? 0)
  }

  /** The client has proved who it is. */
  admit(publisher: Publisher, session: Session): void {
    this.session = session
    this.#open(publisher)
  }

  /** The client has proved who it is after it had closed the socket: what it sent before counts. */
  admitLeft(publisher: Publisher): void {
    this.#open(publisher)
    this.#updateReading()
  }

  /** Who it was will not be asked: what the client has left is lost. */
  drop(): void {
    this.#input.drop()
    this.#will = undefined
  }

  #open(publisher: Publisher): void {
    this.publisher = publisher
    this.#services.lastSeen.see(publisher)
    this.#appending.open(publisher)
    this.#parser.forgetConnect(this.client.version)
  }

  /** What the role of its user allows may be less than before. */
  follow(caller: Caller): boolean {
    return maySend(caller)
  }

  /** Its credential has ended. Its will is nobody's any more. */
  end(): void {
    this.publisher = null
    this.client.close()
  }

  /** Reads nothing more: what was read is still acknowledged. A CONNECT is answered first. */
  pause(): void {
    this.#isPaused = true
    this.#updateReading()
  }

  resume(): void {
    this.#isPaused = false
    this.#updateReading()
  }

  /** Lets the keepalive stand still while messages wait for us and not for the client. */
  refreshKeepalive(): void {
    refreshKeepalive(this.client)
  }

  /** A chunk has come. */
  #read(chunk: Buffer): void {
    if (this.publisher) this.#services.lastSeen.see(this.publisher)
    this.#input.add(chunk)
    if (this.#mayAdvance && !this.#waitsForTurn && this.#services.turns.isFree) this.#advance()
    this.#updateReading()
  }

  /** Goes through what was read, packet by packet, for a moment. Returns whether there is more. */
  #advance(): boolean {
    const until = performance.now() + TURN_MS
    let published = false
    this.#pings = 0
    try {
      do {
        const publish = this.#mayPublish ? this.#input.nextPublish(this.#ownTopic) : null
        if (publish) {
          published = true
          this.#publish(publish)
        } else {
          const packet = this.#input.nextPacket()
          if (packet) this.#handle(packet)
        }
      } while (this.#mayAdvance && performance.now() < until)
    } catch (error) {
      // Nothing that a client sends may end the process.
      const known = error instanceof ProtocolError
      const kind = error instanceof UntrustedClockError ? 'unavailable' : 'failure'
      this.socket.closeFor(known ? error : new ProtocolError(kind, 'reading a packet', undefined, error))
    }
    // [MQTT-3.1.2-24]: any packet shows that the client is alive.
    if (published) this.refreshKeepalive()
    // In one piece: one by one each takes fifty bytes more until it is read.
    if (this.#pings > 0) this.socket.write(Buffer.alloc(PINGRESP.length * this.#pings, PINGRESP))
    if (this.socket.isClosing || this.#isOrderly) this.#input.drop()
    return this.#mayAdvance
  }

  /** Whether what was read may be gone through now. */
  get #mayAdvance(): boolean {
    // [MQTT-3.14.4-2]: nothing counts that follows a DISCONNECT.
    if (this.#input.length === 0 || this.socket.isClosing || this.#isOrderly) return false
    if (!this.#isGreeted) return true
    return this.#mayPublish && (!this.#isPaused || this.#hasEnded) && !this.#appending.over
  }

  /** The client is connected, or has proved who it is and gone. */
  get #mayPublish(): boolean {
    return this.publisher !== null && (this.client.connected || this.#hasEnded)
  }

  get #ownTopic(): string {
    this.#topic ||= `${topicsOf(this.publisher as Publisher)}location`
    return this.#topic
  }

  #handle(packet: Packet): void {
    this.refreshKeepalive()
    const { messageId: id = 0 } = packet
    switch (packet.cmd) {
      case 'connect':
        this.#isGreeted = true
        if (packet.will) this.#will = { ...packet.will, payload: Buffer.from(packet.will.payload) }
        packet.will = undefined
        break
      case 'publish':
        this.#publish(packet)
        return
      case 'pubrel':
        this.#appending.release(id)
        return
      case 'puback':
        if (this.session) this.#services.sessions.acknowledge(this.session, id)
        return
      case 'pubrec':
        // [MQTT-4.3.3-1]. Nothing is sent with QoS 2, but whoever believes so must not wait for ever.
        this.socket.write(Buffer.from([PUBREL, 2, id >> 8, id & 255]))
        return
      case 'pubcomp':
        return
      case 'pingreq':
        this.#pings++
        return
      case 'unsubscribe':
        for (const filter of packet.unsubscriptions) this.session?.filters.delete(filter)
        break
      case 'disconnect':
        this.#isOrderly = true
        break
    }
    const isAsking = packet.cmd === 'connect'
    if (isAsking || !(this.#hasEnded || this.socket.closeUnread())) this.#parser.passOn(packet)
    // Nothing more is read before it is answered.
    if (isAsking) pauseReading(this.client)
  }

  /** Decodes a message, and gathers its entries with those that are read together with them. */
  #publish(publish: Publish): void {
    if (!this.publisher) return
    const entries = this.#decode(this.publisher, publish)
    if (!entries) {
      // [MQTT-3.3.5-2]: MQTT 3.1.1 has no way to decline a PUBLISH but to close the connection.
      this.socket.closeFor(new ProtocolError('topic', `publishing to ${publish.topic} is not allowed`))
      return
    }
    this.#appending.add(publish, entries)
  }

  /** The points of a message and what was wrong with others, or null where its publisher may not publish there. */
  #decode(publisher: Publisher, { topic, payload }: Pick<Publish, 'topic' | 'payload'>): Entry[] | null {
    const format = formatOf(topic, publisher)
    if (!format) return null
    const entries = decode(format, payload, { subject: publisher.subject, receivedAt: timeOfDay(), topic })
    this.#services.metrics.received('mqtt', entries)
    return entries
  }

  /**
   * Publishes the will of a client that has gone and not said goodbye. Nobody acknowledges it: where there is no room for
   * it, it is lost. [MQTT-3.1.2-8], [MQTT-3.14.4-3]
   */
  #publishWill(): void {
    const { publisher } = this
    const { log } = this.#services
    const will = this.#will
    if (!publisher || !will) return
    this.#will = undefined
    const entries = this.#isOrderly || log.full ? null : this.#decodeWill(publisher, will)
    if (!entries?.length) return
    log.append(entries, { ended: false, subjects: [publisher] }).then(
      outcomes => sendRejections(this.#services, publisher, [{ entries: entries.length }], entries, outcomes),
      () => {},
    )
  }

  #decodeWill(publisher: Publisher, will: Pick<Publish, 'topic' | 'payload'>): Entry[] | null {
    try {
      return this.#decode(publisher, will)
    } catch (error) {
      if (error instanceof UntrustedClockError) return null
      throw error
    }
  }

  /** The connection has ended, and perhaps not what the client sent. */
  #end(): void {
    this.#hasEnded = true
    // What has arrived and was not asked for.
    const rest = this.#isOrderly || this.socket.isClosing ? null : this.client.conn.read()
    if (rest) this.#input.add(rest)
    if (!this.#isGreeted && this.#mayAdvance) this.#advance()
    if (this.pending > 0 || this.#input.length > 0)
      setTimeout(Connection.#endAppending, LEFT_MS, this).unref()
    this.#updateReading()
  }

  /**
   * The client has gone and not said goodbye: it comes again with what was not acknowledged, so its messages wait a
   * little while, and not as long as the log is away.
   */
  static #endAppending(connection: Connection): void {
    if (!connection.#isOrderly) connection.#appending.end()
  }

  /** Reads on or stops reading, as what waits here and in the log allows. */
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
    this.#services.turns.enter(this.publisher?.organizationId ?? '', () => {
      if (this.#mayAdvance && this.#advance()) return true
      this.#waitsForTurn = false
      this.#updateReading()
      return false
    })
  }

  /** Goes on when less waits for the log. */
  #waitForRoom(): void {
    if (this.#waitsForRoom) return
    this.#waitsForRoom = true
    this.#appending.wait(() => {
      this.#waitsForRoom = false
      this.#updateReading()
    })
  }
}
