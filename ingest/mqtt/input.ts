import type { PacketParser } from './aedes.ts'
import type { Packet } from './protocol.ts'
import { endOfPacket, type Publish, readPublish } from './publishes.ts'

const NOTHING = Buffer.alloc(0)

/** The input of a connection that is read and not yet handled: chunks in, packets out. */
export class Input {
  readonly #parser: Pick<PacketParser, 'missingBytes' | 'parse'>
  #bytes: Buffer = NOTHING
  #at = 0
  /** Chunks behind `#bytes`: joined when a packet is read, or each byte that comes alone would copy all that wait. */
  #chunks: Buffer[] = []
  #chunkBytes = 0

  constructor(parser: Pick<PacketParser, 'missingBytes' | 'parse'>) {
    this.#parser = parser
  }

  /** The number of waiting bytes. */
  get length(): number {
    return this.#bytes.length - this.#at + this.#chunkBytes
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#chunkBytes += chunk.length
  }

  drop(): void {
    this.#bytes = NOTHING
    this.#at = 0
    this.#chunks = []
    this.#chunkBytes = 0
  }

  /** Makes all waiting bytes one buffer. */
  #join(): void {
    if (this.#chunks.length === 0) return
    const rest = this.#at < this.#bytes.length ? [this.#bytes.subarray(this.#at)] : []
    const [only, ...others] = [...rest, ...this.#chunks]
    this.#bytes = only && others.length === 0 ? only : Buffer.concat([...rest, ...this.#chunks])
    this.#at = 0
    this.#chunks = []
    this.#chunkBytes = 0
  }

  /** Takes the next packet if it is a whole PUBLISH to `topic`; otherwise returns null and leaves it. */
  nextPublish(topic: string, isVersion5 = false): Publish | null {
    if (this.#parser.missingBytes !== null) return null
    this.#join()
    const publish = readPublish(this.#bytes, this.#at, topic, isVersion5)
    if (publish) this.#goTo(publish.end)
    return publish
  }

  /**
   * Takes the next packet, or returns null if it is incomplete. Throws the packet's error. Only one packet at a time:
   * the next one waits for its turn, and after a CONNECT for the answer.
   */
  nextPacket(): Packet | null {
    this.#join()
    do {
      const missing = this.#parser.missingBytes
      const end = missing === null ? endOfPacket(this.#bytes, this.#at) : this.#at + missing
      const piece = this.#bytes.subarray(this.#at, end)
      this.#goTo(this.#at + piece.length)
      const packet = this.#parser.parse(piece)
      if (packet) return packet
    } while (this.length > 0)
    return null
  }

  #goTo(at: number): void {
    if (at === this.#bytes.length) this.drop()
    else this.#at = at
  }
}
