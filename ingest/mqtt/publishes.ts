import { MAX_PACKET_BYTES } from './limits.ts'
import type { Packet, Parser } from './protocol.ts'

/** A PUBLISH to a topic that is known to be allowed, and to break no rule. */
export type Publish = Pick<Packet, 'length' | 'qos' | 'topic' | 'payload' | 'messageId'>

const PUBLISH = 3
const LENGTH_BYTES = 4
/** The parser's step that waits for the whole packet. */
const PAYLOAD = 2

/**
 * Reads the PUBLISH packets to `topic` that a chunk begins with: what trackers send all day. It hands over what is whole
 * and in order, and stops at everything else (another packet, the rest of one, a rule that is broken), which is for the
 * parser. That one takes three times as long, for it can read any packet from any pieces. [MQTT-3.3]
 *
 * `take` returns whether to go on. Returns how many bytes were read.
 */
export function readPublishes(chunk: Buffer, topic: string, take: (publish: Publish) => boolean): number {
  let at = 0
  while (at < chunk.length) {
    const flags = chunk[at] as number
    const qos = (flags >> 1) & 3
    // QoS 3 there is not, and DUP says nothing of QoS 0. [MQTT-3.3.1-4], [MQTT-3.3.1-2]
    if (flags >> 4 !== PUBLISH || qos === 3 || (qos === 0 && flags & 8)) return at
    let length = 0
    let from = at + 1
    for (let shift = 0; ; shift += 7) {
      const byte = chunk[from++]
      if (byte === undefined || shift === LENGTH_BYTES * 7) return at
      length += (byte & 127) << shift
      if (byte < 128) break
    }
    const end = from + length
    if (end > chunk.length || length > MAX_PACKET_BYTES - LENGTH_BYTES) return at
    const payload = from + 2 + topic.length + (qos > 0 ? 2 : 0)
    if (payload > end || !isTopic(chunk, from, topic)) return at
    let messageId: number | undefined
    if (qos > 0) {
      messageId = ((chunk[payload - 2] as number) << 8) | (chunk[payload - 1] as number)
      if (messageId === 0) return at
    }
    const publish = {
      length,
      qos: qos as 0 | 1 | 2,
      topic,
      payload: chunk.subarray(payload, end),
      messageId,
    }
    at = end
    if (!take(publish)) return at
  }
  return at
}

/** `topic` is ASCII. */
function isTopic(chunk: Buffer, at: number, topic: string): boolean {
  if (chunk[at] !== topic.length >> 8 || chunk[at + 1] !== (topic.length & 255)) return false
  for (let index = 0; index < topic.length; index++) {
    if (chunk[at + 2 + index] !== topic.charCodeAt(index)) return false
  }
  return true
}

/** The first packet of what was read, or as much of it as there is. */
export function firstPacket(bytes: Buffer): Buffer {
  let length = 0
  for (let at = 1; at <= LENGTH_BYTES && at < bytes.length; at++) {
    const byte = bytes[at] as number
    length += (byte & 127) << ((at - 1) * 7)
    if (byte < 128) return bytes.subarray(0, at + 1 + length)
  }
  return bytes
}

/** What the packet still lacks that a parser has the beginning of, as far as it was read. */
export function restOfPacket(bytes: Buffer, { _stateCounter, _list, packet }: Parser): Buffer {
  // Before its length is known it is taken byte by byte.
  return bytes.subarray(0, _stateCounter === PAYLOAD ? Math.max(1, packet.length - _list.length) : 1)
}
