import type { Admin, EachBatchPayload } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import type { Batch, Positions, Subscription } from '../log.ts'
import type { Outcomes } from '../point.ts'
import { type ReadBatch, readBatches } from './batches.ts'
import { createBeginning } from './beginning.ts'
import type { KafkaClient, OnError, OnNote } from './client.ts'
import { createCommits } from './commits.ts'
import { type Consuming, HEARTBEAT_MS, keepConsuming, type Membership } from './consumer.ts'
import { createDeadLetters } from './dead-letters.ts'
import { isRebalancing } from './rebalancing.ts'
import type { Sender } from './sender.ts'
import type { StoredLog, Topics } from './topics.ts'

/**
 * A member of the writers' group, which begins where the database ends (`beginning.ts`). An offset is committed when
 * every record before it is stored (`commits.ts`): twice a second, from the batches that the handler has resolved. A member that dies
 * or loses a partition leaves at most half a second of records, which the next member stores again without effect.
 *
 * The handler may take long, or fail for as long as the database is away. Meanwhile the member sends heartbeats and
 * hands over the same batch again, so that the order is kept. When the group moves partitions, a heartbeat reports it,
 * and the error is passed on to kafkajs, which joins again.
 *
 * A record that cannot be read, and a point that the database rejects, goes to the dead letters (`dead-letters.ts`) before its
 * offset is committed.
 */
/** Equals the writer's connections to the database: two store more than one (152 to 256 thousand rows/s). */
const STORED_AT_ONCE = 4
/**
 * The database's cost of a batch is spread over its points: batches of 100 took 30 thousand points/s, of 500 to 1,000
 * took 60 to 140 thousand (two cores, shared). With eight partitions this many bytes make batches of 600.
 */
const FETCH = { minBytes: 256 * 1024, waitMs: 100 }
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 2_000

export interface StorerOptions {
  createClient: (retries: number) => KafkaClient
  retries: number
  ask: <T>(work: (admin: Admin) => Promise<T>) => Promise<T>
  stored: StoredLog
  topics: Topics
  bases: Positions
  sender: Sender
  handler: (batch: Batch) => Promise<Outcomes>
  unstoredSince: Map<number, number>
  /** Counts records that the database turned out to lack. */
  behind: { again: number; missing: number }
  /** The writers' committed offsets, by partition, where records are behind them. */
  findUnread: () => Promise<ReadonlyMap<number, number>>
  onError: OnError
  onNote: OnNote
}

export function createStorer(options: StorerOptions): Subscription & { membership: Membership } {
  const { createClient, retries, topics, bases, unstoredSince, onError } = options
  const beginning = createBeginning(options)
  const store = createStoring(options, (partition, offset) => beginning.isRead(partition, offset))
  let consuming: Consuming | undefined
  const commits = createCommits({ topic: topics.points, consumer: () => consuming?.consumer, onError })

  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch, heartbeat, resolveOffset, isRunning } = payload
    const { partition } = batch
    let lost: unknown
    let next = 0
    const beating = setInterval(() => {
      heartbeat().catch(error => {
        lost = error
      })
    }, HEARTBEAT_MS)
    try {
      if (!(await beginning.admits(partition, Number(batch.messages[0]?.offset)))) return
      for (const part of readBatches(batch, bases.get(partition) ?? 0)) {
        unstoredSince.set(partition, part.since)
        if (!(await store(part, () => isRunning() && !isRebalancing(lost)))) break
        next = Number(part.lastOffset) + 1
        resolveOffset(part.lastOffset)
        commits.add(partition, `${next}`)
        await heartbeat()
      }
    } catch (error) {
      if (!isRebalancing(error)) throw error
      lost = error
    } finally {
      clearInterval(beating)
      if (next >= Number(batch.highWatermark)) unstoredSince.delete(partition)
    }
    if (!isRebalancing(lost)) return
    // The coordinator accepts it while it waits for other members, and then no member stores these records again.
    const offsets = { topics: [{ topic: topics.points, partitions: commits.take() }] }
    await payload.commitOffsetsIfNecessary(offsets).catch(() => {})
    throw lost
  }

  consuming = keepConsuming({
    createClient,
    retries,
    topic: topics.points,
    groupId: () => topics.writers,
    concurrency: STORED_AT_ONCE,
    fetch: FETCH,
    findUnread: options.findUnread,
    eachBatch,
    // The partition's new owner reads records again that were stored and not committed.
    onJoin: (consumer, partitions) => {
      beginning.plan(consumer, partitions)
      commits.forget()
      unstoredSince.clear()
    },
    onLeaving: commits.commit,
    onError,
    onNote: options.onNote,
  })
  const { close } = consuming
  return {
    membership: consuming.membership,
    async close() {
      commits.close()
      await close()
    },
  }
}

/** Stores a batch until it is done. Resolves to false if the member has to stop. */
function createStoring(
  options: StorerOptions,
  isRead: (partition: number, offset: number) => boolean,
): (batch: ReadBatch, mayGoOn: () => boolean) => Promise<boolean> {
  const { bases, handler, sender, topics, onError } = options
  const letters = createDeadLetters(options)

  async function storeOnce(batch: ReadBatch): Promise<void> {
    const first = (batch.records[0]?.offset ?? 0) - (bases.get(batch.partition) ?? 0)
    const isAgain = isRead(batch.partition, first)
    const { known, orphans } = isAgain
      ? await letters.splitByKnownSubject(batch)
      : { known: batch, orphans: [] }
    const outcomes = await handler(known)
    const dead = [...orphans, ...letters.ofUnreadable(batch), ...letters.ofUnstorable(known, outcomes)]
    if (dead.length > 0) await sender.send(topics.dead, dead)
  }

  return (batch, mayGoOn) =>
    retry(
      async () => {
        if (!mayGoOn()) return false
        await storeOnce(batch)
        return true
      },
      {
        firstMs: RETRY_FIRST_MS,
        maxMs: RETRY_MAX_MS,
        again(error) {
          const entries = batch.records.reduce((sum, record) => sum + record.entries.length, 0)
          onError(error, `storing ${entries} entries of partition ${batch.partition}, trying again`)
          return true
        },
      },
    )
}
