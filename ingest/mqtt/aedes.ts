import type { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { AedesOptions, Client } from 'aedes'
import { writeToStream } from 'mqtt-packet'
import { checkPropertiesLength, readProperties, readVarying } from './properties.ts'
import {
  findAnnouncedError,
  findProtocolError,
  findTextError,
  findVersionError,
  malformed,
  type Packet,
  type Properties,
  ProtocolError,
} from './protocol.ts'

/**
 * All internals of aedes 1.2.0 and mqtt-packet 9.0.2 that Fieldline relies on without their promise. The versions are
 * pinned, and `test/ingest/aedes.test.ts` tries each internal: an upgrade that changes one fails there, with its name.
 *
 * aedes reads a socket and calls its parser's `parse` with each chunk; the only listener handles the packets that the
 * parser emits. Both are replaced here: chunks go to the connection, which parses them packet by packet in its turn,
 * and passes on to aedes only the packets that aedes handles.
 */
interface Internals {
  _parser: Parser
  broker: {
    authenticate(
      client: Client,
      username: string | undefined,
      password: Buffer | undefined,
      done: () => void,
    ): void
  }
  id: string
  clean: boolean
  version: number
  connected: boolean
  connackSent: boolean
  _connectTimer: NodeJS.Timeout | null
  _keepaliveTimer: NodeJS.Timeout | null
  /** The number of packets that aedes still processes; it reads on when there are none. */
  _parsingBatch: number
  pause(): void
  resume(): void
}

interface Parser extends EventEmitter {
  packet: Packet
  /** The CONNECT, once it is parsed. */
  settings: { protocolVersion?: number }
  _list: {
    length: number
    toString(encoding: 'utf8', start: number, end: number): string
    slice(start?: number, end?: number): Buffer
    append(bytes: Buffer): void
    getBuffers(): readonly Buffer[]
    readUInt8(at: number): number
    consume(bytes: number): void
  }
  /** The position up to which the packet's fields were read. */
  _pos: number
  /** The index of the packet's next part; 0 is a new packet. */
  _stateCounter: number
  parse(chunk: Buffer): number
  _parseHeader(): boolean
  _parseLength(): boolean
  _parseConnect(): unknown
  _parseString(): string | null
  _parseNum(): number
  _parseProperties(): Properties
  _emitError(error: Error): false
}

const internalsOf = (client: Client) => client as unknown as Internals
const originalOf = (parser: Parser) => Object.getPrototypeOf(parser) as Parser

const MAY_OMIT_PROPERTIES = new Set(['puback', 'pubrec', 'pubrel', 'pubcomp', 'disconnect', 'auth'])
/** The parser's step that waits for the whole payload. */
const PAYLOAD = 2
/** The number of pieces of a packet that are kept separately: a piece of one byte takes 280. */
const MAX_PIECES = 1_000

/** Parses packets from pieces for one client of aedes, on request. */
export class PacketParser {
  readonly #parser: Parser
  readonly #passOn: (packet: Packet) => void
  readonly #keep: (packet: Packet) => void
  #packet: Packet | null = null
  #error: ProtocolError | null = null

  /** `read` is called with each chunk that aedes reads from the socket. */
  constructor(client: Client, read: (chunk: Buffer) => void) {
    const { _parser: parser } = internalsOf(client)
    this.#parser = parser
    this.#passOn = parser.listeners('packet')[0] as (packet: Packet) => void
    this.#keep = packet => {
      this.#packet = packet
      // The parser's position is the end of the packet only while the packet is emitted.
      this.#error ??= findProtocolError(packet, parser._pos, this.version)
    }
    parser.removeAllListeners('packet').on('packet', this.#keep)
    parser.removeAllListeners('error').on('error', error => {
      this.#error ??= error instanceof ProtocolError ? error : malformed(error.message)
    })
    parser.parse = chunk => {
      read(chunk)
      return 0
    }
    parser._parseHeader = parseHeader
    parser._parseLength = parseLength
    parser._parseConnect = parseConnect
    parser._parseString = parseString
    parser._parseProperties = parseProperties
  }

  /** The version of MQTT that the client speaks; 0 until its CONNECT says so. */
  get version(): number {
    const { settings, packet } = this.#parser
    return settings.protocolVersion ?? packet.protocolVersion ?? 0
  }

  /** The number of bytes that the begun packet still lacks; null between two packets. */
  get missingBytes(): number | null {
    const { _list, _stateCounter, packet } = this.#parser
    if (_list.length === 0 && _stateCounter === 0) return null
    // As long as its length is unknown the packet is parsed byte by byte.
    return _stateCounter === PAYLOAD ? Math.max(1, packet.length - _list.length) : 1
  }

  /** Parses a piece of at most one packet. Returns the packet that it completes, or null; throws the packet's error. */
  parse(piece: Buffer): Packet | null {
    const parser = this.#parser
    // aedes removes the listeners when the connection ends.
    if (parser.listenerCount('packet') === 0) parser.on('packet', this.#keep)
    const { _list } = parser
    if (_list.getBuffers().length >= MAX_PIECES) {
      const bytes = _list.slice()
      _list.consume(bytes.length)
      _list.append(bytes)
    }
    originalOf(parser).parse.call(parser, piece)
    const packet = this.#packet
    this.#packet = null
    if (this.#error) throw this.#error
    return packet
  }

  /** Passes a packet on to aedes. */
  passOn(packet: Packet): void {
    this.#passOn.call(this.#parser, packet)
  }

  /** Drops the CONNECT with its password; the parser only needs the version. */
  forgetConnect(protocolVersion: number): void {
    this.#parser.settings = { protocolVersion }
  }
}

/** PUBREL, SUBSCRIBE and UNSUBSCRIBE that are sent again: MQTT 3.1 sets DUP in them, and 3.1.1 forbids it. */
const REPEATED: Readonly<Record<number, string>> = { 106: 'pubrel', 138: 'subscribe', 170: 'unsubscribe' }

function parseHeader(this: Parser): boolean {
  const repeated = this.settings.protocolVersion === 3 && REPEATED[this._list.readUInt8(0)]
  if (!repeated) return originalOf(this)._parseHeader.call(this)
  Object.assign(this.packet, { cmd: repeated, qos: 1, dup: true, retain: false })
  this._list.consume(1)
  return true
}

/** Rejects a packet that must not be read as soon as its length is known. */
function parseLength(this: Parser): boolean {
  if (!originalOf(this)._parseLength.call(this)) return false
  const error = findAnnouncedError(this.packet, this.settings.protocolVersion !== undefined)
  if (error) this._emitError(error)
  return true
}

function parseConnect(this: Parser): unknown {
  const name = this._parseString()
  const version = this._pos < this.packet.length ? this._list.readUInt8(this._pos) : undefined
  this._pos = 0
  const error = findVersionError(name, version)
  return error ? this._emitError(error) : originalOf(this)._parseConnect.call(this)
}

/**
 * Properties are read from one buffer of known length. In an acknowledgement and a DISCONNECT they may be left out. [MQTT 5,
 * 3.4.2.2.1], [MQTT 5, 3.14.2.2.1]
 */
function parseProperties(this: Parser): Properties {
  const { packet, _list } = this
  const end = Math.min(packet.length, _list.length)
  if (MAY_OMIT_PROPERTIES.has(packet.cmd) && this._pos >= end) return {}
  try {
    const { value, end: begin } = readVarying(_list.slice(this._pos, Math.min(this._pos + 4, end)), 0)
    const from = this._pos + begin
    checkPropertiesLength(value)
    if (from + value > end) throw malformed('MQTT 5, section 2.2.2.1: properties beyond the end')
    this._pos = from + value
    // The will's are the second ones of a CONNECT.
    const owner = packet.cmd === 'connect' && packet.clientId !== undefined ? 'will' : packet.cmd
    return readProperties(_list.slice(from, from + value), owner)
  } catch (error) {
    this._emitError(error as Error)
    return {}
  }
}

/** Every point passes through here, so it decodes only once. */
function parseString(this: Parser): string | null {
  const length = this._parseNum()
  const end = this._pos + length
  if (length < 0 || end > this._list.length || end > this.packet.length) return null
  const text = this._list.toString('utf8', this._pos, end)
  const error = findTextError(text, () => this._list.slice(this._pos, end))
  if (error) {
    this._emitError(error)
    return null
  }
  this._pos = end
  return text
}

/** Stops reading the socket at once: aedes by itself stops two turns later. */
export function pauseReading(client: Client): void {
  internalsOf(client).pause()
}

export function resumeReading(client: Client): void {
  const internals = internalsOf(client)
  // While paused, aedes does not count finished packets, and would wait for them forever.
  internals._parsingBatch = 1
  internals.resume()
}

/**
 * Does what aedes does with a CONNECT, for version 5, which aedes does not speak: `onAdmitted` answers it with CONNACK.
 * `onSilent` is called when the keepalive is over.
 */
export function signIn(
  client: Client,
  { clientId, clean, keepalive, username, password }: Packet,
  { onAdmitted, onSilent }: { onAdmitted: () => void; onSilent: () => void },
): void {
  const internals = internalsOf(client)
  if (internals._connectTimer) clearTimeout(internals._connectTimer)
  internals._connectTimer = null
  Object.assign(internals, { id: clientId, clean, version: 5 })
  internals.broker.authenticate(client, username, password, () => {
    // [MQTT 5, MQTT-3.1.2-22]
    if (keepalive > 0) internals._keepaliveTimer = setTimeout(onSilent, keepalive * 1_500)
    internals.connected = true
    internals.connackSent = true
    onAdmitted()
    resumeReading(client)
    client.emit('connected')
  })
}

/** Restarts the keepalive timer of a client. */
export function refreshKeepalive(client: Client): void {
  internalsOf(client)._keepaliveTimer?.refresh()
}

/** Writes a last answer. Unread bytes would reset the socket when it is closed, so the rest is read and dropped. */
export function endWith(client: Client, answer: Buffer): void {
  client.conn.removeAllListeners('readable')
  client.conn.resume()
  client.conn.end(answer)
}

/** Turns off mqtt-packet's cache of 65,536 buffers, 12 MB, for two-byte numbers. */
export function keepNoNumbers(): void {
  writeToStream.cacheNumbers = false
}

/** Replaces aedes' delivery, which nobody uses: `sessions.ts` sends all messages. */
export const NO_DELIVERY = {
  on: (_topic: string, _notify: unknown, done?: () => void) => void (done && setImmediate(done)),
  removeListener: (_topic: string, _notify: unknown, done?: () => void) => void (done && setImmediate(done)),
  emit: (_packet: unknown, done?: () => void) => void (done && setImmediate(done)),
  close: (done: () => void) => void setImmediate(done),
} as unknown as AedesOptions['mq']

/** Replaces aedes' persistence: it keeps nothing, and only tells aedes whether a session was kept. */
export function createPersistence(isResumed: (clientId: string) => boolean): AedesOptions['persistence'] {
  return {
    async setup() {},
    // aedes sets session-present for a session with subscriptions. A client may not have this one, so it has no effect.
    subscriptionsByClient: async ({ id }: { id: string }) =>
      isResumed(id) ? [{ topic: 'kept', qos: 0 }] : [],
    outgoingStream: () => Readable.from([]),
    createRetainedStreamCombi: () => Readable.from([]),
    streamWill: () => Readable.from([]),
    addSubscriptions: nothing,
    removeSubscriptions: nothing,
    cleanSubscriptions: nothing,
    subscriptionsByTopic: async () => [],
    outgoingUpdate: nothing,
    outgoingClearMessageId: nothing,
    incomingGetPacket: () => Promise.reject(new Error('Nothing is kept')),
    putWill: nothing,
    delWill: nothing,
  }
}

async function nothing(): Promise<void> {}
