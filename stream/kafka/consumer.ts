import type { Consumer, EachBatchPayload } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import { type KafkaClient, type OnError, type OnNote, within } from './client.ts'

/**
 * Keeps a consumer running. kafkajs rejoins its group by itself after most failures of a broker, but not after all: some
 * errors end its consumer, and it is known to fall silent without an error (tulios/kafkajs issues 659, 1431). So a
 * consumer that crashes, or gives no sign of life for a while, is replaced by a new one on new connections. Batches in
 * progress are awaited first, so two consumers never work at once.
 *
 *   connect -> subscribe -> run -> (crashed | silent | expelled | stuck | closed) -> disconnect -> pause -> connect
 *
 * Expelled: when the coordinator no longer knows the member, and the next join fails for another reason, kafkajs reads on
 * without a member's identifier. It sends no heartbeat then, never joins again, and none of its commits is accepted.
 */
export interface Consuming {
  /** The present consumer; undefined while it is replaced. */
  readonly consumer: Consumer | undefined
  readonly membership: Membership
  /** Ends after the batches in progress. */
  close(): Promise<void>
}

/** The consumer's place in its group. */
export interface Membership {
  /** Those that the group has assigned to it; none while it is not a member. */
  partitions: readonly number[]
  /** When the group's coordinator last answered it as a member, in `performance.now()`. */
  heardAt: number
}

export interface ConsumeOptions {
  createClient: (retries: number) => KafkaClient
  /** How often kafkajs tries by itself before the consumer is replaced. */
  retries: number
  topic: string
  /** Called at every start: a follower uses a new group each time. */
  groupId: () => string
  /** The number of partitions that are handled at once. */
  concurrency: number
  /** A fetch waits for this many bytes, but not longer than this time. */
  fetch: { minBytes: number; waitMs: number }
  /** The partitions with records that are not read yet, each with the offset where reading goes on. */
  findUnread: () => Promise<ReadonlyMap<number, number>>
  /** Called in every join, before anything is fetched, with the partitions assigned to this consumer. */
  onJoin?: (consumer: Consumer, partitions: readonly number[]) => void
  /** Called after the last batch in progress, before the consumer leaves the group. */
  onLeaving?: (consumer: Consumer) => Promise<void>
  /** Called when the consumer has left a group for good. */
  onLeft?: (groupId: string) => Promise<void>
  /** Messages that it does not resolve are delivered again. It ends early when `isRunning()` is false. */
  eachBatch: (payload: EachBatchPayload) => Promise<void>
  onError: OnError
  onNote: OnNote
}

/** The broker's minimum: after kill -9 of a member its partitions move to another in about 6 s (30 s by default). */
const SESSION_TIMEOUT_MS = 6_000
export const HEARTBEAT_MS = 1_000
/** How long the other members wait for a busy member before they take over its partitions. */
const REBALANCE_TIMEOUT_MS = 10_000
/**
 * Longer than any answer may take: a join waits for `REBALANCE_TIMEOUT_MS` and a little more. Then the connections are
 * cut, because kafkajs waits on lost connections without noticing. A consumer that stays silent is replaced.
 */
const CUT_AFTER_MS = 18_000
const SILENT_AFTER_MS = 40_000
/** A partition that stands still with unread records in three looks, while no batch takes so long, is stuck. */
const LOOK_EVERY_MS = 20_000
const STUCK_AFTER_LOOKS = 3
const PAUSE_MS = 1_000
const NO_ANSWER = 'The broker does not answer'
const DISCONNECT_WITHIN_MS = 3_000

/** Starts consuming, and continues through all failures of Kafka until it is closed. */
export function keepConsuming(options: ConsumeOptions): Consuming {
  const { onError } = options
  /** The batches in progress, with the time when each began. */
  const atWork = new Map<Promise<void>, number>()
  const membership: Membership = { partitions: [], heardAt: performance.now() }
  let current: Consumer | undefined
  let closed = false
  let endNow = () => {}

  async function consume(): Promise<void> {
    const groupId = options.groupId()
    const client = options.createClient(options.retries)
    const consumer = createConsumer(client, groupId, options)
    let ending = false
    let fail = (_: Error) => {}
    const ended = new Promise<void>((resolve, reject) => {
      endNow = resolve
      fail = reject
    })
    ended.catch(() => {})
    consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error))
    const signs = watchSigns(client, consumer, membership, fail)
    const stopLooking = watchProgress(options, membership, atWork, fail)
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      signs.hear()
      const partitions = payload.memberAssignment[options.topic] ?? []
      membership.partitions = partitions
      options.onNote({ group: groupId, partitions, tookMs: payload.duration }, 'Joined a group of Kafka')
      options.onJoin?.(consumer, partitions)
    })
    const eachBatch = async (payload: EachBatchPayload): Promise<void> => {
      const work = options.eachBatch({ ...payload, isRunning: () => !ending && payload.isRunning() })
      atWork.set(work, performance.now())
      await work.finally(() => atWork.delete(work))
    }
    try {
      current = consumer
      await Promise.race([start(consumer, options, eachBatch), ended])
      await ended
    } finally {
      signs.stop()
      stopLooking()
      current = undefined
      membership.partitions = []
      ending = true
      await Promise.all([...atWork.keys()].map(work => work.catch(() => {})))
      await within(DISCONNECT_WITHIN_MS, options.onLeaving?.(consumer) ?? Promise.resolve())
      await within(DISCONNECT_WITHIN_MS, consumer.disconnect())
      client.end()
      await options.onLeft?.(groupId).catch(error => onError(error, 'leaving a group in Kafka'))
    }
  }

  const running = retry(async () => closed || consume(), {
    firstMs: PAUSE_MS,
    again(error) {
      if (!closed) onError(error, 'reading from Kafka, starting again')
      return !closed
    },
  }).catch(() => {})

  return {
    get consumer() {
      return current
    },
    membership,
    async close() {
      closed = true
      endNow()
      await running
    },
  }
}

const createConsumer = ({ kafka }: KafkaClient, groupId: string, { fetch }: ConsumeOptions): Consumer =>
  kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: REBALANCE_TIMEOUT_MS,
    heartbeatInterval: HEARTBEAT_MS,
    minBytes: fetch.minBytes,
    maxWaitTimeInMs: fetch.waitMs,
    allowAutoTopicCreation: false,
    // Fieldline replaces a crashed consumer itself.
    retry: { restartOnFailure: async () => false },
  })

async function start(
  consumer: Consumer,
  { topic, concurrency }: ConsumeOptions,
  eachBatch: (payload: EachBatchPayload) => Promise<void>,
): Promise<void> {
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: concurrency,
    eachBatch,
  })
}

/**
 * Cuts the connections of a silent consumer, and calls `fail` if it stays silent or reads without being a member. `hear` is
 * called when it joins.
 */
function watchSigns(
  client: KafkaClient,
  consumer: Consumer,
  membership: Membership,
  fail: (error: Error) => void,
): { hear(): void; stop(): void } {
  let signAt = performance.now()
  let cutAt = signAt
  const hear = () => {
    signAt = performance.now()
    membership.heardAt = signAt
  }
  const { HEARTBEAT, FETCH, REQUEST_TIMEOUT } = consumer.events
  consumer.on(HEARTBEAT, hear)
  consumer.on(FETCH, () => {
    // No join takes so long.
    if (performance.now() - signAt > CUT_AFTER_MS)
      fail(new Error('The consumer reads without being a member of its group'))
  })
  // kafkajs keeps using the connection whose answer did not come, and other connections to that broker, which may be
  // dead too.
  consumer.on(REQUEST_TIMEOUT, ({ payload }) => client.cut(NO_ANSWER, payload.broker))
  const watching = setInterval(() => {
    const now = performance.now()
    if (now - signAt > SILENT_AFTER_MS) fail(new Error('The consumer gives no sign of life'))
    else if (now - Math.max(signAt, cutAt) > CUT_AFTER_MS) {
      cutAt = now
      client.cut(NO_ANSWER)
    }
  }, HEARTBEAT_MS)
  return { hear, stop: () => clearInterval(watching) }
}

/**
 * Calls `fail` if a partition stands still for too long: kafkajs can wait in one of its fetches while the others go on.
 * Returns a function that stops looking. `atWork` has the batches in progress, with the time when each began.
 */
function watchProgress(
  { findUnread }: ConsumeOptions,
  membership: Membership,
  atWork: ReadonlyMap<Promise<void>, number>,
  fail: (error: Error) => void,
): () => void {
  const standing = new Map<number, { offset: number; looks: number }>()

  async function look(): Promise<void> {
    const unread = await findUnread()
    const since = performance.now() - LOOK_EVERY_MS
    // Batches of other partitions may wait for one that takes long.
    const isBusy = [...atWork.values()].some(begunAt => begunAt < since)
    for (const partition of standing.keys())
      if (isBusy || !membership.partitions.includes(partition) || !unread.has(partition))
        standing.delete(partition)
    if (isBusy) return
    for (const partition of membership.partitions) {
      const offset = unread.get(partition)
      if (offset === undefined) continue
      const known = standing.get(partition)
      const looks = known?.offset === offset ? known.looks + 1 : 1
      if (looks === STUCK_AFTER_LOOKS)
        return fail(new Error(`The consumer does not read partition ${partition}, which has records`))
      standing.set(partition, { offset, looks })
    }
  }

  const looking = setInterval(() => look().catch(() => {}), LOOK_EVERY_MS)
  return () => clearInterval(looking)
}
