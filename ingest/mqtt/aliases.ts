import { MAX_TOPIC_BYTES } from './limits.ts'
import { type Packet, ProtocolError } from './protocol.ts'
import type { Publish } from './publishes.ts'
import { isWithinLimits } from './topics.ts'

/** In place of a topic that is too long, of which nothing may be kept: a part of a text keeps the whole of it in memory. */
const TOO_LONG = 'x'.repeat(MAX_TOPIC_BYTES + 1)

/**
 * The numbers that a client of version 5 publishes with in place of topics, for as long as its connection lasts. How many there
 * may be is checked with the packet. [MQTT 5, 3.3.2.3.4]
 */
export class TopicAliases {
  readonly #topics = new Map<number, string>()

  /** Gives a message that has an alias the topic that it stands for. */
  resolve(packet: Packet, alias: number): Publish {
    if (packet.topic !== '') {
      this.#topics.set(alias, isWithinLimits(packet.topic) ? packet.topic : TOO_LONG)
      return packet
    }
    const topic = this.#topics.get(alias)
    if (topic === undefined)
      throw new ProtocolError('protocol', 'MQTT 5, section 3.3.4: a topic alias that stands for nothing')
    return { ...packet, topic }
  }
}
