import type { Client } from 'aedes'
import type { Log } from '../../stream/log.ts'
import type { Entry, Outcomes } from '../../stream/point.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { Turns } from '../turns.ts'
import { type Group, Inbox } from './ack-queue.ts'
import { MAX_UNREAD_BYTES, TURN_MS } from './limits.ts'
import { Breach, findBreach, type Packet, type Parser, teach } from './protocol.ts'
import { firstPacket, type Publish, readPublishes, restOfPacket } from './publishes.ts'
import type { Session } from './sessions.ts'
import type { Tenant } from './tenants.ts'
import { topicsOf } from './topics.ts'

/**
 * One connection, and where a publish leaves the broker and becomes points.
 *
 * The gate stands around aedes' parser. Ahead of it, what a tracker sends all day is read straight from the chunk
 * (`publishes.ts`). Behind it, what breaks a rule of MQTT (`protocol.ts`) goes no further. Nor
 * does a PUBLISH: its entries are appended to the log (`inbox.ts`), and the acknowledgement (PUBACK for QoS 1, PUBREC
 * for QoS 2) is written when they are durable. What belongs to a message is answered here as well: PUBREL, PUBREC,
 * PUBCOMP, and PUBACK for what `sessions.ts` sends. Everything else (CONNECT, SUBSCRIBE, PINGREQ, …) goes on to aedes as if there were no
 * gate.
 *
 * This keeps three promises that aedes' own way cannot: while the log is away PINGREQ is still answered and the
 * keepalive stands still; acknowledgements of one batch leave in one write (three times the rate of one by one);
 * and ingested points are never delivered to subscribers.
 *
 * What was read is gone through a little at a time, so that no chunk holds up the event loop: the rest waits here, and
 * the socket is not read meanwhile. What comes with a CONNECT waits here too, until it is accepted, and is taken also
 * when the client has closed the socket by then: trackers send and hang up.
 *
 * Points are identified by their content, so QoS 2 needs no store of packet identifiers: a PUBLISH that comes again
 * before its PUBREL is the same point again.
 *
 * It leans on private parts of aedes 1.2.0, which `test/ingest/aedes.test.ts` checks.
 */
interface Internals {
  _parser: Parser
  _keepaliveTimer: NodeJS.Timeout | null
  _parsingBatch: number
  connected: boolean
  closed: boolean
  pause(): void
  resume(): void
}

/** What all gates share: the door's side. */
export interface Hooks {
  log: Log
  turns: Turns
  tenants: { of(publisher: Publisher): Tenant }
  /** The entries of a message, or null where the client may not publish there. */
  read(gate: Gate, publish: Publish): Entry[] | null
  /** Called when messages that were read together are durable. */
  onAcknowledged(gate: Gate, group: Group, outcomes: Outcomes): void
  /** Called when entries begin and cease to wait for the log. */
  onHeld(change: number): void
  /** Called when the log has taken a message but has no room for more. */
  onFull(): void
  onUnsubscribe(gate: Gate, filters: readonly string[]): void
  onPuback(gate: Gate, id: number): void
  /** Called with whatever a client sends that has proved who it is. */
  onHeard(publisher: Publisher): void
  /** Called when the connection is closed for what its client did. */
  onRefused(error: Error): void
}

const NOTHING = Buffer.alloc(0)
const PUBREL = 0x62

/** How long a refused client may take to read why. */
const LINGER_MS = 1_000

export class Gate {
  readonly client: Client
  /** Who it is, once the CONNECT was answered. */
  publisher: Publisher | null = null
  session: Session | null = null
  readonly #hooks: Hooks
  readonly #internals: Internals
  readonly #forward: (packet: Packet) => void
  readonly #inbox: Inbox
  /** Where it publishes; made with the first thing that it sends. */
  #topic = ''
  /** What was read and not yet gone through. */
  #rest: Buffer = NOTHING
  #waitsForTurn = false
  #turnUntil = 0
  /** The CONNECT has been handed over. */
  #greeted = false
  #ended = false
  #held = false
  #paused = false
  #orderly = false
  #refused = false

  constructor(client: Client, hooks: Hooks) {
    this.client = client
    this.#hooks = hooks
    this.#internals = client as unknown as Internals
    this.#inbox = new Inbox(this, hooks)
    const parser = this.#internals._parser
    this.#forward = parser.listeners('packet')[0] as (packet: Packet) => void
    teach(parser)
    parser.parse = chunk => this.#parse(chunk)
    parser.removeAllListeners('packet').on('packet', packet => this.#take(packet))
    parser.removeAllListeners('error').on('error', error => this.refuse(error))
    client.once('connected', () => this.#begin())
    client.conn.once('close', () => this.#end())
  }

  /** Messages that wait for the log. */
  get pending(): number {
    return this.#inbox.pending
  }

  /** Whether its CONNECT has come. */
  get isGreeted(): boolean {
    return this.#greeted
  }

  /** What was read and waits, in bytes. */
  get unparsedBytes(): number {
    return this.#rest.length
  }

  /** The client has proved who it is. */
  admit(publisher: Publisher, session: Session): void {
    this.session = session
    this.#open(publisher)
  }

  /** The client has proved who it is after it had closed the socket: what it sent before is taken. */
  takeLeft(publisher: Publisher): void {
    this.#open(publisher)
    this.#end()
  }

  #open(publisher: Publisher): void {
    this.publisher = publisher
    this.#hooks.onHeard(publisher)
    this.#inbox.open(publisher)
    // The parser keeps the CONNECT with its password, and needs its version alone.
    this.#internals._parser.settings = { protocolVersion: this.client.version }
  }

  /** Stops reading: what was read is still acknowledged. A CONNECT is answered first. */
  hold(): void {
    this.#held = true
    this.updateReading()
  }

  release(): void {
    this.#held = false
    this.updateReading()
  }

  /** Lets the keepalive stand still while messages wait for us and not for the client. */
  refreshKeepalive(): void {
    this.#internals._keepaliveTimer?.refresh()
  }

  /** Closes the connection for what its client did, after a CONNACK where the breach has a return code. */
  refuse(error: Error): void {
    if (this.#refused) return
    this.#refused = true
    this.#rest = NOTHING
    if (this.#internals.closed) return
    this.#hooks.onRefused(error)
    const { client } = this
    const returnCode = error instanceof Breach ? error.returnCode : undefined
    if (returnCode === undefined) {
      client.emit('error', error)
      return
    }
    // What is unread when a socket is closed resets it, and the client never sees the answer: it is read and dropped.
    client.conn.removeAllListeners('readable')
    client.conn.resume()
    client.conn.end(Buffer.from([0x20, 2, 0, returnCode]))
    setTimeout(() => client.close(), LINGER_MS).unref()
  }

  #parse(chunk: Buffer): number {
    if (this.publisher) this.#hooks.onHeard(this.publisher)
    this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    if (this.#mayAdvance && !this.#waitsForTurn && this.#hooks.turns.isFree) this.#advance()
    this.updateReading()
    return 0
  }

  /** Whether what was read may be gone through now. */
  get #mayAdvance(): boolean {
    // [MQTT-3.14.4-2]: nothing counts that follows a DISCONNECT.
    if (this.#rest.length === 0 || this.#refused || this.#orderly) return false
    if (!this.#greeted) return true
    return this.#mayPublish && !this.#held && !this.#inbox.over
  }

  /** The client is connected, or has proved who it is and gone. */
  get #mayPublish(): boolean {
    return this.publisher !== null && (this.#internals.connected || this.#ended)
  }

  /** Goes through what was read for a moment. Returns whether there is more. */
  #advance(): boolean {
    const { _parser: parser } = this.#internals
    this.#turnUntil = performance.now() + TURN_MS
    // aedes has stopped listening with the end of the connection.
    if (this.#ended && parser.listenerCount('packet') === 0) parser.on('packet', packet => this.#take(packet))
    try {
      do {
        const rest = this.#rest.subarray(this.#readPublishes(this.#rest))
        const piece = this.#greeted && !this.#mayGoOn ? NOTHING : nextPiece(rest, parser)
        this.#rest = rest.subarray(piece.length)
        if (piece.length > 0) Object.getPrototypeOf(parser).parse.call(parser, piece)
      } while (this.#mayAdvance && this.#mayGoOn)
    } catch (error) {
      // Nothing that a client sends may end the process.
      this.refuse(new Breach('failure', 'reading a packet', undefined, error))
    }
    if (this.#refused || this.#orderly) this.#rest = NOTHING
    return this.#mayAdvance
  }

  /** Whether this turn goes on with the next packet. */
  get #mayGoOn(): boolean {
    return !this.#refused && !this.#inbox.over && performance.now() < this.#turnUntil
  }

  /** Takes what the chunk begins with, where the parser is between two packets. Returns how many bytes it was. */
  #readPublishes(chunk: Buffer): number {
    if (!this.#mayPublish || !isBetweenPackets(this.#internals._parser)) return 0
    this.#topic ||= `${topicsOf(this.publisher as Publisher)}location`
    const read = readPublishes(chunk, this.#topic, this.#takePublish)
    // [MQTT-3.1.2-24]: any packet shows that the client is alive.
    if (read > 0) this.refreshKeepalive()
    return read
  }

  #takePublish = (publish: Publish): boolean => {
    this.#publish(publish)
    return this.#mayGoOn
  }

  #take(packet: Packet): void {
    if (this.#refused || this.#orderly) return
    const breach = findBreach(packet, this.#internals._parser)
    if (breach) this.refuse(breach)
    else this.#dispatch(packet)
  }

  #dispatch(packet: Packet): void {
    this.refreshKeepalive()
    const { messageId: id = 0 } = packet
    switch (packet.cmd) {
      case 'connect':
        this.#greeted = true
        break
      case 'publish':
        this.#publish(packet)
        return
      case 'pubrel':
        this.#inbox.complete(id)
        return
      case 'puback':
        this.#hooks.onPuback(this, id)
        return
      case 'pubrec':
        // [MQTT-4.3.3-1]. Nothing is sent with QoS 2, but whoever believes so must not wait for ever.
        this.write(Buffer.from([PUBREL, 2, id >> 8, id & 255]))
        return
      case 'pubcomp':
        return
      case 'unsubscribe':
        this.#hooks.onUnsubscribe(this, packet.unsubscriptions)
        break
      case 'disconnect':
        this.#orderly = true
        break
    }
    if (!this.#ended) this.#forward.call(this.#internals._parser, packet)
    // Nothing more is read before it is answered: aedes itself pauses two turns later.
    if (packet.cmd === 'connect') this.#internals.pause()
  }

  /** [MQTT-3.1.4-5]: what came with the CONNECT counts now that it is accepted. */
  #begin(): void {
    this.updateReading()
  }

  /** The connection has ended, and perhaps not what the client sent. */
  #end(): void {
    this.#ended = true
    if (!this.publisher) return
    this.#inbox.close(this.#orderly)
    this.updateReading()
  }

  #publish(publish: Publish): void {
    if (!this.publisher) return
    const entries = this.#hooks.read(this, publish)
    if (!entries) {
      // [MQTT-3.3.5-2]: MQTT 3.1.1 has no way to refuse a PUBLISH but to close the connection.
      this.refuse(new Breach('topic', `publishing to ${publish.topic} is not allowed`))
      return
    }
    this.#inbox.take(publish, entries)
  }

  /**
   * Writes to the client, once this turn of the event loop is over. A client that has not read what waits for it since
   * an earlier turn is disconnected, for that is memory.
   */
  write(bytes: Buffer): void {
    if (this.#internals.closed || this.#refused) return
    const { conn } = this.client
    // A message of 1,000 bad points is 1,000 messages to whoever listens: one write, not as many.
    if (conn.writableCorked === 0) {
      if (conn.writableLength > MAX_UNREAD_BYTES) {
        this.refuse(new Breach('limit', 'the client does not read'))
        return
      }
      conn.cork()
      process.nextTick(uncork, conn)
    }
    conn.write(bytes)
  }

  /** Writes what may be left out, unless this turn has written more than enough. */
  offer(bytes: Buffer): void {
    const { conn } = this.client
    if (conn.writableCorked === 0 || conn.writableLength <= MAX_UNREAD_BYTES) this.write(bytes)
  }

  #waitForTurn(): void {
    if (this.#waitsForTurn) return
    this.#waitsForTurn = true
    this.#hooks.turns.enter(this.publisher?.organizationId ?? '', () => {
      if (this.#mayAdvance && this.#advance()) return true
      this.#waitsForTurn = false
      this.updateReading()
      return false
    })
  }

  /** Reads on or stops reading, as what waits here and in the log allows. */
  updateReading(): void {
    if (this.#mayAdvance) this.#waitForTurn()
    this.#inbox.awaitTenant()
    const { connected, closed } = this.#internals
    const pause = this.#held || this.#inbox.over || this.#rest.length > 0
    if (!connected || closed || pause === this.#paused) return
    this.#paused = pause
    if (pause) {
      this.#internals.pause()
      return
    }
    // While it is paused aedes does not count the packets that it has done with, and would wait for them forever.
    this.#internals._parsingBatch = 1
    this.#internals.resume()
  }
}

const isBetweenPackets = (parser: Parser) => parser._list.length === 0 && parser._stateCounter === 0

/** One packet at a time: what follows it waits for its turn, and what follows a CONNECT for the answer. */
const nextPiece = (bytes: Buffer, parser: Parser) =>
  isBetweenPackets(parser) ? firstPacket(bytes) : restOfPacket(bytes, parser)

// Without a function of its own a connection is smaller.
const uncork = (conn: Client['conn']) => conn.uncork()
