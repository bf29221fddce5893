import type { Admin } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import type { Positions, Subject } from '../log.ts'
import { administer, type KafkaClient, type OnError } from './client.ts'

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

export const RETENTION_MS = 30 * 24 * 3600_000
const RETRY_MS = 1_000
const OPEN_WITHIN_MS = 20_000
const DEAD_PARTITIONS = 1

/** The configuration contradicts what is in Kafka. */
class TopicMismatch extends Error {}

/**
 * Creates missing topics, and rejects a topic with another number of partitions, because subjects would move to other
 * partitions and lose their order. Waits while Kafka is away.
 */
export async function openTopics(options: {
  createClient: (retries: number) => KafkaClient
  topics: Topics
  partitions: number
  replication: number
  claimLog: ClaimLog
  onError: OnError
}): Promise<Positions> {
  const { topics, partitions, replication, onError } = options
  const openOnce = () => administer(options.createClient, OPEN_WITHIN_MS, open)
  return retry(openOnce, {
    firstMs: RETRY_MS,
    again(error) {
      if (error instanceof TopicMismatch) return false
      onError(error, 'opening the log, trying again')
      return true
    },
  })

  /**
   * A process that creates topics makes the others wait. If none are missing, nobody waits, because Kafka may be frozen.
   */
  async function open(admin: Admin): Promise<Positions> {
    const { clusterId } = await admin.describeCluster()
    const claim = (begin?: () => Promise<boolean>) =>
      options.claimLog(`${clusterId}/${topics.points}`, partitions, begin)
    const isComplete = (await listMissing(admin)).length === 0
    const bases = isComplete ? await claim() : await claim(() => createMissing(admin))
    const metadata = await admin.fetchTopicMetadata({ topics: [topics.points] })
    const found = metadata.topics[0]?.partitions.length
    if (found !== partitions) {
      throw new TopicMismatch(
        `The topic ${topics.points} has ${found} partitions, and KAFKA_PARTITIONS says ${partitions}. ` +
          'Set KAFKA_PARTITIONS to what the topic has, or choose another KAFKA_PREFIX.',
      )
    }
    return bases
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
  async function createMissing(admin: Admin): Promise<boolean> {
    const missing = await listMissing(admin)
    if (missing.length > 0) {
      const shape = { replicationFactor: replication, configEntries: toConfigEntries(replication) }
      await admin.createTopics({
        waitForLeaders: true,
        topics: missing.map(topic => ({ ...topic, ...shape })),
      })
    }
    return missing.some(({ topic }) => topic === topics.points)
  }
}

function toConfigEntries(replication: number): { name: string; value: string }[] {
  return [
    { name: 'retention.ms', value: `${RETENTION_MS}` },
    { name: 'cleanup.policy', value: 'delete' },
    // One of three brokers may be away without blocking anybody, and an acknowledged record is on two.
    { name: 'min.insync.replicas', value: replication >= 3 ? '2' : '1' },
    { name: 'unclean.leader.election.enable', value: 'false' },
    // The broker's clock, so that retention does not follow a wrong clock of ours.
    { name: 'message.timestamp.type', value: 'LogAppendTime' },
  ]
}
