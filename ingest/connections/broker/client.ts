import type { Duplex } from 'node:stream'
import { generate, type Packet, parser } from 'mqtt-packet'
import type { Scheduler } from '../../../fair/scheduler.ts'
import type { Log } from '../../../stream/log.ts'
import { type Ack, AckQueue } from '../../mqtt/ack-queue.ts'
import { MAX_PACKET_BYTES, MAX_UNREAD_BYTES, TURN_MS } from '../../mqtt/limits.ts'
import type { Tenant, Tenants } from '../../mqtt/tenants.ts'
import type { TrackerMessage } from '../../profiles/profile.ts'
import type { TrackerConnection } from '../connection.ts'
import type { Intake, Sender, Taken } from '../intake.ts'
import { connectPacket } from './connect-packet.ts'
import { BrokerFault, farewell, refusal, WrongVersion } from './faults.ts'
import { BrokenFrame, type Frame, Frames } from './frames.ts'
import type { BrokerSettings } from './settings.ts'

/**
 * One connection to another broker, where Fieldline is the client. It signs in, subscribes, and acknowledges each
 * message in its order once the intake has stored it. The acknowledgement is written to the stream from which the
 * message came, and to no other: after a reconnection the same packet identifier may be another message.
 *
 * While much waits to be stored, nothing is read. So a PINGRESP may be unread as well, and the broker's silence counts
 * only while the stream is read; PINGREQ is sent all the time. A connection never comes back: its holder opens another.
 */
export interface ClientServices {
  intake: Intake
  log: Log
  scheduler: Scheduler
  tenants: Tenants
}

const PING_EVERY_MS = 15_000
const SILENT_MS = 45_000
/** From opening the stream to the CONNACK, and from there to the SUBACK. */
const ANSWER_WITHIN_MS = 10_000
const MAX_GROUP = 500
const PINGREQ = Buffer.from([0xc0, 0])
const CONNACK = 2

export class BrokerClient {
  readonly #stream: Duplex
  readonly #connection: TrackerConnection
  readonly #settings: BrokerSettings
  readonly #version: 4 | 5
  readonly #services: ClientServices
  readonly #tenant: Tenant
  readonly #onState: (complaint: string | null) => void
  readonly #onEnd: (error: unknown) => void
  readonly #frames = new Frames()
  readonly #acks = new AckQueue()
  readonly #sender: Sender = { ended: false }
  readonly #parser: ReturnType<typeof parser>
  readonly #timers: NodeJS.Timeout[] = []
  /** The topics of an earlier connection to unsubscribe from. */
  readonly #formerTopics: readonly string[]
  readonly #stopListening: () => void
  #packet: Packet | null = null
  #deadline: NodeJS.Timeout | undefined
  /** The sentence for an answer that does not come; null if none is awaited. */
  #awaited: string | null = null
  #isSignedIn = false
  #isWaiting = false
  #isPaused = false
  #isBehind = false
  #hasEnded = false
  #lastHeard = performance.now()
  #group: { acks: Ack[]; taken: Taken[]; entries: number } | null = null

  constructor(options: {
    stream: Duplex
    connection: TrackerConnection
    settings: BrokerSettings
    version: 4 | 5
    formerTopics: readonly string[]
    services: ClientServices
    /** Called when the broker has accepted the subscription; it may promise less than was asked for. */
    onState: (complaint: string | null) => void
    /** Called once. */
    onEnd: (error: unknown) => void
  }) {
    const { stream, version, services } = options
    this.#stream = stream
    this.#connection = options.connection
    this.#settings = options.settings
    this.#version = version
    this.#services = services
    this.#tenant = services.tenants.of(options.connection)
    this.#onState = options.onState
    this.#onEnd = options.onEnd
    this.#formerTopics = options.formerTopics
    this.#parser = parser({ protocolVersion: version })
    this.#parser.on('packet', packet => {
      this.#packet = packet
    })
    this.#parser.on('error', () => {
      this.#packet = null
    })
    stream.on('data', chunk => this.#read(chunk))
    stream.on('error', (error: NodeJS.ErrnoException) =>
      this.#end(this.#isHangUp(error) ? this.#hangUp() : error),
    )
    stream.on('close', () => this.#end(this.#hangUp()))
    this.#stopListening = services.log.onFull(() => this.#updateReading())
    this.#timers.push(setInterval(() => this.#ping(), PING_EVERY_MS))
    this.#expect('The broker does not answer.')
    stream.write(connectPacket(options.settings, version))
  }

  /** Says goodbye; what is not acknowledged comes again to the next connection. `forget` also ends the session. */
  close({ forget }: { forget: boolean }): void {
    if (this.#hasEnded) return
    if (this.#isSignedIn) {
      if (forget) this.#unsubscribe(this.#settings.topics)
      const properties = forget && this.#version === 5 ? { properties: { sessionExpiryInterval: 0 } } : {}
      this.#stream.write(generate({ cmd: 'disconnect', ...properties }, { protocolVersion: this.#version }))
    }
    this.#end(null)
  }

  #isHangUp({ code }: NodeJS.ErrnoException): boolean {
    return code === 'ECONNRESET' || code === 'EPIPE'
  }

  /** A broker that does not know version 5 may answer its CONNECT by closing. */
  #hangUp(): BrokerFault {
    const sentence = 'The broker closed the connection.'
    return this.#isSignedIn || this.#version === 4 ? new BrokerFault(sentence) : new WrongVersion(sentence)
  }

  /** An answer may stand behind messages that wait to be stored, so its time runs only while the stream is read. */
  #expect(sentence: string | null): void {
    this.#awaited = sentence
    clearTimeout(this.#deadline)
    if (sentence === null || this.#isPaused) return
    this.#deadline = setTimeout(() => this.#end(new BrokerFault(sentence)), ANSWER_WITHIN_MS)
  }

  #ping(): void {
    if (!this.#isSignedIn) return
    const silent = performance.now() - this.#lastHeard > SILENT_MS
    if (silent && !this.#isPaused) this.#end(new BrokerFault('The broker does not answer any more.'))
    if (this.#stream.writableLength > MAX_UNREAD_BYTES)
      this.#end(new BrokerFault('The broker does not read what it is sent.'))
    if (!this.#hasEnded) this.#stream.write(PINGREQ)
  }

  #end(error: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#sender.ended = true
    clearTimeout(this.#deadline)
    for (const timer of this.#timers) clearInterval(timer)
    this.#stopListening()
    // The end of a stream that closes by itself is no error any more.
    this.#stream.on('error', () => {})
    if (error === null) this.#stream.end()
    const stream = this.#stream
    setTimeout(() => stream.destroy(), error === null ? 500 : 0).unref()
    this.#onEnd(error)
  }

  #read(chunk: Buffer): void {
    if (this.#hasEnded) return
    this.#lastHeard = performance.now()
    this.#frames.add(chunk)
    this.#waitForTurn()
    this.#updateReading()
  }

  /** Handles packets in the organization's turns, so that a busy broker delays nobody else. */
  #waitForTurn(): void {
    if (this.#isWaiting || this.#hasEnded) return
    this.#isWaiting = true
    this.#services.scheduler.enter(this.#connection.organizationId, () => {
      if (this.#advance()) return true
      this.#isWaiting = false
      this.#updateReading()
      return false
    })
  }

  /** Handles packets for a moment. Returns whether more are ready. */
  #advance(): boolean {
    const until = performance.now() + TURN_MS
    try {
      while (!this.#hasEnded && !this.#isOver) {
        // A server that is no broker sends something else, and perhaps no whole packet.
        if (!this.#isSignedIn && (this.#frames.nextKind ?? CONNACK) !== CONNACK)
          throw new BrokenFrame('another answer than CONNACK')
        const frame = this.#frames.next()
        if (!frame) return false
        this.#handle(frame)
        if (performance.now() >= until) return true
      }
    } catch (error) {
      const known = error instanceof BrokerFault
      this.#end(
        known || !(error instanceof BrokenFrame)
          ? error
          : new BrokerFault(`The broker breaks a rule of MQTT: ${error.message}.`),
      )
    } finally {
      this.#store()
    }
    return false
  }

  get #isOver(): boolean {
    return this.#acks.over || this.#services.log.full || this.#tenant.over
  }

  /** Looks again when the share of the connection or its organization in the log has room. */
  #awaitShare(): void {
    if (this.#isBehind || !this.#tenant.over) return
    this.#isBehind = true
    this.#tenant.wait(() => {
      this.#isBehind = false
      this.#updateReading()
    })
  }

  #updateReading(): void {
    if (this.#hasEnded) return
    this.#awaitShare()
    const paused = this.#isOver || this.#frames.length > MAX_PACKET_BYTES
    if (!this.#isOver && this.#frames.length > 0 && !this.#isWaiting && this.#isPaused) this.#waitForTurn()
    if (paused === this.#isPaused) return
    this.#isPaused = paused
    if (paused) this.#stream.pause()
    else {
      this.#lastHeard = performance.now()
      this.#stream.resume()
    }
    this.#expect(this.#awaited)
  }

  #handle(frame: Frame): void {
    if ('tooLarge' in frame) {
      this.#skip(frame)
      return
    }
    if (!this.#isSignedIn) {
      this.#signIn(frame.bytes)
      return
    }
    const packet = this.#parse(frame.bytes)
    switch (packet.cmd) {
      case 'publish':
        this.#take(packet.topic, packet.payload as Buffer, packet, frame.bytes.length)
        return
      case 'suback':
        this.#subscribed(packet.granted as (number | { reasonCode?: number })[])
        return
      // A session may still hold messages of QoS 2, for which another client has subscribed.
      case 'pubrel':
        this.#acks.addRelease(packet.messageId ?? 0)
        this.#flush()
        return
      case 'disconnect':
        throw farewell(packet.reasonCode ?? 0)
      default:
    }
  }

  #parse(bytes: Buffer): Packet {
    this.#packet = null
    this.#parser.parse(bytes)
    const packet = this.#packet as Packet | null
    if (!packet) throw new BrokenFrame('a packet that cannot be read')
    return packet
  }

  #signIn(bytes: Buffer): void {
    // A broker of version 3.1.1 answers a CONNECT of version 5 in its own way, with two bytes.
    const isOlder = bytes.length === 4
    const code = isOlder ? (bytes[3] ?? 0) : readReason(bytes)
    if (code !== 0) throw refusal(code, isOlder && this.#version === 5 && code < 0x80 ? 4 : this.#version)
    this.#isSignedIn = true
    this.#expect('The broker does not answer the subscription.')
    this.#unsubscribe(this.#formerTopics)
    const subscriptions = this.#settings.topics.map(topic => ({
      topic,
      qos: 1 as const,
      nl: false,
      rap: false,
      rh: 0,
    }))
    this.#stream.write(
      generate({ cmd: 'subscribe', messageId: 1, subscriptions }, { protocolVersion: this.#version }),
    )
  }

  #unsubscribe(topics: readonly string[]): void {
    if (topics.length === 0) return
    this.#stream.write(
      generate(
        { cmd: 'unsubscribe', messageId: 2, unsubscriptions: [...topics] },
        { protocolVersion: this.#version },
      ),
    )
  }

  #subscribed(granted: readonly (number | { reasonCode?: number })[]): void {
    const codes = granted.map(one => (typeof one === 'number' ? one : (one.reasonCode ?? 0)))
    const refused = codes.findIndex(code => code >= 0x80)
    if (refused !== -1)
      throw new BrokerFault(`The broker refuses the subscription to ${this.#settings.topics[refused]}.`)
    this.#expect(null)
    const unsafe = codes.indexOf(0)
    this.#onState(unsafe === -1 ? null : withoutAcknowledgement(this.#settings.topics[unsafe]))
  }

  #take(
    topic: string,
    payload: Buffer,
    { qos, messageId = 0 }: { qos: 0 | 1 | 2; messageId?: number | undefined },
    length: number,
  ): void {
    const message: TrackerMessage = { payload, topic, clientId: null, username: null, query: null }
    // An empty message clears a retained one.
    if (payload.length === 0) {
      this.#acknowledgeAtOnce(topic, { qos, messageId }, length)
      return
    }
    const taken = this.#services.intake.read(this.#connection, message)
    const entries = Math.max(1, taken.read.positions.length)
    const ack = this.#acks.add({ qos, messageId, length, topic, payload }, entries)
    this.#group ??= { acks: [], taken: [], entries: 0 }
    this.#group.acks.push(ack)
    this.#group.taken.push(taken)
    this.#group.entries += entries
    if (this.#group.taken.length >= MAX_GROUP) this.#store()
  }

  #acknowledgeAtOnce(
    topic: string,
    { qos, messageId }: { qos: 0 | 1 | 2; messageId: number },
    length: number,
  ): void {
    this.#acks.add({ qos, messageId, length, topic, payload: Buffer.alloc(0) }, 0)
    this.#flush()
  }

  /** A message that is too large is rejected, and acknowledged so that it does not come again. */
  #skip({ topic, qos, messageId, length }: Extract<Frame, { tooLarge: true }>): void {
    const { journal } = this.#services.intake
    const sentence = `The broker sent a message of ${length} bytes to ${topic.slice(0, 100)}; at most ${MAX_PACKET_BYTES} are read.`
    journal.complain(this.#connection, sentence)
    journal.note(
      this.#connection,
      { payload: Buffer.alloc(0), topic, clientId: null, username: null, query: null },
      this.#services.intake.now(),
      { points: 0, skipped: null, rejected: [{ reason: 'too-many', message: sentence }] },
      { rejected: 1, unknown: 0 },
    )
    this.#acknowledgeAtOnce(topic, { qos, messageId }, 0)
  }

  /** Stores the messages that were read together, and acknowledges them then. */
  #store(): void {
    const group = this.#group
    if (!group || this.#hasEnded) return
    this.#group = null
    this.#tenant.add(group.entries)
    this.#services.intake.store(this.#connection, group.taken, this.#sender, 'broker').then(
      () => {
        this.#tenant.add(-group.entries)
        for (const ack of group.acks) ack.durable = true
        this.#flush()
      },
      () => {
        this.#tenant.add(-group.entries)
        this.#end(new BrokerFault('The messages could not be stored.'))
      },
    )
  }

  #flush(): void {
    if (this.#hasEnded) return
    const answers = this.#acks.takeDurable()
    if (answers.length > 0) this.#stream.write(answers)
    this.#updateReading()
  }
}

const withoutAcknowledgement = (topic = '') =>
  `The broker delivers ${topic} with QoS 0 only: what it sends while nobody listens is lost.`

/** The reason code of a CONNACK, which follows the flags after a length of one to four bytes. [MQTT 5, 3.2.2] */
function readReason(bytes: Buffer): number {
  let at = 1
  while (((bytes[at] ?? 0) & 128) !== 0 && at < 4) at++
  return bytes[at + 2] ?? 0
}
