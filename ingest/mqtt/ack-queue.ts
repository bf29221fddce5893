import { isOver } from '../../fair/watermark.ts'
import { MAX_PENDING, MAX_PENDING_BYTES, MAX_PENDING_ENTRIES } from './limits.ts'
import type { Publish } from './publishes.ts'
import { REASON } from './reasons.ts'

/** The acknowledgement of a message, sent once the message is durable. */
export interface Ack {
  /** The first byte of the answer, or 0 for none. */
  readonly answer: number
  readonly messageId: number
  readonly bytes: number
  readonly entries: number
  durable: boolean
  /** What follows the packet identifier in an answer of version 5: a reason code, and properties. */
  reason?: Buffer
}

/** The first bytes of the answers; their reserved flags are all 0. */
const PUBACK = 0x40
const PUBREC = 0x50
const PUBCOMP = 0x70
const ANSWERS = [0, PUBACK, PUBREC] as const
/** [MQTT 5, 3.7.2.1] */
const NOT_FOUND = Buffer.of(REASON.packetIdentifier)

/**
 * The messages of one connection that are read and not yet answered. Their entries wait in the log, and each message
 * keeps its position here, because acknowledgements keep the order of arrival [MQTT-4.6.0-2], [MQTT-4.6.0-3].
 */
export class AckQueue {
  #acks: Ack[] = []
  #bytes = 0
  #entries = 0
  #over = false
  #unanswered = 0
  /** Packet identifiers of QoS 2 from their PUBLISH to their PUBREL, in version 5 alone. */
  #unreleased: Set<number> | null = null
  #isResumed = false

  /** The number of unanswered messages. */
  get length(): number {
    return this.#acks.length
  }

  /** Whether too much waits to read more. It stays true until half of it is done. */
  get over(): boolean {
    return this.#over
  }

  /** Counts messages in flight from now on, as version 5 does. Those of a resumed session may have begun on another connection. */
  countInFlight(isResumed: boolean): void {
    this.#unreleased = new Set()
    this.#isResumed = isResumed
  }

  /** The number of messages whose flow has not ended, if they are counted. [MQTT 5, 4.9] */
  get inFlight(): number {
    return this.#unanswered + (this.#unreleased?.size ?? 0)
  }

  /** Adds a PUBLISH. Without entries it is durable already. */
  add({ qos, messageId = 0, length }: Publish, entries: number): Ack {
    const ack = { answer: ANSWERS[qos], messageId, bytes: length, entries, durable: entries === 0 }
    this.#acks.push(ack)
    this.#count(ack.bytes, entries)
    if (qos === 1) this.#unanswered++
    if (qos === 2) this.#unreleased?.add(messageId)
    return ack
  }

  /** Adds a PUBLISH that is refused, whose flow ends with the answer. [MQTT 5, 4.3.3] */
  addRefused(publish: Publish, reasonCode: number): void {
    const isKnown = this.#unreleased?.has(publish.messageId ?? 0)
    this.add(publish, 0).reason = Buffer.of(reasonCode)
    if (publish.qos === 2 && !isKnown) this.#unreleased?.delete(publish.messageId ?? 0)
  }

  /** Adds a PUBREL, which is answered in order. [MQTT-4.3.3-2] */
  addRelease(messageId: number): void {
    const isUnknown = this.#unreleased?.delete(messageId) === false && !this.#isResumed
    const reason = isUnknown ? { reason: NOT_FOUND } : {}
    this.#acks.push({ answer: PUBCOMP, messageId, bytes: 0, entries: 0, durable: true, ...reason })
    this.#count(0, 0)
  }

  /** Removes the durable messages up to the first that is not durable. Returns their answers in one buffer. */
  takeDurable(): Buffer {
    let count = 0
    let size = 0
    let [bytes, entries] = [0, 0]
    for (const ack of this.#acks) {
      if (!ack.durable) break
      count++
      bytes += ack.bytes
      entries += ack.entries
      if (ack.answer !== 0) size += ack.reason ? sizeOf(ack.reason) : 4
    }
    const written = Buffer.allocUnsafe(size)
    let at = 0
    for (const ack of this.#acks.splice(0, count)) {
      if (ack.answer === 0) continue
      if (ack.answer === PUBACK) this.#unanswered--
      // [MQTT 5, 4.3.3]: a PUBREC that refuses its message ends the flow.
      if (ack.answer === PUBREC && ack.reason) this.#unreleased?.delete(ack.messageId)
      at = writeAnswer(written, at, ack)
    }
    this.#count(-bytes, -entries)
    return written
  }

  #count(bytes: number, entries: number): void {
    this.#bytes += bytes
    this.#entries += entries
    this.#over =
      isOver(this.#over, this.#acks.length, MAX_PENDING) ||
      isOver(this.#over, this.#bytes, MAX_PENDING_BYTES) ||
      isOver(this.#over, this.#entries, MAX_PENDING_ENTRIES)
  }
}

/** The bytes of an answer with a reason: its length takes a second byte from 128 on. */
const sizeOf = (reason: Buffer) => reason.length + (reason.length + 2 < 128 ? 4 : 5)

function writeAnswer(written: Buffer, from: number, { answer, messageId, reason }: Ack): number {
  const length = 2 + (reason?.length ?? 0)
  let at = from
  written[at++] = answer
  if (length < 128) written[at++] = length
  else {
    written[at++] = (length & 127) | 128
    written[at++] = length >> 7
  }
  at = written.writeUInt16BE(messageId, at)
  if (!reason) return at
  return at + reason.copy(written, at)
}
