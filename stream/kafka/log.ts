import { randomUUID } from 'node:crypto'
import type { Log, Subscription } from '../log.ts'
import { createAdministrator } from './admin.ts'
import { createAppender } from './appender.ts'
import { createClient, type KafkaClient, type OnError } from './client.ts'
import { createFollower } from './follower.ts'
import { createSender } from './sender.ts'
import { createStorer } from './storer.ts'
import { type ClaimLog, nameTopics, openTopics, type StoredLog } from './topics.ts'

/**
 * The log of the cluster tier, on Apache Kafka.
 *
 *   append: entries -> records by partition -> one produce request at a time, acks=all       kafka-appender, -sender
 *   store:  the writers' group -> handler -> offset committed; unreadable records -> dead     kafka-storer
 *   follow: a group of its own, all partitions, sought to its positions in every join         kafka-follower
 *
 * An offset that leaves here is Kafka's, raised by what the database had stored of another log before (`ClaimLog`).
 */
export interface KafkaLog extends Log {
  /** How far the writers are behind, in records by partition: what is in the topic and not committed. */
  readLag(): Promise<Map<number, number>>
  /** When the oldest record came that this process has in hand and not stored, by partition. */
  readonly unstoredSince: ReadonlyMap<number, number>
  /** Records that this process has begun to read again since the database did not have them, and those that Kafka no longer had. */
  readonly behind: { again: number; missing: number }
  /** Whether a broker answers. */
  answers(): Promise<boolean>
}

export interface KafkaLogOptions {
  brokers: readonly string[]
  prefix: string
  partitions: number
  replication: number
  claimLog: ClaimLog
  stored: StoredLog
  maxWaitingBytes?: number
  onError: OnError
}

/** A question is answered soon or not at all. */
const ASK_WITHIN_MS = 5_000

/**
 * A single broker finds its consumers as they were when it is back within about twelve seconds (storing goes on 1 s
 * after it, and 7 s later where they have to join anew). Of several, another takes over, and kafkajs does not look for
 * it as long as it tries: writers stood still for 5 s after one of three was killed, with 15 retries for up to 12.
 */
const RETRIES_OF_ONE = 15
const RETRIES_OF_MANY = 6

/** Rejects when the topics contradict the configuration; waits for a Kafka that is away. */
export async function openKafkaLog(options: KafkaLogOptions): Promise<KafkaLog> {
  const { brokers, partitions, replication, claimLog, onError } = options
  const topics = nameTopics(options.prefix)
  const clientId = `${options.prefix}-${randomUUID().slice(0, 8)}`
  const clients = new Set<KafkaClient>()
  const newClient = (retries: number): KafkaClient => {
    const client = createClient({ brokers, clientId, retries, onError })
    const tracked = {
      ...client,
      end() {
        clients.delete(tracked)
        client.end()
      },
    }
    clients.add(tracked)
    return tracked
  }

  const bases = await openTopics({
    createClient: newClient,
    topics,
    partitions,
    replication,
    claimLog,
    onError,
  })
  const sender = createSender({ createClient: newClient, onError })
  const appender = createAppender({
    topic: topics.points,
    partitions,
    sender,
    maxWaitingBytes: options.maxWaitingBytes,
    onError,
  })
  const retries = brokers.length > 1 ? RETRIES_OF_MANY : RETRIES_OF_ONE
  const shared = { createClient: newClient, retries, topics, partitions, bases, onError }
  const unstoredSince = new Map<number, number>()

  const behind = { again: 0, missing: 0 }
  const { ask } = createAdministrator(newClient, ASK_WITHIN_MS)

  return {
    append: appender.append,
    get full() {
      return appender.full
    },
    onFull: appender.onFull,
    waiting: appender.waiting,
    unstoredSince,
    behind,

    store: async handler =>
      createStorer({
        ...shared,
        ask,
        stored: options.stored,
        sender,
        handler,
        unstoredSince,
        behind,
      }) satisfies Subscription,
    follow: (start, handler) => createFollower({ ...shared, ask, start, handler }),

    readLag: () =>
      ask(async admin => {
        const ends = await admin.fetchTopicOffsets(topics.points)
        const [committed] = await admin.fetchOffsets({ groupId: topics.writers, topics: [topics.points] })
        const read = new Map(
          committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]),
        )
        return new Map(
          ends.map(({ partition, high, low }) => [
            partition,
            Number(high) - Math.max(read.get(partition) ?? 0, Number(low)),
          ]),
        )
      }),
    answers: () =>
      ask(admin => admin.describeCluster()).then(
        () => true,
        () => false,
      ),
    async close() {
      await appender.close()
      for (const client of clients) client.end()
    },
  }
}
