import { isUtf8 } from 'node:buffer'
import type { EventEmitter } from 'node:events'
import { MAX_CLIENT_ID_BYTES, MAX_CONNECT_BYTES, MAX_CONTROL_BYTES, MAX_PACKET_BYTES } from './limits.ts'
import { isTopicFilter, isTopicName, isWithinLimits } from './topics.ts'

/**
 * What MQTT 3.1.1 forbids and aedes or its parser let pass, each with its rule's number in the standard (OASIS, 29
 * October 2014). Some are seen while a packet is parsed, so `teach` replaces three steps of the parser and takes
 * over a fourth; the rest is a list of checks of the parsed packet.
 *
 * The answer to all of them is [MQTT-4.8.0-1]: the connection is closed. Where the standard has a return code for a
 * CONNECT, it is sent before.
 */
export class Breach extends Error {
  readonly kind: BreachKind
  readonly returnCode: number | undefined
  constructor(kind: BreachKind, message: string, returnCode?: number, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.returnCode = returnCode
  }
}

/** Why a connection is refused or closed: a rule or limit of this file, or something that the door finds. */
export type BreachKind = 'protocol' | 'limit' | 'topic' | 'credentials' | 'unavailable' | 'failure'

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
  will?: { qos: number; topic: string }
  subscriptions: { topic: string; qos: 0 | 1 | 2 }[]
  unsubscriptions: string[]
}

/** The private parts of mqtt-packet 9.0.2 that are used here; `test/ingest/aedes.test.ts` checks that they are there. */
export interface Parser extends EventEmitter {
  packet: Packet
  /** The CONNECT, once it is parsed. */
  settings: { protocolVersion?: number }
  _list: {
    length: number
    toString(encoding: 'utf8', start: number, end: number): string
    slice(start: number, end: number): Buffer
    readUInt8(at: number): number
    consume(bytes: number): void
  }
  _pos: number
  /** Which part of a packet comes next; 0 is a new one. */
  _stateCounter: number
  parse(chunk: Buffer): number
  _parseHeader(): boolean
  _parseLength(): boolean
  _parseConnect(): unknown
  _parseString(): string | null
  _parseNum(): number
  _emitError(error: Error): false
}

/** Makes a parser of mqtt-packet as strict as the standard, and where it is stricter, as mild. */
export function teach(parser: Parser): void {
  parser._parseHeader = parseHeader
  parser._parseLength = parseLength
  parser._parseConnect = parseConnect
  parser._parseString = parseString
}

const originalOf = (parser: Parser) => Object.getPrototypeOf(parser) as Parser
const isConnected = (parser: Parser) => parser.settings.protocolVersion !== undefined

/** PUBREL, SUBSCRIBE and UNSUBSCRIBE that are sent again: MQTT 3.1 sets DUP in them, 3.1.1 forbids it. */
const REPEATED: Readonly<Record<number, string>> = { 106: 'pubrel', 138: 'subscribe', 170: 'unsubscribe' }

function parseHeader(this: Parser): boolean {
  const repeated = this.settings.protocolVersion === 3 && REPEATED[this._list.readUInt8(0)]
  if (!repeated) return originalOf(this)._parseHeader.call(this)
  Object.assign(this.packet, { cmd: repeated, qos: 1, dup: true, retain: false })
  this._list.consume(1)
  return true
}

const mostOf = (cmd: string) =>
  cmd === 'publish' ? MAX_PACKET_BYTES : cmd === 'connect' ? MAX_CONNECT_BYTES : MAX_CONTROL_BYTES

/** Refuses as soon as it is announced what is never to be read. */
function parseLength(this: Parser): boolean {
  if (!originalOf(this)._parseLength.call(this)) return false
  const { cmd, length } = this.packet
  const connected = isConnected(this)
  if (!connected && cmd !== 'connect')
    this._emitError(new Breach('protocol', '[MQTT-3.1.0-1] the first packet is no CONNECT'))
  else if (connected && cmd === 'connect')
    this._emitError(new Breach('protocol', '[MQTT-3.1.0-2] a second CONNECT'))
  // The header of the largest is four bytes.
  else if (length > mostOf(cmd) - 4) this._emitError(new Breach('limit', 'the packet is too large'))
  return true
}

/** Name and version are looked at before the rest, which another version may lay out in its own way. */
function parseConnect(this: Parser): unknown {
  const name = this._parseString()
  const version = this._pos < this.packet.length ? this._list.readUInt8(this._pos) : undefined
  this._pos = 0
  if (name !== 'MQTT' && name !== 'MQIsdp')
    return this._emitError(new Breach('protocol', '[MQTT-3.1.2-1] the protocol name'))
  if (version !== (name === 'MQTT' ? 4 : 3))
    return this._emitError(
      new Breach('protocol', '[MQTT-3.1.2-2] the protocol version', UNACCEPTABLE_VERSION),
    )
  return originalOf(this)._parseConnect.call(this)
}

/** Client identifiers, topics, filters and user names. On the way of every point, so it decodes once and looks twice. */
function parseString(this: Parser): string | null {
  const length = this._parseNum()
  const end = this._pos + length
  if (length < 0 || end > this._list.length || end > this.packet.length) return null
  const text = this._list.toString('utf8', this._pos, end)
  if (text.includes('\0')) {
    this._emitError(new Breach('protocol', '[MQTT-1.5.3-2] NUL in a string'))
    return null
  }
  // What is no UTF-8 was replaced by this character, which may also have been sent.
  if (text.includes('\uFFFD') && !isUtf8(this._list.slice(this._pos, end))) {
    this._emitError(new Breach('protocol', '[MQTT-1.5.3-1] a string that is not UTF-8'))
    return null
  }
  this._pos = end
  return text
}

interface Check {
  rule: string
  breaks(packet: Packet, parser: Parser): boolean
  returnCode?: number
  kind?: BreachKind
}

const identifier: Check = {
  rule: '[MQTT-2.3.1-1] a packet identifier of 0, or none',
  breaks: ({ messageId = 0 }) => messageId < 1,
}
/** The parser reads fields beyond the end of a short packet, and drops what a long one has left. */
const length: Check = {
  rule: '[MQTT-4.8.0-1] fields and remaining length differ',
  breaks: (packet, parser) => parser._pos !== packet.length,
}
const fromServer: Check = { rule: '[MQTT-4.8.0-1] a packet that only a server sends', breaks: () => true }
const acknowledgement = [length, identifier]

/** In the order in which they are looked at, by command. */
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
    { rule: '[MQTT-4.8.0-1] fields beyond the end', breaks: (packet, parser) => parser._pos > packet.length },
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

/** The first rule that a packet breaks, or null. To be asked while the parser stands at its end. */
export function findBreach(packet: Packet, parser: Parser): Breach | null {
  for (const check of CHECKS[packet.cmd] ?? [fromServer]) {
    if (check.breaks(packet, parser))
      return new Breach(check.kind ?? 'protocol', check.rule, check.returnCode)
  }
  return null
}
