import { MAX_PACKET_BYTES } from './limits.ts'
import type { Packet } from './protocol.ts'

/** A PUBLISH to an allowed topic that breaks no rule. */
export type Publish = Pick<Packet, 'length' | 'qos' | 'topic' | 'payload' | 'messageId'>

const PUBLISH = 3
const LENGTH_BYTES = 4

/**
 * Reads the PUBLISH to `topic` that begins at `at`, the packet that trackers usually send. Returns null if it is
 * incomplete, another packet, or breaks a rule; then the parser reads it, and also one of version 5 that has properties or is
 * to be retained. The parser takes three times as long, because it reads any packet from any pieces. [MQTT-3.3]
 */
export function readPublish(
  bytes: Buffer,
  at: number,
  topic: string,
  isVersion5 = false,
): (Publish & { end: number }) | null {
  if (at >= bytes.length) return null
  const flags = bytes[at] as number
  const qos = (flags >> 1) & 3
  // QoS 3 does not exist, and DUP is not allowed with QoS 0. [MQTT-3.3.1-4], [MQTT-3.3.1-2]
  if (flags >> 4 !== PUBLISH || qos === 3 || (qos === 0 && flags & 8)) return null
  if (isVersion5 && flags & 1) return null
  let length = 0
  let from = at + 1
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[from++]
    if (byte === undefined || shift === LENGTH_BYTES * 7) return null
    length += (byte & 127) << shift
    if (byte < 128) break
  }
  const end = from + length
  if (end > bytes.length || length > MAX_PACKET_BYTES - LENGTH_BYTES) return null
  const properties = from + 2 + topic.length + (qos > 0 ? 2 : 0)
  const payload = properties + (isVersion5 ? 1 : 0)
  if (payload > end || !isTopic(bytes, from, topic)) return null
  if (isVersion5 && bytes[properties] !== 0) return null
  let messageId: number | undefined
  if (qos > 0) {
    messageId = ((bytes[properties - 2] as number) << 8) | (bytes[properties - 1] as number)
    if (messageId === 0) return null
  }
  return { length, qos: qos as 0 | 1 | 2, topic, payload: bytes.subarray(payload, end), messageId, end }
}

/** `topic` is ASCII. */
function isTopic(bytes: Buffer, at: number, topic: string): boolean {
  if (bytes[at] !== topic.length >> 8 || bytes[at + 1] !== (topic.length & 255)) return false
  for (let index = 0; index < topic.length; index++) {
    if (bytes[at + 2 + index] !== topic.charCodeAt(index)) return false
  }
  return true
}

/** The end of the packet that begins at `at`, or the end of the bytes if they end before. */
export function endOfPacket(bytes: Buffer, at: number): number {
  let length = 0
  for (let index = 1; index <= LENGTH_BYTES && at + index < bytes.length; index++) {
    const byte = bytes[at + index] as number
    length += (byte & 127) << ((index - 1) * 7)
    if (byte < 128) return Math.min(bytes.length, at + index + 1 + length)
  }
  return bytes.length
}
