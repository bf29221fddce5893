import { isUtf8 } from 'node:buffer'
import {
  MAX_CLIENT_ID_BYTES,
  MAX_CONNECT_BYTES,
  MAX_CONTROL_BYTES,
  MAX_PACKET_BYTES,
  MAX_TOPIC_ALIASES,
} from './limits.ts'
import { REASON } from './reasons.ts'
import { isShared, isTopicFilter, isTopicName, isWithinLimits } from './topics.ts'

/**
 * Violations of MQTT that aedes or its parser accept, each with its rule's number in the standard of 3.1.1 (OASIS, 29
 * October 2014), or of version 5 (7 March 2019) where it says so. Some are found while a packet is parsed (by `aedes.ts`);
 * the others are a list of checks of the parsed packet.
 *
 * The answer to all of them is [MQTT-4.8.0-1]: the connection is closed. If 3.1.1 has a return code for a CONNECT, it is
 * sent before; version 5 has a reason code for every end.
 */
export class ProtocolError extends Error {
  readonly kind: ProtocolErrorKind
  /** The return code of CONNACK before version 5. */
  readonly returnCode: number | undefined
  /** The reason code of CONNACK or DISCONNECT in version 5. */
  readonly reasonCode: number
  constructor(
    kind: ProtocolErrorKind,
    message: string,
    options: { returnCode?: number | undefined; reasonCode?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.returnCode = options.returnCode
    this.reasonCode = options.reasonCode ?? REASON_OF[kind]
  }
}

/** Why a connection is closed: a rule or limit of this file, or a reason that the server finds. */
export type ProtocolErrorKind = 'protocol' | 'limit' | 'topic' | 'credentials' | 'unavailable' | 'failure'

/** The reason code of an error that has none of its own. */
const REASON_OF: Readonly<Record<ProtocolErrorKind, number>> = {
  protocol: REASON.protocolError,
  limit: REASON.quotaExceeded,
  topic: REASON.notAuthorized,
  credentials: REASON.notAuthorized,
  unavailable: REASON.serverBusy,
  failure: REASON.unspecified,
}

export const malformed = (rule: string) =>
  new ProtocolError('protocol', rule, { reasonCode: REASON.malformed })

/** Return codes of CONNACK: MQTT 3.1.1, table 3.1. */
export const UNACCEPTABLE_VERSION = 1
export const IDENTIFIER_REJECTED = 2
export const SERVER_UNAVAILABLE = 3
export const NOT_AUTHORIZED = 5

export interface Packet {
  cmd: string
  length: number
  retain: boolean
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
  keepalive: number
  will?: { qos: number; retain: boolean; topic: string; payload: Buffer; properties?: Properties }
  subscriptions: { topic: string; qos: 0 | 1 | 2; nl?: boolean }[]
  unsubscriptions: string[]
  properties?: Properties
  reasonCode?: number
}

/** What a packet of MQTT 5 says beside its fields; user properties are left out. [MQTT 5, 2.2.2] */
export interface Properties {
  payloadFormatIndicator?: number
  messageExpiryInterval?: number
  contentType?: string
  responseTopic?: string
  correlationData?: Buffer
  subscriptionIdentifier?: number
  sessionExpiryInterval?: number
  authenticationMethod?: string
  authenticationData?: Buffer
  requestProblemInformation?: number
  willDelayInterval?: number
  requestResponseInformation?: number
  reasonString?: string
  receiveMaximum?: number
  topicAliasMaximum?: number
  topicAlias?: number
  maximumPacketSize?: number
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
  return length > maxBytesOf(cmd) - 4
    ? new ProtocolError('limit', 'the packet is too large', { reasonCode: REASON.packetTooLarge })
    : null
}

/** The error in the protocol name and version of a CONNECT; with another version the rest may have another layout. */
export function findVersionError(name: string | null, version: number | undefined): ProtocolError | null {
  if (name !== 'MQTT' && name !== 'MQIsdp')
    return new ProtocolError('protocol', '[MQTT-3.1.2-1] the protocol name')
  const isKnown = name === 'MQTT' ? version === 4 || version === 5 : version === 3
  return isKnown
    ? null
    : new ProtocolError('protocol', '[MQTT-3.1.2-2] the protocol version', {
        returnCode: UNACCEPTABLE_VERSION,
      })
}

/** The error in a client identifier, topic, filter or user name. Every point passes through here. */
export function findTextError(text: string, bytes: () => Buffer): ProtocolError | null {
  if (text.includes('\0')) return malformed('[MQTT-1.5.3-2] NUL in a string')
  // The decoder replaces invalid UTF-8 by this character, but a client may also have sent it.
  return text.includes('\uFFFD') && !isUtf8(bytes())
    ? malformed('[MQTT-1.5.3-1] a string that is not UTF-8')
    : null
}

interface Check {
  rule: string
  breaks(packet: Packet, parsedBytes: number): boolean
  returnCode?: number
  reasonCode?: number
  kind?: ProtocolErrorKind
  /** The versions that it holds for; all without it. */
  only?: 'version 5' | 'before version 5'
}

const identifier: Check = {
  rule: '[MQTT-2.3.1-1] a packet identifier of 0, or none',
  breaks: ({ messageId = 0 }) => messageId < 1,
}
/** mqtt-packet does not check this: it reads beyond the end of a packet that is too short, and ignores the rest of one that is too long. */
const length: Check = {
  rule: '[MQTT-4.8.0-1] fields and remaining length differ',
  breaks: (packet, parsedBytes) => parsedBytes !== packet.length,
  reasonCode: REASON.malformed,
}
const fromServer: Check = { rule: '[MQTT-4.8.0-1] a packet that only a server sends', breaks: () => true }
const acknowledgement = [length, identifier]

/** The checks of each command, in order. */
const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  connect: [
    length,
    {
      rule: '[MQTT-3.1.2-14] a will of QoS 3',
      breaks: ({ will }) => will?.qos === 3,
      reasonCode: REASON.malformed,
    },
    {
      only: 'before version 5',
      rule: '[MQTT-3.1.2-22] a password without a user name',
      breaks: ({ username, password }) => password !== undefined && username === undefined,
    },
    {
      only: 'before version 5',
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
      reasonCode: REASON.clientIdentifier,
    },
    {
      rule: 'MQTT 5, section 3.1.2.11.10: authentication data without a method',
      breaks: ({ properties }) =>
        properties?.authenticationData !== undefined && properties.authenticationMethod === undefined,
    },
    {
      rule: 'MQTT 5, section 4.12: the authentication method is unknown',
      breaks: ({ properties }) => properties?.authenticationMethod !== undefined,
      reasonCode: REASON.authenticationMethod,
    },
    {
      only: 'version 5',
      rule: 'MQTT 5, [MQTT-3.2.2-13] a will that is to be retained',
      breaks: ({ will }) => will?.retain === true,
      reasonCode: REASON.retain,
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
      reasonCode: REASON.malformed,
    },
    {
      rule: '[MQTT-3.3.1-2] DUP with QoS 0',
      breaks: ({ qos, dup }) => dup && qos === 0,
      reasonCode: REASON.malformed,
    },
    {
      only: 'version 5',
      rule: 'MQTT 5, section 3.3.2.3.4: a topic alias of 0, or too large',
      breaks: ({ properties: { topicAlias } = {} }) =>
        topicAlias !== undefined && (topicAlias === 0 || topicAlias > MAX_TOPIC_ALIASES),
      reasonCode: REASON.topicAlias,
    },
    {
      only: 'version 5',
      rule: 'MQTT 5, section 3.3.2.1: no topic, and no topic alias',
      breaks: ({ topic, properties }) => topic === '' && properties?.topicAlias === undefined,
    },
    {
      rule: '[MQTT-3.3.2-2] a topic with wildcards, or empty',
      breaks: ({ topic, properties }) =>
        !isTopicName(topic) && (topic !== '' || properties?.topicAlias === undefined),
      reasonCode: REASON.malformed,
    },
    {
      only: 'version 5',
      rule: 'MQTT 5, [MQTT-3.3.2-14] a response topic with wildcards, or empty',
      breaks: ({ properties }) =>
        properties?.responseTopic !== undefined && !isTopicName(properties.responseTopic),
    },
    {
      only: 'version 5',
      rule: 'MQTT 5, section 3.2.2.3.5: a message that is to be retained',
      breaks: ({ retain }) => retain,
      reasonCode: REASON.retain,
    },
    {
      // In version 5 the PUBACK says so.
      only: 'before version 5',
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
      reasonCode: REASON.malformed,
    },
    {
      only: 'version 5',
      rule: 'MQTT 5, [MQTT-3.8.3-4] a shared subscription without its own messages',
      breaks: ({ subscriptions }) => subscriptions.some(({ topic, nl }) => nl && isShared(topic)),
    },
    {
      // In version 5 the SUBACK says so.
      only: 'before version 5',
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
      reasonCode: REASON.malformed,
    },
    {
      kind: 'limit',
      rule: 'the topic is too long or too deep',
      breaks: ({ unsubscriptions }) => !unsubscriptions.every(isWithinLimits),
      reasonCode: REASON.topicFilter,
    },
  ],
  puback: acknowledgement,
  pubrec: acknowledgement,
  pubrel: acknowledgement,
  pubcomp: acknowledgement,
  pingreq: [length],
  disconnect: [length],
  auth: [{ rule: 'MQTT 5, section 4.12: AUTH without an authentication method', breaks: () => true }],
  connack: [fromServer],
  suback: [fromServer],
  unsuback: [fromServer],
  pingresp: [fromServer],
}

/** The first rule of its version that a packet breaks, or null. `parsedBytes` is the position up to which its fields were read. */
export function findProtocolError(
  packet: Packet,
  parsedBytes: number,
  version: number,
): ProtocolError | null {
  const other = version === 5 ? 'before version 5' : 'version 5'
  for (const check of CHECKS[packet.cmd] ?? [fromServer]) {
    if (check.only !== other && check.breaks(packet, parsedBytes))
      return new ProtocolError(check.kind ?? 'protocol', check.rule, check)
  }
  return null
}
