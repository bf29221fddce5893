import type { Consumer, EachBatchPayload } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import { type KafkaClient, type OnError, within } from './client.ts'

/**
 * Keeps a consumer running. kafkajs rejoins its group by itself after most failures of a broker, but not after all: some
 * errors end its consumer, and it is known to fall silent without an error (tulios/kafkajs issues 659, 1431). So a
 * consumer that crashes, or gives no sign of life for a while, is replaced by a new one on new connections. Batches in
 * progress are awaited first, so two consumers never work at once.
 *
 *   connect -> subscribe -> run -> (crashed | silent | closed) -> disconnect -> pause -> connect
 */
export interface Consuming {
  /** The present consumer; undefined while it is replaced. */
  readonly consumer: Consumer | undefined
  /** Ends after the batches in progress. */
  close(): Promise<void>
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
  /** Called in every join, before anything is fetched, with the partitions assigned to this consumer. */
  onJoin?: (consumer: Consumer, partitions: readonly number[]) => void
  /** Called after the last batch in progress, before the consumer leaves the group. */
  onLeaving?: (consumer: Consumer) => Promise<void>
  /** Called when the consumer has left a group for good. */
  onLeft?: (groupId: string) => Promise<void>
  /** Messages that it does not resolve are delivered again. It ends early when `isRunning()` is false. */
  eachBatch: (payload: EachBatchPayload) => Promise<void>
  onError: OnError
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
const PAUSE_MS = 1_000
const NO_ANSWER = 'The broker does not answer'
const DISCONNECT_WITHIN_MS = 3_000

/** Starts consuming, and continues through all failures of Kafka until it is closed. */
export function keepConsuming(options: ConsumeOptions): Consuming {
  const { onError } = options
  const atWork = new Set<Promise<void>>()
  let current: Consumer | undefined
  let closed = false
  let endNow = () => {}

  async function consume(): Promise<void> {
    const groupId = options.groupId()
    const client = options.createClient(options.retries)
    const consumer = client.kafka.consumer({
      groupId,
      sessionTimeout: SESSION_TIMEOUT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      minBytes: options.fetch.minBytes,
      maxWaitTimeInMs: options.fetch.waitMs,
      allowAutoTopicCreation: false,
      // Fieldline replaces a crashed consumer itself.
      retry: { restartOnFailure: async () => false },
    })
    let signAt = performance.now()
    let cutAt = signAt
    let ending = false
    const { CRASH, GROUP_JOIN, HEARTBEAT, FETCH, REQUEST_TIMEOUT } = consumer.events
    let fail = (_: Error) => {}
    const ended = new Promise<void>((resolve, reject) => {
      endNow = resolve
      fail = reject
      consumer.on(CRASH, ({ payload }) => reject(payload.error))
    })
    ended.catch(() => {})
    const onSign = () => {
      signAt = performance.now()
    }
    consumer.on(HEARTBEAT, onSign)
    // FETCH_START is no sign of life: kafkajs repeats it without answers.
    consumer.on(FETCH, onSign)
    // kafkajs keeps using the connection whose answer did not come, and other connections to that broker, which may be
    // dead too.
    consumer.on(REQUEST_TIMEOUT, ({ payload }) => client.cut(NO_ANSWER, payload.broker))
    consumer.on(GROUP_JOIN, ({ payload }) => {
      onSign()
      options.onJoin?.(consumer, payload.memberAssignment[options.topic] ?? [])
    })
    const eachBatch = async (payload: EachBatchPayload): Promise<void> => {
      const work = options.eachBatch({ ...payload, isRunning: () => !ending && payload.isRunning() })
      atWork.add(work)
      await work.finally(() => atWork.delete(work))
    }
    const watching = setInterval(() => {
      const now = performance.now()
      if (now - signAt > SILENT_AFTER_MS) fail(new Error('The consumer gives no sign of life'))
      else if (now - Math.max(signAt, cutAt) > CUT_AFTER_MS) {
        cutAt = now
        client.cut(NO_ANSWER)
      }
    }, HEARTBEAT_MS)
    try {
      current = consumer
      await Promise.race([start(consumer, eachBatch), ended])
      await ended
    } finally {
      clearInterval(watching)
      current = undefined
      ending = true
      await Promise.all([...atWork].map(work => work.catch(() => {})))
      await within(DISCONNECT_WITHIN_MS, options.onLeaving?.(consumer) ?? Promise.resolve())
      await within(DISCONNECT_WITHIN_MS, consumer.disconnect())
      client.end()
      await options.onLeft?.(groupId).catch(error => onError(error, 'leaving a group in Kafka'))
    }
  }

  async function start(
    consumer: Consumer,
    eachBatch: (payload: EachBatchPayload) => Promise<void>,
  ): Promise<void> {
    await consumer.connect()
    await consumer.subscribe({ topics: [options.topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: options.concurrency,
      eachBatch,
    })
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
    async close() {
      closed = true
      endNow()
      await running
    },
  }
}
