import { MAX_PACKET_BYTES } from '../../mqtt/limits.ts'

const NOTHING = Buffer.alloc(0)
const PUBLISH = 3

/** A packet of a broker: all of its bytes, or the beginning of a PUBLISH that is too large to be kept. */
export type Frame =
  | { bytes: Buffer }
  | { tooLarge: true; qos: 0 | 1 | 2; messageId: number; topic: string; length: number }

/** What a broker sends breaks a rule of MQTT. */
export class BrokenFrame extends Error {}

/**
 * Divides what a broker sends into packets. Of a PUBLISH that is too large only the topic and the packet identifier are
 * kept: it has to be acknowledged, or a broker of version 3.1.1 would send it for ever.
 */
export class Frames {
  #bytes: Buffer = NOTHING
  #skipped = 0

  /** The kind of the packet that comes next; undefined if nothing waits. */
  get nextKind(): number | undefined {
    const first = this.#bytes[0]
    return first === undefined ? undefined : first >> 4
  }

  /** The number of bytes that wait. */
  get length(): number {
    return this.#bytes.length
  }

  add(chunk: Buffer): void {
    const skipped = Math.min(this.#skipped, chunk.length)
    this.#skipped -= skipped
    const rest = chunk.subarray(skipped)
    this.#bytes = this.#bytes.length > 0 ? Buffer.concat([this.#bytes, rest]) : rest
  }

  /** The next packet, or null if it is not whole. Throws a BrokenFrame. */
  next(): Frame | null {
    const bytes = this.#bytes
    let length = 0
    let at = 1
    for (; ; at++) {
      const byte = bytes[at]
      if (byte === undefined) return null
      length += (byte & 127) * 128 ** (at - 1)
      if (byte < 128) break
      if (at === 4) throw new BrokenFrame('a length of more than four bytes')
    }
    const header = at + 1
    if (header + length > MAX_PACKET_BYTES) return this.#nextTooLarge(header, length)
    if (bytes.length < header + length) return null
    this.#bytes = bytes.subarray(header + length)
    return { bytes: bytes.subarray(0, header + length) }
  }

  #nextTooLarge(header: number, length: number): Frame | null {
    const bytes = this.#bytes
    const first = bytes[0] as number
    const qos = (first >> 1) & 3
    if (first >> 4 !== PUBLISH || qos === 3) throw new BrokenFrame('a packet that is too large')
    if (bytes.length < header + 2) return null
    const topicEnd = header + 2 + bytes.readUInt16BE(header)
    const needed = topicEnd + (qos > 0 ? 2 : 0)
    if (needed > header + length) throw new BrokenFrame('a topic that is longer than its packet')
    if (bytes.length < needed) return null
    const topic = bytes.toString('utf8', header + 2, topicEnd)
    const messageId = qos > 0 ? bytes.readUInt16BE(topicEnd) : 0
    const left = bytes.subarray(Math.min(bytes.length, header + length))
    this.#skipped = Math.max(0, header + length - bytes.length)
    this.#bytes = left
    return { tooLarge: true, qos: qos as 0 | 1 | 2, messageId, topic, length }
  }
}
