import { randomUUID } from 'node:crypto'
import type { Admin, EachBatchPayload } from 'kafkajs'
import type { Batch, Positions, Subscription } from '../log.ts'
import { readBatches } from './batches.ts'
import type { KafkaClient, OnError, OnNote } from './client.ts'
import { keepConsuming } from './consumer.ts'
import type { Topics } from './topics.ts'

/**
 * Reads all partitions by itself. kafkajs has no consumer without a group, so a follower is the only member of its own
 * group, which stores no offsets. Only the follower knows its positions, and seeks them in every join. (Seeking in the
 * first join only lost 2 of 4 records, or repeated 17.) A replacing consumer takes a new group, so that its dead
 * predecessor cannot hold a partition; groups that it has left are deleted.
 */
const CATCHING_UP_MS = 20
/**
 * Live clients get positions four times a second, so a fetch may wait a fifth of that for more records. One fetch for
 * each record was half of a live process' work, and half of the broker's. A cluster on two cores took 113 thousand
 * points/s with it, and takes 131 thousand now.
 */
const FETCH = { minBytes: 256 * 1024, waitMs: 50 }

export async function createFollower(options: {
  createClient: (retries: number) => KafkaClient
  retries: number
  ask: <T>(work: (admin: Admin) => Promise<T>) => Promise<T>
  topics: Topics
  partitions: number
  bases: Positions
  start: () => Promise<Positions>
  handler: (batch: Batch) => void
  onError: OnError
  onNote: OnNote
}): Promise<Subscription> {
  const { createClient, retries, ask, topics, partitions, bases, handler, onError } = options
  const from = await options.start()
  /** The next offset to read, by partition, in Kafka's own numbering. */
  const next = new Map<number, number>()
  for (let partition = 0; partition < partitions; partition++) {
    const position = from.get(partition)
    // A position of another log is below the base, and every record here is later.
    if (position !== undefined) next.set(partition, Math.max(0, position - (bases.get(partition) ?? 0)))
  }

  async function eachBatch({ batch, heartbeat, resolveOffset, isRunning }: EachBatchPayload): Promise<void> {
    for (const part of readBatches(batch, bases.get(batch.partition) ?? 0)) {
      if (!isRunning()) return
      try {
        handler(part)
      } catch (error) {
        onError(error, 'following the log')
      }
      next.set(batch.partition, Number(part.lastOffset) + 1)
      resolveOffset(part.lastOffset)
      await heartbeat()
    }
  }

  let joined = false
  let closed = false
  const consuming = keepConsuming({
    createClient,
    retries,
    topic: topics.points,
    groupId: () => topics.live + randomUUID(),
    concurrency: 1,
    fetch: FETCH,
    eachBatch,
    onJoin(consumer) {
      joined = true
      for (const [partition, offset] of next) {
        consumer.seek({ topic: topics.points, partition, offset: `${offset}` })
      }
    },
    // A group without members and offsets also expires by itself, only later.
    onLeft: groupId =>
      ask(admin => admin.deleteGroups([groupId])).then(
        () => {},
        () => {},
      ),
    async findUnread() {
      const unread = (await readEnds()).filter(isUnread)
      return new Map(unread.map(({ partition }) => [partition, next.get(partition) ?? 0]))
    },
    onError,
    onNote: options.onNote,
  })

  const readEnds = () => ask(admin => admin.fetchTopicOffsets(topics.points))
  const isUnread = ({ partition, high, low }: { partition: number; high: string; low: string }) =>
    high !== low && (next.get(partition) ?? 0) < Number(high)

  /** Waits until every record is handed over that was in the log when the follower began. */
  async function catchUp(): Promise<void> {
    let ends: Awaited<ReturnType<typeof readEnds>> | undefined
    while (!closed) {
      try {
        ends ??= await readEnds()
      } catch (error) {
        onError(error, "reading the log's end, trying again")
      }
      if (joined && ends?.some(isUnread) === false) return
      await new Promise(resolve => setTimeout(resolve, CATCHING_UP_MS))
    }
  }

  await catchUp()
  return {
    async close() {
      closed = true
      await consuming.close()
    },
  }
}
