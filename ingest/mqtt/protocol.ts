import { isUtf8 } from 'node:buffer'
import { MAX_CLIENT_ID_BYTES, MAX_CONNECT_BYTES, MAX_CONTROL_BYTES, MAX_PACKET_BYTES } from './limits.ts'
import { isTopicFilter, isTopicName, isWithinLimits } from './topics.ts'

/**
 * Violations of MQTT 3.1.1 that aedes or its parser accept, each with its rule's number in the standard (OASIS, 29
 * October 2014). Some are found while a packet is parsed (by `aedes.ts`); the others are a list of checks of the parsed
 * packet.
 *
 * The answer to all of them is [MQTT-4.8.0-1]: the connection is closed. If the standard has a return code for a
 * CONNECT, it is sent before.
 */
export class ProtocolError extends Error {
  readonly kind: ProtocolErrorKind
  readonly returnCode: number | undefined
  constructor(kind: ProtocolErrorKind, message: string, returnCode?: number, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.returnCode = returnCode
  }
}

/** Why a connection is closed: a rule or limit of this file, or a reason that the server finds. */
export type ProtocolErrorKind = 'protocol' | 'limit' | 'topic' | 'credentials' | 'unavailable' | 'failure'

/** Return codes of CONNACK: MQTT 3.1.1, table 3.1. */
export const UNACCEPTABLE_VERSION = 1
export const IDENTIFIER_REJECTED = 2
export const SERVER_UNAVAILABLE = 3
export const NOT_AUTHORIZED = 5

export interface Packet {
  cmd: string
  length: number
  qos: 0 | 1 | 2
  dup: boolean
  topic: string
  payload: Buffer
  messageId?: number
  clean: boolean
  clientId: string
  protocolVersion: number
  username?: string
  password?: Buffer
  will?: { qos: number; topic: string; payload: Buffer }
  subscriptions: { topic: string; qos: 0 | 1 | 2 }[]
  unsubscriptions: string[]
}

/** The largest packet of a command, header included. */
const maxBytesOf = (command: string) =>
  command === 'publish' ? MAX_PACKET_BYTES : command === 'connect' ? MAX_CONNECT_BYTES : MAX_CONTROL_BYTES

/** The error of a packet that shows as soon as its command and length are known. */
export function findAnnouncedError(
  { cmd, length }: Pick<Packet, 'cmd' | 'length'>,
  connected: boolean,
): ProtocolError | null {
  if (!connected && cmd !== 'connect')
    return new ProtocolError('protocol', '[MQTT-3.1.0-1] the first packet is no CONNECT')
  if (connected && cmd === 'connect') return new ProtocolError('protocol', '[MQTT-3.1.0-2] a second CONNECT')
  // The largest fixed header has four bytes.
  return length > maxBytesOf(cmd) - 4 ? new ProtocolError('limit', 'the packet is too large') : null
}

/** The error in the protocol name and version of a CONNECT; with another version the rest may have another layout. */
export function findVersionError(name: string | null, version: number | undefined): ProtocolError | null {
  if (name !== 'MQTT' && name !== 'MQIsdp')
    return new ProtocolError('protocol', '[MQTT-3.1.2-1] the protocol name')
  return version === (name === 'MQTT' ? 4 : 3)
    ? null
    : new ProtocolError('protocol', '[MQTT-3.1.2-2] the protocol version', UNACCEPTABLE_VERSION)
}

/** The error in a client identifier, topic, filter or user name. Every point passes through here. */
export function findTextError(text: string, bytes: () => Buffer): ProtocolError | null {
  if (text.includes('\0')) return new ProtocolError('protocol', '[MQTT-1.5.3-2] NUL in a string')
  // The decoder replaces invalid UTF-8 by this character, but a client may also have sent it.
  return text.includes('\uFFFD') && !isUtf8(bytes())
    ? new ProtocolError('protocol', '[MQTT-1.5.3-1] a string that is not UTF-8')
    : null
}

interface Check {
  rule: string
  breaks(packet: Packet, parsedBytes: number): boolean
  returnCode?: number
  kind?: ProtocolErrorKind
}

const identifier: Check = {
  rule: '[MQTT-2.3.1-1] a packet identifier of 0, or none',
  breaks: ({ messageId = 0 }) => messageId < 1,
}
/** mqtt-packet does not check this: it reads beyond the end of a packet that is too short, and ignores the rest of one that is too long. */
const length: Check = {
  rule: '[MQTT-4.8.0-1] fields and remaining length differ',
  breaks: (packet, parsedBytes) => parsedBytes !== packet.length,
}
const fromServer: Check = { rule: '[MQTT-4.8.0-1] a packet that only a server sends', breaks: () => true }
const acknowledgement = [length, identifier]

/** The checks of each command, in order. */
const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  connect: [
    length,
    { rule: '[MQTT-3.1.2-14] a will of QoS 3', breaks: ({ will }) => will?.qos === 3 },
    {
      rule: '[MQTT-3.1.2-22] a password without a user name',
      breaks: ({ username, password }) => password !== undefined && username === undefined,
    },
    {
      rule: '[MQTT-3.1.3-8] no client identifier and a kept session',
      breaks: ({ clientId, clean }) => clientId === '' && !clean,
      returnCode: IDENTIFIER_REJECTED,
    },
    {
      rule: 'MQTT 3.1, section 3.1: no client identifier',
      breaks: ({ clientId, protocolVersion }) => clientId === '' && protocolVersion === 3,
      returnCode: IDENTIFIER_REJECTED,
    },
    {
      kind: 'limit',
      rule: 'the client identifier is too long',
      breaks: ({ clientId }) => Buffer.byteLength(clientId) > MAX_CLIENT_ID_BYTES,
      returnCode: IDENTIFIER_REJECTED,
    },
  ],
  publish: [
    {
      rule: '[MQTT-2.3.1-1] a packet identifier of 0, or none',
      breaks: ({ qos, messageId = 0 }) => qos > 0 && messageId < 1,
    },
    {
      rule: '[MQTT-4.8.0-1] fields beyond the end',
      breaks: (packet, parsedBytes) => parsedBytes > packet.length,
    },
    { rule: '[MQTT-3.3.1-2] DUP with QoS 0', breaks: ({ qos, dup }) => dup && qos === 0 },
    { rule: '[MQTT-3.3.2-2] a topic with wildcards, or empty', breaks: ({ topic }) => !isTopicName(topic) },
    {
      kind: 'limit',
      rule: 'the topic is too long or too deep',
      breaks: ({ topic }) => !isWithinLimits(topic),
    },
  ],
  subscribe: [
    ...acknowledgement,
    {
      rule: '[MQTT-3.8.3-3] a SUBSCRIBE without topics',
      breaks: ({ subscriptions }) => subscriptions.length === 0,
    },
    {
      rule: '[MQTT-4.7.1-2], [MQTT-4.7.1-3], [MQTT-4.7.3-1] a malformed filter',
      breaks: ({ subscriptions }) => !subscriptions.every(({ topic }) => isTopicFilter(topic)),
    },
    {
      kind: 'limit',
      rule: 'the topic is too long or too deep',
      breaks: ({ subscriptions }) => !subscriptions.every(({ topic }) => isWithinLimits(topic)),
    },
  ],
  unsubscribe: [
    ...acknowledgement,
    {
      rule: '[MQTT-3.10.3-2] an UNSUBSCRIBE without topics',
      breaks: ({ unsubscriptions }) => unsubscriptions.length === 0,
    },
    {
      rule: '[MQTT-4.7.1-2], [MQTT-4.7.1-3], [MQTT-4.7.3-1] a malformed filter',
      breaks: ({ unsubscriptions }) => !unsubscriptions.every(isTopicFilter),
    },
    {
      kind: 'limit',
      rule: 'the topic is too long or too deep',
      breaks: ({ unsubscriptions }) => !unsubscriptions.every(isWithinLimits),
    },
  ],
  puback: acknowledgement,
  pubrec: acknowledgement,
  pubrel: acknowledgement,
  pubcomp: acknowledgement,
  pingreq: [length],
  disconnect: [length],
  connack: [fromServer],
  suback: [fromServer],
  unsuback: [fromServer],
  pingresp: [fromServer],
}

/** The first rule that a packet breaks, or null. `parsedBytes` is the position up to which its fields were read. */
export function findProtocolError(packet: Packet, parsedBytes: number): ProtocolError | null {
  for (const check of CHECKS[packet.cmd] ?? [fromServer]) {
    if (check.breaks(packet, parsedBytes))
      return new ProtocolError(check.kind ?? 'protocol', check.rule, check.returnCode)
  }
  return null
}
