import { MAX_PACKET_BYTES } from '../../mqtt/limits.ts'

const NOTHING = Buffer.alloc(0)
const PUBLISH = 3
/** Each chunk takes a hundred bytes beside its own. */
const MAX_CHUNKS = 1_000

/** A packet of a broker: all of its bytes, or the beginning of a PUBLISH that is too large to be kept. */
export type Frame =
  | { bytes: Buffer }
  | { tooLarge: true; qos: 0 | 1 | 2; messageId: number; topic: string; length: number }

/** A broker has broken a rule of MQTT. */
export class BrokenFrame extends Error {}

/**
 * Divides what a broker sends into packets. Of a PUBLISH that is too large only the topic and the packet identifier are
 * kept: it has to be acknowledged, or a broker of version 3.1.1 would send it for ever.
 */
export class Frames {
  #bytes: Buffer = NOTHING
  /**
   * Chunks behind `#bytes`: joined once the next packet may be whole, or single bytes would copy all of it each time; and
   * once they are many, or single bytes would take a hundred times their size.
   */
  #chunks: Buffer[] = []
  #length = 0
  #needed = 0
  #skipped = 0

  /** The kind of the packet that comes next; undefined if nothing waits. */
  get nextKind(): number | undefined {
    const first = this.#bytes[0] ?? this.#chunks[0]?.[0]
    return first === undefined ? undefined : first >> 4
  }

  /** The number of bytes that wait. */
  get length(): number {
    return this.#length
  }

  add(chunk: Buffer): void {
    const skipped = Math.min(this.#skipped, chunk.length)
    this.#skipped -= skipped
    const rest = chunk.subarray(skipped)
    if (rest.length === 0) return
    if (this.#chunks.length === MAX_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks)]
    this.#chunks.push(rest)
    this.#length += rest.length
  }

  #keep(bytes: Buffer): void {
    this.#bytes = bytes
    this.#length = bytes.length
    this.#needed = 0
  }

  /** Null: more bytes are needed. */
  #wait(needed: number): null {
    this.#needed = needed
    return null
  }

  /** The next packet, or null if it is not whole. Throws a BrokenFrame. */
  next(): Frame | null {
    if (this.#length < this.#needed) return null
    if (this.#chunks.length > 0) {
      this.#bytes = Buffer.concat([this.#bytes, ...this.#chunks])
      this.#chunks = []
    }
    const bytes = this.#bytes
    let length = 0
    let at = 1
    for (; ; at++) {
      const byte = bytes[at]
      if (byte === undefined) return this.#wait(at + 1)
      length += (byte & 127) * 128 ** (at - 1)
      if (byte < 128) break
      if (at === 4) throw new BrokenFrame('a length of more than four bytes')
    }
    const header = at + 1
    if (header + length > MAX_PACKET_BYTES) return this.#nextTooLarge(header, length)
    if (bytes.length < header + length) return this.#wait(header + length)
    this.#keep(bytes.subarray(header + length))
    return { bytes: bytes.subarray(0, header + length) }
  }

  #nextTooLarge(header: number, length: number): Frame | null {
    const bytes = this.#bytes
    const first = bytes[0] as number
    const qos = (first >> 1) & 3
    if (first >> 4 !== PUBLISH || qos === 3) throw new BrokenFrame('a packet that is too large')
    if (bytes.length < header + 2) return this.#wait(header + 2)
    const topicEnd = header + 2 + bytes.readUInt16BE(header)
    const needed = topicEnd + (qos > 0 ? 2 : 0)
    if (needed > header + length) throw new BrokenFrame('a topic that is longer than its packet')
    if (bytes.length < needed) return this.#wait(needed)
    const topic = bytes.toString('utf8', header + 2, topicEnd)
    const messageId = qos > 0 ? bytes.readUInt16BE(topicEnd) : 0
    const left = bytes.subarray(Math.min(bytes.length, header + length))
    this.#skipped = Math.max(0, header + length - bytes.length)
    this.#keep(left)
    return { tooLarge: true, qos: qos as 0 | 1 | 2, messageId, topic, length }
  }
}
