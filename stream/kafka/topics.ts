import type { Admin } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import type { Positions, Subject } from '../log.ts'
import { administer, type KafkaClient, type OnError } from './client.ts'
import { explainConnecting, FinalFailure, protocolErrorOf } from './failures.ts'
import type { KafkaSecurity } from './security.ts'
import { findUnfit, settingsOf } from './topic-settings.ts'

/** The names of a deployment's topics and groups in Kafka. */
export interface Topics {
  points: string
  /** Records that cannot be read, and points that the database rejects. */
  dead: string
  /** The writers' consumer group. */
  writers: string
  /** Every live process has its own group, whose name begins with this. */
  live: string
}

export function nameTopics(prefix: string): Topics {
  return {
    points: `${prefix}.points`,
    dead: `${prefix}.points.dead`,
    writers: `${prefix}.writers`,
    live: `${prefix}.live.`,
  }
}

/**
 * Declares the log in which the database's positions count from now on. Resolves to the base by which each partition's
 * offsets are raised, so that they continue above the positions of an earlier log. `begin` runs before that, in only one
 * process at a time, and resolves to whether the log begins at 0, whatever was stored under its name.
 */
export type ClaimLog = (log: string, partitions: number, begin?: () => Promise<boolean>) => Promise<Positions>

/** The database's view of the log. It decides what is stored, and the group's offsets follow it. */
export interface StoredLog {
  /** The next offset of each partition, raised by its base. */
  readPositions(): Promise<Positions>
  /** The keys of those subjects that the database has under the same key and identity. */
  listKnown(subjects: readonly Subject[]): Promise<ReadonlySet<number>>
  /** Makes new subjects get keys above this one. */
  reserveKeys(key: number): Promise<void>
}

const RETRY_MS = 1_000
const OPEN_WITHIN_MS = 20_000
const DEAD_PARTITIONS = 1

/**
 * Creates missing topics, and rejects a topic with another number of partitions, because subjects would move to other
 * partitions and lose their order. Waits while Kafka is away or has too few brokers, and throws a FinalFailure if waiting
 * does not help.
 */
export async function openTopics(options: {
  createClient: (retries: number) => KafkaClient
  brokers: readonly string[]
  security: KafkaSecurity
  topics: Topics
  partitions: number
  replication: number
  claimLog: ClaimLog
  onError: OnError
}): Promise<Positions> {
  const { topics, partitions, replication, onError } = options
  const openOnce = () =>
    administer(options.createClient, OPEN_WITHIN_MS, open).catch(error => {
      throw explainConnecting(error, options) ?? error
    })
  return retry(openOnce, {
    firstMs: RETRY_MS,
    again(error) {
      if (error instanceof FinalFailure) return false
      onError(error, 'opening the log, trying again')
      return true
    },
  })

  /**
   * A process that creates topics makes the others wait. If none are missing, nobody waits, because Kafka may be frozen.
   */
  async function open(admin: Admin): Promise<Positions> {
    const { clusterId, brokers } = await admin.describeCluster()
    const claim = (begin?: () => Promise<boolean>) =>
      options.claimLog(`${clusterId}/${topics.points}`, partitions, begin)
    const isComplete = (await listMissing(admin)).length === 0
    const bases = isComplete ? await claim() : await claim(() => createMissing(admin, brokers.length))
    const metadata = await admin.fetchTopicMetadata({ topics: [topics.points] })
    const found = metadata.topics[0]?.partitions.length
    if (found !== partitions) {
      throw new FinalFailure(
        `The topic ${topics.points} has ${found} partitions, and KAFKA_PARTITIONS says ${partitions}. ` +
          'Set KAFKA_PARTITIONS to what the topic has, or choose another KAFKA_PREFIX.',
      )
    }
    await checkSettings(admin)
    return bases
  }

  /** Wrong settings of an administrator's topic are said, not refused: it stores points all the same. */
  async function checkSettings(admin: Admin): Promise<void> {
    // Without the right to describe a topic its settings stay unknown, and nothing is said about them.
    const sentence = await findUnfit(admin, topics.points, replication).catch(() => null)
    if (sentence !== null) onError(new Error(sentence), 'checking the settings of the topic')
  }

  async function listMissing(admin: Admin) {
    const there = new Set(await admin.listTopics())
    const wanted = [
      { topic: topics.points, numPartitions: partitions },
      { topic: topics.dead, numPartitions: DEAD_PARTITIONS },
    ]
    return wanted.filter(({ topic }) => !there.has(topic))
  }

  /** Whether it created the topic of points. If all topics exist, no right to create topics is needed. */
  async function createMissing(admin: Admin, brokers: number): Promise<boolean> {
    const missing = await listMissing(admin)
    if (missing.length > 0) {
      // More brokers may be starting.
      if (brokers < replication) {
        throw new Error(
          `KAFKA_REPLICATION is ${replication}, and only ${brokers} of Kafka's brokers are there: ` +
            `start the others, or set KAFKA_REPLICATION to ${brokers}.`,
        )
      }
      const configEntries = Object.entries(settingsOf(replication)).map(([name, value]) => ({ name, value }))
      const shape = { replicationFactor: replication, configEntries }
      await admin
        .createTopics({
          waitForLeaders: true,
          topics: missing.map(topic => ({ ...topic, ...shape })),
        })
        .catch(error => {
          throw explainCreating(error, missing) ?? error
        })
    }
    return missing.some(({ topic }) => topic === topics.points)
  }

  /** Where users have rights of their own, an administrator creates the topics. */
  function explainCreating(
    error: unknown,
    missing: readonly { topic: string; numPartitions: number }[],
  ): FinalFailure | null {
    const type = protocolErrorOf(error, /^(TOPIC|CLUSTER)_AUTHORIZATION_FAILED$|^POLICY_VIOLATION$/)
    if (!type) return null
    const user = options.security.sasl ? `the user "${options.security.sasl.username}"` : 'this client'
    const names = missing.map(({ topic, numPartitions }) => `${topic} (partitions: ${numPartitions})`)
    return new FinalFailure(
      `Kafka does not show ${names.join(' and ')} to ${user}, and does not let it create topics (${type}). ` +
        'An administrator has to create them, or to grant the rights to them (docs/kafka.md, "Rights").',
      { cause: error },
    )
  }
}
