import { isOver } from '../../fair/watermark.ts'
import { MAX_PENDING, MAX_PENDING_BYTES, MAX_PENDING_ENTRIES } from './limits.ts'
import type { Publish } from './publishes.ts'

/** The acknowledgement of a message, sent once the message is durable. */
export interface Ack {
  /** The first byte of the answer, or 0 for none. */
  readonly answer: number
  readonly messageId: number
  readonly bytes: number
  readonly entries: number
  durable: boolean
}

/** The first bytes of the answers; their reserved flags are all 0. */
const PUBACK = 0x40
const PUBREC = 0x50
const PUBCOMP = 0x70
const ANSWERS = [0, PUBACK, PUBREC] as const

/**
 * The messages of one connection that are read and not yet answered. Their entries wait in the log, and each message
 * keeps its position here, because acknowledgements keep the order of arrival [MQTT-4.6.0-2], [MQTT-4.6.0-3].
 */
export class AckQueue {
  #acks: Ack[] = []
  #bytes = 0
  #entries = 0
  #over = false

  /** The number of unanswered messages. */
  get length(): number {
    return this.#acks.length
  }

  /** Whether too much waits to read more. It stays true until half of it is done. */
  get over(): boolean {
    return this.#over
  }

  /** Adds a PUBLISH. Without entries it is durable already. */
  add({ qos, messageId = 0, length }: Publish, entries: number): Ack {
    const ack = { answer: ANSWERS[qos], messageId, bytes: length, entries, durable: entries === 0 }
    this.#acks.push(ack)
    this.#count(ack.bytes, entries)
    return ack
  }

  /** Adds a PUBREL, which is answered in order. [MQTT-4.3.3-2] */
  addRelease(messageId: number): void {
    this.#acks.push({ answer: PUBCOMP, messageId, bytes: 0, entries: 0, durable: true })
    this.#count(0, 0)
  }

  /** Removes the durable messages up to the first that is not durable. Returns their answers in one buffer. */
  takeDurable(): Buffer {
    let count = 0
    let answers = 0
    let [bytes, entries] = [0, 0]
    for (const ack of this.#acks) {
      if (!ack.durable) break
      count++
      bytes += ack.bytes
      entries += ack.entries
      if (ack.answer !== 0) answers++
    }
    const written = Buffer.allocUnsafe(answers * 4)
    let at = 0
    for (const { answer, messageId } of this.#acks.splice(0, count)) {
      if (answer === 0) continue
      written[at] = answer
      written[at + 1] = 2
      at = written.writeUInt16BE(messageId, at + 2)
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
