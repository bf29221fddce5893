import type { Source } from '../../stream/log.ts'
import type { Entry } from '../../stream/point.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { Gate, Hooks } from './connection.ts'
import { LEFT_MS, MAX_PENDING, MAX_PENDING_BYTES, MAX_PENDING_ENTRIES } from './limits.ts'
import { Breach } from './protocol.ts'
import type { Publish } from './publishes.ts'
import type { Tenant } from './tenants.ts'

/**
 * The messages of one connection between being read and being answered. Their entries wait in the log; each has its
 * place here, because acknowledgements keep the order in which the messages arrived [MQTT-4.6.0-2], [MQTT-4.6.0-3].
 *
 * Messages that were read at once go to the log at once: one that waits costs a third of the memory (0.33 KB, alone
 * 1.06), and the log has one promise to keep and not hundreds. What is durable at once is answered in one write.
 */
export interface Group {
  source: Source
  slots: Slot[]
  /** Of all slots, in their order. */
  entries: Entry[]
  /** By `performance.now()`. */
  receivedAt: number
}

/** A message that was read, until it is answered. */
interface Slot {
  /** The first byte of the answer, or 0 for none. */
  answer: number
  messageId: number
  bytes: number
  entries: number
  durable: boolean
}

/** What goes to the log at once: others' points go between. */
const MAX_GROUP_ENTRIES = 1_000

/** The reserved flags of an answer are 0 in all three. */
const PUBACK = 0x40
const PUBREC = 0x50
const PUBCOMP = 0x70
const ANSWERS = [0, PUBACK, PUBREC] as const

export class Inbox {
  readonly #gate: Gate
  readonly #hooks: Hooks
  #source: Source = { ended: false, subjects: [] }
  /** Of messages of QoS 0: they are not sent again, so the end of their connection does not end them. */
  #lasting: Source = this.#source
  #slots: Slot[] = []
  #pendingBytes = 0
  #pendingEntries = 0
  #group: Group | null = null
  /** Null until it is known whose connection this is. */
  #tenant: Tenant | null = null
  #waitsForTenant = false
  #flushing = false
  #over = false

  constructor(gate: Gate, hooks: Hooks) {
    this.#gate = gate
    this.#hooks = hooks
  }

  /** Messages that wait for the log. */
  get pending(): number {
    return this.#slots.length
  }

  /** Whether so much waits that no more may be read; it stays so until half of it has gone. */
  get over(): boolean {
    return this.#over || this.#tenant?.over === true
  }

  /** Has the gate look again when what waits of its credential or organization has become less. */
  awaitTenant(): void {
    if (this.#waitsForTenant || !this.#tenant?.over) return
    this.#waitsForTenant = true
    this.#tenant.wait(() => {
      this.#waitsForTenant = false
      this.#gate.updateReading()
    })
  }

  /** From whom messages come from now on. */
  open(publisher: Publisher): void {
    this.#tenant = this.#hooks.tenants.of(publisher)
    this.#source = { ended: false, subjects: [publisher] }
    this.#lasting = { ended: false, subjects: [publisher] }
  }

  /**
   * The connection has ended. What it sent is taken, but a client that has not said goodbye comes again with what was
   * not acknowledged: its messages wait a little while, and not as long as the log is away.
   */
  close(saidGoodbye: boolean): void {
    const source = this.#source
    if (saidGoodbye) return
    setTimeout(() => {
      source.ended = true
    }, LEFT_MS).unref()
  }

  /** Takes the entries of a PUBLISH. It is acknowledged when they are durable. */
  take(packet: Publish, entries: readonly Entry[]): void {
    const slot: Slot = {
      answer: ANSWERS[packet.qos],
      messageId: packet.messageId ?? 0,
      bytes: packet.length,
      entries: entries.length,
      durable: entries.length === 0,
    }
    this.#slots.push(slot)
    this.#pendingBytes += slot.bytes
    this.#pendingEntries += slot.entries
    this.#look()
    if (slot.durable) {
      this.#scheduleFlush()
      return
    }
    const source = packet.qos === 0 ? this.#lasting : this.#source
    if (this.#group?.source !== source) {
      this.append()
      this.#group = { source, slots: [], entries: [], receivedAt: performance.now() }
      process.nextTick(append, this)
    }
    this.#group.slots.push(slot)
    for (const entry of entries) this.#group.entries.push(entry)
    if (this.#group.entries.length >= MAX_GROUP_ENTRIES) this.append()
  }

  /** PUBREL is answered in its turn. [MQTT-4.3.3-2] */
  complete(messageId: number): void {
    this.#slots.push({ answer: PUBCOMP, messageId, bytes: 0, entries: 0, durable: true })
    this.#scheduleFlush()
  }

  /** Gives the log what has been gathered. */
  append(): void {
    const group = this.#group
    if (!group) return
    this.#group = null
    const { log } = this.#hooks
    this.#hold(group.entries.length)
    log.append(group.entries, group.source).then(
      outcomes => {
        for (const slot of group.slots) slot.durable = true
        this.#hold(-group.entries.length)
        this.#hooks.onAcknowledged(this.#gate, group, outcomes)
        this.#scheduleFlush()
      },
      error => {
        this.#hold(-group.entries.length)
        // There is no acknowledgement: a device whose connection is closed sends it again, one that waits never does.
        this.#gate.refuse(new Breach('unavailable', 'storing messages', undefined, error))
      },
    )
    if (log.full) this.#hooks.onFull()
  }

  #hold(change: number): void {
    this.#hooks.onHeld(change)
    this.#tenant?.add(change)
  }

  #scheduleFlush(): void {
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(flush, this)
  }

  /** Answers what is durable, up to the first message that is not. */
  flush(): void {
    this.#flushing = false
    let count = 0
    let answers = 0
    for (const slot of this.#slots) {
      if (!slot.durable) break
      count++
      this.#pendingBytes -= slot.bytes
      this.#pendingEntries -= slot.entries
      if (slot.answer !== 0) answers++
    }
    const bytes = Buffer.allocUnsafe(answers * 4)
    let at = 0
    for (const slot of this.#slots.splice(0, count)) {
      if (slot.answer === 0) continue
      bytes[at] = slot.answer
      bytes[at + 1] = 2
      at = bytes.writeUInt16BE(slot.messageId, at + 2)
    }
    if (answers > 0) this.#gate.write(bytes)
    this.#look()
  }

  #look(): void {
    const share = this.#over ? 0.5 : 1
    const over =
      this.#slots.length > MAX_PENDING * share ||
      this.#pendingBytes > MAX_PENDING_BYTES * share ||
      this.#pendingEntries > MAX_PENDING_ENTRIES * share
    if (over === this.#over) return
    this.#over = over
    this.#gate.updateReading()
  }
}

// Without a function of its own a connection is smaller.
const append = (inbox: Inbox) => inbox.append()
const flush = (inbox: Inbox) => inbox.flush()
