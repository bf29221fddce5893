import type { Admin, Consumer, EachBatchPayload } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import type { Batch, Positions, Subject, Subscription } from '../log.ts'
import type { Entry, Outcomes } from '../point.ts'
import { type ReadBatch, readBatches } from './batches.ts'
import { createBeginning } from './beginning.ts'
import { inTime, type KafkaClient, type OnError, type OnNote } from './client.ts'
import { HEARTBEAT_MS, keepConsuming, type Membership } from './consumer.ts'
import { createRecordWriter } from './record.ts'
import type { Messages, Sender } from './sender.ts'
import type { StoredLog, Topics } from './topics.ts'

/**
 * A member of the writers' group, which begins where the database ends (`beginning.ts`). An offset is committed when
 * every record before it is stored: twice a second, from the batches that the handler has resolved. A member that dies
 * or loses a partition leaves at most half a second of records, which the next member stores again without effect.
 *
 * The handler may take long, or fail for as long as the database is away. Meanwhile the member sends heartbeats and
 * hands over the same batch again, so that the order is kept. When the group moves partitions, a heartbeat reports it,
 * and the error is passed on to kafkajs, which joins again.
 *
 * A record that cannot be read, and a point that the database rejects, goes to the dead letters before its offset is
 * committed.
 */
/** Equals the writer's connections to the database: two store more than one (152 to 256 thousand rows/s). */
const STORED_AT_ONCE = 4
/**
 * The database's cost of a batch is spread over its points: batches of 100 took 30 thousand points/s, of 500 to 1,000
 * took 60 to 140 thousand (two cores, shared). With eight partitions this many bytes make batches of 600.
 */
const FETCH = { minBytes: 256 * 1024, waitMs: 100 }
const COMMIT_EVERY_MS = 500
/** Longer than the retries of kafkajs. */
const COMMIT_WITHIN_MS = 20_000
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 2_000

export function createStorer(options: {
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
}): Subscription & { membership: Membership } {
  const {
    createClient,
    retries,
    topics,
    bases,
    sender,
    handler,
    unstoredSince,
    stored: database,
    onError,
  } = options
  const beginning = createBeginning(options)
  /** Offsets to commit, by partition, in Kafka's own numbering. */
  let stored = new Map<number, string>()
  let joins = 0
  let committing = false

  function takeStored() {
    const partitions = [...stored].map(([partition, offset]) => ({ partition, offset }))
    stored = new Map()
    return partitions
  }

  async function commit(consumer: Consumer): Promise<void> {
    const partitions = takeStored()
    if (partitions.length === 0) return
    const joined = joins
    try {
      const offsets = partitions.map(offset => ({ topic: topics.points, ...offset }))
      await inTime(COMMIT_WITHIN_MS, consumer.commitOffsets(offsets))
    } catch (error) {
      // A broker that has just started rejects offsets for a moment, and without new records nothing would commit them
      // later.
      // After a join they are read again.
      for (const { partition, offset } of partitions)
        if (joined === joins && !stored.has(partition)) stored.set(partition, offset)
      throw error
    }
  }

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
        if (!(await storeUntilDone(part, () => isRunning() && !isRebalancing(lost)))) break
        next = Number(part.lastOffset) + 1
        resolveOffset(part.lastOffset)
        stored.set(partition, `${next}`)
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
    const offsets = { topics: [{ topic: topics.points, partitions: takeStored() }] }
    await payload.commitOffsetsIfNecessary(offsets).catch(() => {})
    throw lost
  }

  /** Whether the batch was stored; false if the member has to stop. */
  async function storeUntilDone(batch: ReadBatch, mayGoOn: () => boolean): Promise<boolean> {
    const storeOnce = async () => {
      if (!mayGoOn()) return false
      const first = (batch.records[0]?.offset ?? 0) - (bases.get(batch.partition) ?? 0)
      const isAgain = beginning.isRead(batch.partition, first)
      const { known, orphans } = isAgain ? await splitByKnownSubject(batch) : { known: batch, orphans: [] }
      const outcomes = await handler(known)
      const letters = [...orphans, ...writeUnreadable(batch), ...writeUnstorable(known, outcomes)]
      if (letters.length > 0) await sender.send(topics.dead, letters)
      return true
    }
    return retry(storeOnce, {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        const entries = batch.records.reduce((sum, record) => sum + record.entries.length, 0)
        onError(error, `storing ${entries} entries of partition ${batch.partition}, trying again`)
        return true
      },
    })
  }

  /**
   * Splits a batch that is read again for a restored database. Subjects created after the dump are missing in it, and
   * their keys may belong to other subjects by now. Their entries go to the dead letters.
   */
  async function splitByKnownSubject(batch: ReadBatch): Promise<{ known: ReadBatch; orphans: Messages }> {
    const named = batch.records.flatMap(({ subjects }) => subjects.filter(isNamed))
    const known = await database.listKnown(named)
    const gone = new Set(named.map(({ subject }) => subject).filter(key => !known.has(key)))
    if (gone.size === 0) return { known: batch, orphans: [] }
    await database.reserveKeys(named.reduce((max, { subject }) => Math.max(max, subject), 0))
    const isGone = (entry: Entry) => gone.has(entry.subject)
    const orphans = batch.records.flatMap(({ offset, subjects, entries }) => {
      const writer = createRecordWriter()
      const lost = entries.filter(isGone)
      const names = subjects.filter(isNamed)
      for (const entry of lost) writer.add(entry, names)
      const kafkaOffset = `${offset - (bases.get(batch.partition) ?? 0)}`
      const headers = describe(
        batch.partition,
        kafkaOffset,
        'The restored database does not have its subject.',
      )
      return lost.length > 0 ? [{ partition: 0, value: writer.finish(), headers }] : []
    })
    onError(
      new Error(`${gone.size} subjects of the records that are read again are not in the database`),
      `storing their entries of partition ${batch.partition}, sending them to the dead letters`,
    )
    const records = batch.records.map(one => ({
      ...one,
      entries: one.entries.filter(entry => !isGone(entry)),
    }))
    return { known: { ...batch, records }, orphans }
  }

  function* writeUnreadable(batch: ReadBatch): Generator<Messages[number]> {
    for (const { message, reason } of batch.unreadable) {
      onError(
        new Error(reason),
        `reading record ${message.offset} of partition ${batch.partition}, sending it to the dead letters`,
      )
      const { key, value, headers } = message
      yield {
        partition: 0,
        key,
        value,
        headers: { ...headers, ...describe(batch.partition, message.offset, reason) },
      }
    }
  }

  function* writeUnstorable(batch: ReadBatch, outcomes: Outcomes): Generator<Messages[number]> {
    if (outcomes.size === 0) return
    const writer = createRecordWriter()
    for (const { offset, entries } of batch.records) {
      for (const entry of entries) {
        const outcome = outcomes.get(entry)
        if (outcome?.kind !== 'rejected' || outcome.reason !== 'unstorable') continue
        writer.add(entry, [])
        const kafkaOffset = `${offset - (bases.get(batch.partition) ?? 0)}`
        yield {
          partition: 0,
          value: writer.finish(),
          headers: describe(batch.partition, kafkaOffset, outcome.message),
        }
      }
    }
  }

  const describe = (partition: number, offset: string, reason: string) => ({
    reason,
    topic: topics.points,
    partition: `${partition}`,
    offset,
  })

  const consuming = keepConsuming({
    createClient,
    retries,
    topic: topics.points,
    groupId: () => topics.writers,
    concurrency: STORED_AT_ONCE,
    fetch: FETCH,
    eachBatch,
    // The partition's new owner reads records again that were stored and not committed.
    onJoin: (consumer, partitions) => {
      beginning.plan(consumer, partitions)
      joins++
      stored.clear()
      unstoredSince.clear()
    },
    onLeaving: commit,
    findUnread: options.findUnread,
    onError,
    onNote: options.onNote,
  })
  const commits = setInterval(() => {
    const { consumer } = consuming
    // Only one commit at a time: an offset that is tried again must not follow a later one.
    if (!consumer || committing) return
    committing = true
    commit(consumer)
      .catch(error => isRebalancing(error) || onError(error, 'committing offsets'))
      .finally(() => {
        committing = false
      })
  }, COMMIT_EVERY_MS)
  return {
    membership: consuming.membership,
    async close() {
      clearInterval(commits)
      await consuming.close()
    },
  }
}

const isNamed = (subject: Subject | number): subject is Subject => typeof subject !== 'number'

/** The group moves partitions, or has given ours to another member: kafkajs has to join again. */
function isRebalancing(error: unknown): boolean {
  const { type } = (error ?? {}) as { type?: string }
  return (
    type === 'REBALANCE_IN_PROGRESS' ||
    type === 'ILLEGAL_GENERATION' ||
    type === 'UNKNOWN_MEMBER_ID' ||
    type === 'NOT_COORDINATOR_FOR_GROUP'
  )
}
