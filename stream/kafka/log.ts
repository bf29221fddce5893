import { randomUUID } from 'node:crypto'
import type { Admin } from 'kafkajs'
import type { Log } from '../log.ts'
import { createAdministrator } from './admin.ts'
import { createAppender, MAX_WAITING_BYTES } from './appender.ts'
import { createClient, type KafkaClient, type OnError, type OnNote } from './client.ts'
import type { Membership } from './consumer.ts'
import { createFollower } from './follower.ts'
import { type KafkaSecurity, UNSECURED } from './security.ts'
import { createSender } from './sender.ts'
import { createStorer } from './storer.ts'
import { readRetentionMs } from './topic-settings.ts'
import { type ClaimLog, nameTopics, openTopics, type StoredLog, type Topics } from './topics.ts'

/**
 * The log of the cluster tier, on Apache Kafka.
 *
 *   append: entries -> records by partition -> one produce request at a time, acks=all       appender.ts, sender.ts
 *   store:  the writers' group -> handler -> offset committed; unreadable records -> dead     storer.ts
 *   follow: a group of its own, all partitions, sought to its positions in every join         follower.ts
 *
 * Offsets that this log returns are Kafka's, raised by the database's positions in an earlier log (`ClaimLog`).
 */
export interface KafkaLog extends Log {
  /** How far the writers are behind, by partition: the number of records that are in the topic and not committed. */
  readLag(): Promise<Map<number, number>>
  /** How long the topic of points keeps records, in milliseconds. Rejects without the right to describe the topic. */
  readRetentionMs(): Promise<number>
  /** The arrival time of the oldest record that this process has fetched and not stored, by partition. */
  readonly unstoredSince: ReadonlyMap<number, number>
  /**
   * The number of records that this process reads again because the database lacks them, and of those that Kafka no
   * longer has.
   */
  readonly behind: { again: number; missing: number }
  /** The place of this process' writer in the writers' group; null if it has none. */
  readonly writing: Membership | null
  /** Whether a broker answers. */
  answers(): Promise<boolean>
}

export interface KafkaLogOptions {
  brokers: readonly string[]
  /** By default connections are not encrypted and nobody signs in. */
  security?: KafkaSecurity
  prefix: string
  partitions: number
  replication: number
  claimLog: ClaimLog
  stored: StoredLog
  maxWaitingBytes?: number
  onError: OnError
  onNote?: OnNote
}

/** Kafka answers a request within this time or not at all. */
const ASK_WITHIN_MS = 5_000

/**
 * When a single broker returns within about twelve seconds, its consumers are still connected (storing resumes 1 s
 * later, and 7 s later if they have to join anew). With several brokers another takes over, and kafkajs does not look
 * for it while it retries: with 15 retries for up to 12 s, writers stood still for 5 s after one of three brokers was
 * killed.
 */
const RETRIES_OF_ONE = 15
const RETRIES_OF_MANY = 6

/** Rejects when the topics contradict the configuration; waits while Kafka is away. */
export async function openKafkaLog(options: KafkaLogOptions): Promise<KafkaLog> {
  const { brokers, security = UNSECURED, partitions, replication, claimLog, onError } = options
  const { onNote = () => {} } = options
  const topics = nameTopics(options.prefix)
  const clientId = `${options.prefix}-${randomUUID().slice(0, 8)}`
  const clients = new Set<KafkaClient>()
  const newClient = (retries: number): KafkaClient => {
    const client = createClient({ brokers, security, clientId, retries, onError })
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
    brokers,
    security,
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
  const shared = { createClient: newClient, retries, topics, partitions, bases, onError, onNote }
  const unstoredSince = new Map<number, number>()

  const behind = { again: 0, missing: 0 }
  const { ask } = createAdministrator(newClient, ASK_WITHIN_MS)

  let writing: Membership | null = null

  const readWriters = () => ask(admin => readOffsets(admin, topics))

  return {
    append: appender.append,
    get full() {
      return appender.full
    },
    onFull: appender.onFull,
    waiting: appender.waiting,
    oldestWaitingSeconds: appender.oldestWaitingSeconds,
    maxWaitingBytes: options.maxWaitingBytes ?? MAX_WAITING_BYTES,
    unstoredSince,
    behind,
    get writing() {
      return writing
    },

    async store(handler) {
      const storer = createStorer({
        ...shared,
        ask,
        stored: options.stored,
        sender,
        handler,
        unstoredSince,
        behind,
        findUnread: async () => {
          const behindEnd = (await readWriters()).filter(({ records }) => records > 0)
          return new Map(behindEnd.map(({ partition, offset }) => [partition, offset]))
        },
      })
      writing = storer.membership
      return storer
    },
    follow: (start, handler) => createFollower({ ...shared, ask, start, handler }),

    readLag: async () => new Map((await readWriters()).map(({ partition, records }) => [partition, records])),
    readRetentionMs: () => ask(admin => readRetentionMs(admin, topics.points)),
    answers: () => succeeds(ask(admin => admin.describeCluster())),
    async close() {
      await appender.close()
      for (const client of clients) client.end()
    },
  }
}

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  )

/** By partition the offset that the writers have committed, and the number of records from there. */
async function readOffsets(
  admin: Admin,
  topics: Topics,
): Promise<{ partition: number; offset: number; records: number }[]> {
  const ends = await admin.fetchTopicOffsets(topics.points)
  const [committed] = await admin.fetchOffsets({ groupId: topics.writers, topics: [topics.points] })
  const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  return ends.map(({ partition, high, low }) => {
    const offset = Math.max(offsets.get(partition) ?? 0, Number(low))
    return { partition, offset, records: Number(high) - offset }
  })
}
