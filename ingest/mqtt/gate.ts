import type { Client } from 'aedes'
import type { Log, Source } from '../../stream/log.ts'
import type { Entry, Outcomes } from '../../stream/point.ts'
import type { Publisher } from '../authenticate.ts'
import { MAX_EARLY, MAX_EARLY_BYTES, MAX_PENDING, MAX_PENDING_BYTES, MAX_UNREAD_BYTES } from './limits.ts'
import { Breach, findBreach, type Packet, type Parser, teach } from './protocol.ts'
import type { Session } from './sessions.ts'

/**
 * One connection, and where a publish leaves the broker and becomes points.
 *
 * The gate stands between aedes' parser and aedes. What breaks a rule of MQTT (`protocol.ts`) goes no further. Nor
 * does a PUBLISH: its entries are appended to the log, and the acknowledgement (PUBACK for QoS 1, PUBREC for QoS 2)
 * is written when they are durable. Everything else (CONNECT, SUBSCRIBE, PINGREQ, …) goes on to aedes as if there
 * were no gate.
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
  read(gate: Gate, packet: Packet): Entry[] | null
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

const PUBACK = 0x40
const PUBREC = 0x50
const PUBCOMP = 0x70
/** How long a refused client may take to read why. */
const LINGER_MS = 1_000

/** A message that was read, until it is answered. */
interface Slot {
  /** The first byte of the answer, or 0 for none. */
  answer: number
  messageId: number
  bytes: number
  entries: number
  durable: boolean
}

/**
 * Messages that were read at once go to the log at once: one that waits costs a third of the memory (0.33 KB,
 * alone 1.06), and the log has one promise to keep and not hundreds.
 */
export interface Group {
  source: Source
  slots: Slot[]
  /** Of all slots, in their order. */
  entries: Entry[]
  /** By `performance.now()`. */
  receivedAt: number
}

export class Gate {
  readonly client: Client
  /** Who it is, once the CONNECT was answered. */
  publisher: Publisher | null = null
  session: Session | null = null
  readonly #hooks: Hooks
  readonly #internals: Internals
  readonly #forward: (packet: Packet) => void
  #source: Source = { ended: false, subjects: [] }
  /** Of messages of QoS 0: they are not sent again, so the end of their connection does not end them. */
  #lasting: Source = this.#source
  // [MQTT-4.6.0-2], [MQTT-4.6.0-3]: acknowledgements keep the order in which the messages arrived.
  #slots: Slot[] = []
  #pendingBytes = 0
  #group: Group | null = null
  #early: Packet[] | null = null
  #flushing = false
  #heldByUs = false
  #heldByDoor = false
  #orderly = false
  #refused = false

  constructor(client: Client, hooks: Hooks) {
    this.client = client
    this.#hooks = hooks
    this.#internals = client as unknown as Internals
    const parser = this.#internals._parser
    this.#forward = parser.listeners('packet')[0] as (packet: Packet) => void
    teach(parser)
    parser.removeAllListeners('packet').on('packet', packet => this.#take(packet))
    parser.removeAllListeners('error').on('error', error => this.refuse(error))
    client.once('connected', () => this.#begin())
    client.conn.once('close', () => {
      // A client that has said goodbye does not come again with what was not acknowledged.
      this.#source.ended = !this.#orderly
      this.#slots = []
    })
  }

  /** Messages that wait for the log. */
  get pending(): number {
    return this.#slots.length
  }

  /** The client has proved who it is. */
  admit(publisher: Publisher, session: Session): void {
    this.publisher = publisher
    this.session = session
    this.#source = { ended: false, subjects: [publisher] }
    this.#lasting = { ended: false, subjects: [publisher] }
    // The parser keeps the CONNECT with its password, and needs its version alone.
    this.#internals._parser.settings = { protocolVersion: this.client.version }
  }

  /** Stops reading: what was read is still acknowledged. A CONNECT is answered first. */
  hold(): void {
    if (this.#heldByDoor) return
    this.#heldByDoor = true
    if (this.#internals.connected) this.#internals.pause()
  }

  release(): void {
    if (!this.#heldByDoor) return
    this.#heldByDoor = false
    this.#readAgain()
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

  #take(packet: Packet): void {
    if (this.#refused) return
    try {
      const breach = findBreach(packet, this.#internals._parser)
      if (breach) this.refuse(breach)
      else this.#dispatch(packet)
    } catch (error) {
      // Nothing that a client sends may end the process.
      this.refuse(new Breach('failure', 'reading a packet', undefined, error))
    }
  }

  #dispatch(packet: Packet): void {
    const { connected } = this.#internals
    switch (packet.cmd) {
      case 'publish':
        if (connected) this.#publish(packet)
        else this.#keep(packet)
        return
      case 'pubrel':
        if (!connected) break
        this.refreshKeepalive()
        this.#slots.push({
          answer: PUBCOMP,
          messageId: packet.messageId ?? 0,
          bytes: 0,
          entries: 0,
          durable: true,
        })
        this.#scheduleFlush()
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
    if (this.#heldByDoor) this.#internals.pause()
    for (const packet of early) this.#publish(packet)
  }

  #publish(packet: Packet): void {
    if (this.#internals.closed) return
    // [MQTT-3.1.2-24]: any packet shows that the client is alive.
    this.refreshKeepalive()
    const entries = this.#hooks.read(this, packet)
    if (!entries) {
      // [MQTT-3.3.5-2]: MQTT 3.1.1 has no way to refuse a PUBLISH but to close the connection.
      this.refuse(new Breach('topic', `publishing to ${packet.topic} is not allowed`))
      return
    }
    const slot: Slot = {
      answer: packet.qos === 0 ? 0 : packet.qos === 1 ? PUBACK : PUBREC,
      messageId: packet.messageId ?? 0,
      bytes: packet.length,
      entries: entries.length,
      durable: entries.length === 0,
    }
    this.#slots.push(slot)
    this.#pendingBytes += slot.bytes
    if (slot.durable) this.#scheduleFlush()
    else this.#gather(slot, entries, packet.qos === 0 ? this.#lasting : this.#source)
    this.#updateReading()
  }

  #gather(slot: Slot, entries: readonly Entry[], source: Source): void {
    if (this.#group?.source !== source) {
      this.append()
      this.#group = { source, slots: [], entries: [], receivedAt: performance.now() }
      process.nextTick(append, this)
    }
    this.#group.slots.push(slot)
    for (const entry of entries) this.#group.entries.push(entry)
  }

  /** @internal */
  append(): void {
    const group = this.#group
    if (!group) return
    this.#group = null
    const { log } = this.#hooks
    this.#hooks.onHeld(group.entries.length)
    log.append(group.entries, group.source).then(
      outcomes => {
        for (const slot of group.slots) slot.durable = true
        this.#hooks.onHeld(-group.entries.length)
        this.#hooks.onAcknowledged(this, group, outcomes)
        this.#scheduleFlush()
      },
      // The connection ended or the server stops: there is no acknowledgement, so the device sends it again.
      () => this.#hooks.onHeld(-group.entries.length),
    )
    if (log.full) this.#hooks.onFull()
  }

  #scheduleFlush(): void {
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(flush, this)
  }

  /** @internal */
  flush(): void {
    this.#flushing = false
    let count = 0
    let answers = 0
    for (const slot of this.#slots) {
      if (!slot.durable) break
      count++
      this.#pendingBytes -= slot.bytes
      if (slot.answer !== 0) answers++
    }
    const bytes = Buffer.allocUnsafe(answers * 4)
    let at = 0
    for (const slot of this.#slots.splice(0, count)) {
      if (slot.answer === 0) continue
      // The reserved flags of an answer are 0; PUBREL alone has others.
      bytes[at] = slot.answer
      bytes[at + 1] = 2
      at = bytes.writeUInt16BE(slot.messageId, at + 2)
    }
    const { conn } = this.client
    if (answers > 0 && !this.#internals.closed && !this.#refused) {
      conn.write(bytes)
      if (conn.writableLength > MAX_UNREAD_BYTES) this.refuse(UNREAD)
    }
    this.#updateReading()
  }

  #updateReading(): void {
    const count = this.#slots.length
    if (!this.#heldByUs && (count > MAX_PENDING || this.#pendingBytes > MAX_PENDING_BYTES)) {
      this.#heldByUs = true
      this.#internals.pause()
    } else if (this.#heldByUs && count <= MAX_PENDING / 2 && this.#pendingBytes <= MAX_PENDING_BYTES / 2) {
      this.#heldByUs = false
      this.#readAgain()
    }
  }

  #readAgain(): void {
    if (this.#heldByUs || this.#heldByDoor || this.#internals.closed || !this.#internals.connected) return
    // While it is paused aedes does not count the packets that it has done with, and would wait for them forever.
    this.#internals._parsingBatch = 1
    this.#internals.resume()
  }
}

/** One that does not read is disconnected: what waits for it is memory. */
export const UNREAD = new Breach('limit', 'the client does not read')

const flush = (gate: Gate) => gate.flush()
const append = (gate: Gate) => gate.append()
