import { MAX_PENDING, MAX_PENDING_BYTES, MAX_PENDING_ENTRIES } from './limits.ts'
import type { Publish } from './publishes.ts'

/** What a message is answered with, once it is durable. */
export interface Ack {
  /** The first byte of the answer, or 0 for none. */
  readonly answer: number
  readonly messageId: number
  readonly bytes: number
  readonly entries: number
  durable: boolean
}

/** The reserved flags of an answer are 0 in all three. */
const PUBACK = 0x40
const PUBREC = 0x50
const PUBCOMP = 0x70
const ANSWERS = [0, PUBACK, PUBREC] as const

/**
 * The messages of one connection between being read and being answered. Their entries wait in the log; each has its
 * place here, because acknowledgements keep the order in which the messages arrived [MQTT-4.6.0-2], [MQTT-4.6.0-3].
 */
export class AckQueue {
  #acks: Ack[] = []
  #bytes = 0
  #entries = 0
  #over = false

  /** Messages that are not answered. */
  get length(): number {
    return this.#acks.length
  }

  /** Whether so much waits that no more may be read; it stays so until half of it has gone. */
  get over(): boolean {
    return this.#over
  }

  /** A PUBLISH. Without entries it is durable already. */
  add({ qos, messageId = 0, length }: Publish, entries: number): Ack {
    const ack = { answer: ANSWERS[qos], messageId, bytes: length, entries, durable: entries === 0 }
    this.#acks.push(ack)
    this.#count(ack.bytes, entries)
    return ack
  }

  /** A PUBREL, which is answered in its turn. [MQTT-4.3.3-2] */
  addRelease(messageId: number): void {
    this.#acks.push({ answer: PUBCOMP, messageId, bytes: 0, entries: 0, durable: true })
    this.#count(0, 0)
  }

  /** Takes out what is durable, up to the first message that is not. Returns the answers in one piece. */
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
    const share = this.#over ? 0.5 : 1
    this.#over =
      this.#acks.length > MAX_PENDING * share ||
      this.#bytes > MAX_PENDING_BYTES * share ||
      this.#entries > MAX_PENDING_ENTRIES * share
  }
}
