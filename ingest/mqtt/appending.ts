import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log, Source } from '../../stream/log.ts'
import type { Entry, Outcomes } from '../../stream/point.ts'
import type { TrackerConnection } from '../connections/connection.ts'
import type { Intake, Taken } from '../connections/intake.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { IngestMetrics } from '../metrics.ts'
import { type Ack, AckQueue } from './ack-queue.ts'
import type { AnswerOutcome } from './command-answers.ts'
import type { ForDevice, ForDevices } from './for-devices.ts'
import { ENTRIES_OF_ANSWER } from './limits.ts'
import { ProtocolError } from './protocol.ts'
import type { Publish } from './publishes.ts'
import { REASON } from './reasons.ts'
import { listRejections, mayHaveRejections, sendRejections } from './rejections.ts'
import type { Sessions } from './sessions.ts'
import type { ClientSocket } from './socket.ts'
import type { Tenant, Tenants } from './tenants.ts'
import { explain, type Rejections } from './terms.ts'

/**
 * Messages that were read together and are appended together: a waiting message takes a third of the memory (0.33 KB,
 * alone 1.06), and the log has one promise instead of hundreds.
 */
interface Group {
  source: Source
  acks: Ack[]
  /** The entries of all messages, in order. */
  entries: Entry[]
  /** The time of receipt, by `performance.now()`. */
  receivedAt: number
}

interface AppendingServices {
  log: Log
  intake: Intake
  forDevices: ForDevices
  scheduler: Scheduler
  tenants: Tenants
  sessions: Sessions
  metrics: IngestMetrics
}

/** Messages of a connection of trackers, or of an API key, that were read together. */
interface TakenGroup {
  acks: Ack[]
  taken: (Taken | ForDevice)[]
  entries: number
  lasting: boolean
}

/** The size of a group, so that the points of others go to the log in between. */
const MAX_GROUP_ENTRIES = 1_000
const NOBODY: Source = { ended: false, subjects: [] }

/** The last steps of one connection's messages: they are gathered, appended to the log, and acknowledged. */
export class Appending {
  readonly #socket: ClientSocket
  readonly #services: AppendingServices
  readonly #acks = new AckQueue()
  #publisher: Publisher | null = null
  #connection: TrackerConnection | null = null
  #taken: TakenGroup | null = null
  #tenant: Tenant | null = null
  #source = NOBODY
  /** The source of messages of QoS 0, which are not sent again, so the end of their connection must not drop them. */
  #lasting = NOBODY
  #group: Group | null = null
  #isFlushing = false
  #wake: (() => void) | null = null

  constructor(socket: ClientSocket, services: AppendingServices) {
    this.#socket = socket
    this.#services = services
  }

  /** Sets the sender of all further messages, and whether it goes on with a session. */
  open(publisher: Publisher | TrackerConnection, isResumed: boolean): void {
    this.#tenant = this.#services.tenants.of(publisher)
    if (this.#socket.terms) this.#acks.countInFlight(isResumed)
    const subjects = publisher.kind === 'connection' ? [] : [publisher]
    this.#source = { ended: false, subjects }
    this.#lasting = { ended: false, subjects }
    if (publisher.kind === 'connection') this.#connection = publisher
    else this.#publisher = publisher
  }

  /** The number of messages that are not acknowledged. */
  get pending(): number {
    return this.#acks.length
  }

  /** The number of messages that a client of version 5 has in flight. */
  get inFlight(): number {
    return this.#acks.inFlight
  }

  /** Whether the backlog of the connection, its credential or its organization is too large to read more. */
  get over(): boolean {
    return this.#acks.over || this.#tenant?.over === true
  }

  /** Calls `wake` once, when `over` is false again. */
  wait(wake: () => void): void {
    if (this.#acks.over) this.#wake = wake
    else this.#tenant?.wait(wake)
  }

  /** Drops waiting messages, except those of QoS 0, which nobody would send again. */
  end(): void {
    if (this.#tenant) this.#source.ended = true
  }

  /** Gathers the entries of a PUBLISH with those of the messages read together with it. */
  add(publish: Publish, entries: readonly Entry[]): void {
    const ack = this.#acks.add(publish, entries.length)
    if (ack.durable) {
      this.#scheduleFlush()
      return
    }
    const source = publish.qos === 0 ? this.#lasting : this.#source
    if (this.#group?.source !== source) {
      this.#append()
      this.#group = { source, acks: [], entries: [], receivedAt: performance.now() }
      process.nextTick(Appending.#appendOf, this)
    }
    this.#group.acks.push(ack)
    for (const entry of entries) this.#group.entries.push(entry)
    if (this.#group.entries.length >= MAX_GROUP_ENTRIES) this.#append()
  }

  /** Gathers a message of a connection of trackers, or of an API key, with those read together with it. */
  take(publish: Publish, taken: Taken | ForDevice): void {
    const points = 'read' in taken ? taken.read.positions : taken.entries
    const entries = Math.max(1, points.length)
    const ack = this.#acks.add(publish, entries)
    const lasting = publish.qos === 0
    if (this.#taken?.lasting !== lasting) {
      this.#store()
      this.#taken = { acks: [], taken: [], entries: 0, lasting }
      process.nextTick(Appending.#storeOf, this)
    }
    this.#taken.acks.push(ack)
    this.#taken.taken.push(taken)
    this.#taken.entries += entries
    if (this.#taken.entries >= MAX_GROUP_ENTRIES) this.#store()
  }

  /** Stores the gathered messages for devices. */
  #store(): void {
    const group = this.#taken
    if (!group) return
    this.#taken = null
    this.#tenant?.add(group.entries)
    const sender = group.lasting ? this.#lasting : this.#source
    this.#keep(group.taken, sender).then(
      rejections => {
        this.#tenant?.add(-group.entries)
        for (const [index, ack] of group.acks.entries()) this.#settle(ack, rejections[index])
        this.#scheduleFlush()
      },
      error => {
        this.#tenant?.add(-group.entries)
        this.#socket.closeFor(new ProtocolError('unavailable', 'storing messages', { cause: error }))
      },
    )
  }

  /** Marks a message as durable; version 5 says in its answer what was rejected of it. */
  #settle(ack: Ack, rejections: Rejections | undefined): void {
    const { terms } = this.#socket
    if (terms && rejections && rejections.count > 0) ack.reason = explain(rejections, terms)
    ack.durable = true
  }

  #keep(taken: readonly (Taken | ForDevice)[], sender: Source): Promise<readonly Rejections[]> {
    const { intake, forDevices } = this.#services
    return this.#connection
      ? intake.store(this.#connection, taken as Taken[], sender, 'mqtt')
      : forDevices.store(this.#publisher as Publisher, taken as ForDevice[], sender)
  }

  /** Refuses a message that its sender may not publish there, which only version 5 can without closing the connection. */
  refuse(publish: Publish, reasonCode: number): void {
    this.#acks.addRefused(publish, reasonCode)
    this.#scheduleFlush()
  }

  /** Acknowledges the answer to a command once it is stored. */
  answer(publish: Publish, stored: Promise<AnswerOutcome>): void {
    const ack = this.#acks.add(publish, ENTRIES_OF_ANSWER)
    this.#tenant?.add(ENTRIES_OF_ANSWER)
    stored
      .then(
        outcome => {
          if (outcome === 'unknown' && this.#socket.terms) ack.reason = Buffer.of(REASON.topicName)
          this.#settle(ack, typeof outcome === 'string' ? undefined : { count: 1, named: [outcome] })
        },
        error =>
          this.#socket.closeFor(new ProtocolError('unavailable', 'storing an answer', { cause: error })),
      )
      .finally(() => {
        this.#tenant?.add(-ENTRIES_OF_ANSWER)
        this.#scheduleFlush()
      })
  }

  /** Handles a PUBREL. */
  release(messageId: number): void {
    this.#acks.addRelease(messageId)
    this.#scheduleFlush()
  }

  /** Appends the gathered entries to the log. */
  #append(): void {
    const group = this.#group
    if (!group) return
    this.#group = null
    this.#countWaiting(group.entries.length)
    this.#services.log.append(group.entries, group.source).then(
      outcomes => {
        this.#countWaiting(-group.entries.length)
        this.#acknowledge(group, outcomes)
      },
      error => {
        this.#countWaiting(-group.entries.length)
        // Without an acknowledgement a device sends again after its connection is closed, but not while it stays open.
        this.#socket.closeFor(new ProtocolError('unavailable', 'storing messages', { cause: error }))
      },
    )
  }

  #countWaiting(change: number): void {
    this.#services.metrics.waiting('mqtt', change)
    this.#tenant?.add(change)
  }

  /** Handles a durable group: answers its messages, and sends its rejections to the device. */
  #acknowledge({ acks, entries, receivedAt }: Group, outcomes: Outcomes): void {
    if (this.#socket.terms && mayHaveRejections(entries, outcomes)) this.#settleEach(acks, entries, outcomes)
    else for (const ack of acks) ack.durable = true
    this.#services.metrics.acknowledged('mqtt', entries.length, (performance.now() - receivedAt) / 1000)
    if (this.#publisher) sendRejections(this.#services, this.#publisher, acks, entries, outcomes)
    this.#scheduleFlush()
  }

  #settleEach(acks: readonly Ack[], entries: readonly Entry[], outcomes: Outcomes): void {
    let from = 0
    for (const ack of acks) {
      const named = listRejections(entries.slice(from, from + ack.entries), outcomes)
      this.#settle(ack, { count: named.length, named })
      from += ack.entries
    }
  }

  #scheduleFlush(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(Appending.#flushOf, this)
  }

  /** Answers the durable messages in one write. */
  #flush(): void {
    this.#isFlushing = false
    const answers = this.#acks.takeDurable()
    if (answers.length > 0) this.#socket.write(answers)
    if (this.#acks.over || !this.#wake) return
    const wake = this.#wake
    this.#wake = null
    wake()
  }

  // Shared static functions: a connection is smaller without functions of its own.
  static readonly #appendOf = (appending: Appending) => appending.#append()
  static readonly #storeOf = (appending: Appending) => appending.#store()
  static readonly #flushOf = (appending: Appending) => appending.#flush()
}
