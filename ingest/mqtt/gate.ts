import type { Client } from 'aedes'
import type { Log } from '../../stream/log.ts'
import type { Entry, Outcomes } from '../../stream/point.ts'
import type { Publisher } from '../authenticate.ts'
import { type Group, Inbox } from './inbox.ts'
import { MAX_EARLY, MAX_EARLY_BYTES, MAX_UNREAD_BYTES } from './limits.ts'
import { Breach, findBreach, type Packet, type Parser, teach } from './protocol.ts'
import { type Publish, readPublishes } from './publishes.ts'
import type { Session } from './sessions.ts'
import { topicsOf } from './topics.ts'

/**
 * One connection, and where a publish leaves the broker and becomes points.
 *
 * The gate stands around aedes' parser. Ahead of it, what a tracker sends all day is read straight from the chunk
 * (`publishes.ts`). Behind it, what breaks a rule of MQTT (`protocol.ts`) goes no further. Nor
 * does a PUBLISH: its entries are appended to the log (`inbox.ts`), and the acknowledgement (PUBACK for QoS 1, PUBREC
 * for QoS 2) is written when they are durable. What belongs to a message is answered here as well: PUBREL, and PUBACK
 * for what `sessions.ts` sends. Everything else (CONNECT, SUBSCRIBE, PINGREQ, …) goes on to aedes as if there were no
 * gate.
 *
 * This keeps three promises that aedes' own way cannot: while the log is away PINGREQ is still answered and the
 * keepalive stands still; acknowledgements of one batch leave in one write (three times the rate of one by one);
 * and ingested points are never delivered to subscribers.
 *
 * Points are identified by their content, so QoS 2 needs no store of packet identifiers: a PUBLISH that comes again
 * before its PUBREL is the same point again.
 *
 * It leans on private parts of aedes 1.2.0, which `test/ingest/gate.test.ts` checks.
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
  /** Called when the connection is closed for what its client did. */
  onRefused(error: Error): void
}

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
  #early: Packet[] | null = null
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
    client.conn.once('close', () => this.#inbox.close(this.#orderly))
  }

  /** Messages that wait for the log. */
  get pending(): number {
    return this.#inbox.pending
  }

  /** The client has proved who it is. */
  admit(publisher: Publisher, session: Session): void {
    this.publisher = publisher
    this.session = session
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
    if (this.#refused || this.#internals.closed) return
    this.#refused = true
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
    const { _parser: parser } = this.#internals
    try {
      const rest = chunk.subarray(this.#readPublishes(chunk))
      return rest.length > 0 ? Object.getPrototypeOf(parser).parse.call(parser, rest) : 0
    } catch (error) {
      // Nothing that a client sends may end the process.
      this.refuse(new Breach('failure', 'reading a packet', undefined, error))
      return 0
    }
  }

  /** Takes what the chunk begins with, where the parser is between two packets. Returns how many bytes it was. */
  #readPublishes(chunk: Buffer): number {
    const { _parser: parser, connected } = this.#internals
    if (!connected || !this.publisher || parser._list.length > 0 || parser._stateCounter !== 0) return 0
    this.#topic ||= `${topicsOf(this.publisher)}location`
    const read = readPublishes(chunk, this.#topic, this.#takePublish)
    // [MQTT-3.1.2-24]: any packet shows that the client is alive.
    if (read > 0) this.refreshKeepalive()
    return read
  }

  #takePublish = (publish: Publish): boolean => {
    this.#publish(publish)
    return !this.#refused
  }

  #take(packet: Packet): void {
    if (this.#refused) return
    const breach = findBreach(packet, this.#internals._parser)
    if (breach) this.refuse(breach)
    else this.#dispatch(packet)
  }

  #dispatch(packet: Packet): void {
    const { connected } = this.#internals
    switch (packet.cmd) {
      case 'publish':
        if (connected) {
          this.refreshKeepalive()
          this.#publish(packet)
        } else this.#keep(packet)
        return
      case 'pubrel':
        if (!connected) break
        this.refreshKeepalive()
        this.#inbox.complete(packet.messageId ?? 0)
        return
      case 'puback':
        if (!connected) break
        this.refreshKeepalive()
        this.#hooks.onPuback(this, packet.messageId ?? 0)
        return
      case 'unsubscribe':
        this.#hooks.onUnsubscribe(this, packet.unsubscriptions)
        break
      case 'disconnect':
        this.#orderly = true
        break
    }
    this.#forward.call(this.#internals._parser, packet)
  }

  /** A client may go on before it has its CONNACK. [MQTT-3.1.4-5]: nothing of it counts until it is accepted. */
  #keep(packet: Packet): void {
    this.#early ??= []
    this.#early.push(packet)
    const bytes = this.#early.reduce((sum, { length }) => sum + length, 0)
    if (this.#early.length > MAX_EARLY || bytes > MAX_EARLY_BYTES)
      this.refuse(new Breach('limit', 'too much before the connection was accepted'))
  }

  #begin(): void {
    const early = this.#early ?? []
    this.#early = null
    this.updateReading()
    for (const packet of early) this.#publish(packet)
  }

  #publish(publish: Publish): void {
    if (this.#internals.closed) return
    const entries = this.#hooks.read(this, publish)
    if (!entries) {
      // [MQTT-3.3.5-2]: MQTT 3.1.1 has no way to refuse a PUBLISH but to close the connection.
      this.refuse(new Breach('topic', `publishing to ${publish.topic} is not allowed`))
      return
    }
    this.#inbox.take(publish, entries)
  }

  /** Writes to the client, once this turn of the event loop is over. */
  write(bytes: Buffer): void {
    if (this.#internals.closed || this.#refused) return
    const { conn } = this.client
    // A message of 1,000 bad points is 1,000 messages to whoever listens: one write, not as many.
    if (conn.writableCorked === 0) {
      conn.cork()
      process.nextTick(send, this)
    }
    conn.write(bytes)
  }

  /** Sends what was written; a client that does not read is disconnected, for what waits for it is memory. */
  send(): void {
    const { conn } = this.client
    conn.uncork()
    if (conn.writableLength > MAX_UNREAD_BYTES) this.refuse(new Breach('limit', 'the client does not read'))
  }

  /** Reads on or stops reading, as what waits here and in the log allows. */
  updateReading(): void {
    const { connected, closed } = this.#internals
    const pause = this.#held || this.#inbox.over
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

const send = (gate: Gate) => gate.send()
