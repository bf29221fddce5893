import type { Admin, Consumer, EachBatchPayload } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import type { Batch, Positions, Subject, Subscription } from '../log.ts'
import type { Entry, Outcomes } from '../point.ts'
import { type ReadBatch, readBatches } from './batches.ts'
import { createBeginning } from './beginning.ts'
import { inTime, type KafkaClient, type OnError } from './client.ts'
import { HEARTBEAT_MS, keepConsuming } from './consumer.ts'
import { createRecordWriter } from './record.ts'
import type { Messages, Sender } from './sender.ts'
import type { StoredLog, Topics } from './topics.ts'

/**
 * A member of the writers' group, which begins where the database ends (`beginning.ts`). An offset is committed when what lies before it is stored: here, twice a second,
 * from what the handler has resolved. Who dies, or loses a partition, leaves at most half a second behind that the
 * next one stores again, which changes nothing.
 *
 * The handler may take long, or fail for as long as the database is away. Meanwhile the member shows that it lives,
 * and the same batch is handed over again, so that the group keeps its order through it. When the group moves
 * partitions, that is learnt from a heartbeat and passed on to kafkajs, which joins again.
 *
 * A record that cannot be read, and a point that the database rejects, goes to the dead letters before its offset is
 * passed.
 */
/** As many as the writer has connections to the database for: two bring more than one (152 to 256 k rows/s). */
const STORED_AT_ONCE = 4
/**
 * What a batch costs the database is spread over its points: of 100 it took 30 thousand points/s, of 500 to 1,000 60 to
 * 140 thousand (two cores, shared). Eight partitions make batches of 600 of this many bytes.
 */
const FETCH = { minBytes: 256 * 1024, waitMs: 100 }
const COMMIT_EVERY_MS = 500
/** Longer than kafkajs tries by itself. */
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
  /** Counts what the database turned out not to have. */
  behind: { again: number; missing: number }
  onError: OnError
}): Subscription {
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
  /** Offsets to commit, by partition: Kafka's own. */
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
      // A broker that has just started rejects offsets for a moment, and where nothing new comes nobody would commit them
      // later. After a join they are read again.
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
    // As long as the others are still to come the coordinator takes it, and nobody stores these again.
    const offsets = { topics: [{ topic: topics.points, partitions: takeStored() }] }
    await payload.commitOffsetsIfNecessary(offsets).catch(() => {})
    throw lost
  }

  /** Whether it was stored: not when the member has to go. */
  async function storeUntilDone(batch: ReadBatch, mayGoOn: () => boolean): Promise<boolean> {
    const storeOnce = async () => {
      if (!mayGoOn()) return false
      const first = (batch.records[0]?.offset ?? 0) - (bases.get(batch.partition) ?? 0)
      const isAgain = beginning.isRead(batch.partition, first)
      const { known, strangers } = isAgain ? await partBySubject(batch) : { known: batch, strangers: [] }
      const outcomes = await handler(known)
      const letters = [...strangers, ...writeUnreadable(batch), ...writeUnstorable(known, outcomes)]
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
   * Of a database that has gone back: subjects that it had not yet when it was dumped are not here, and their keys may be
   * others' by now. What is of them goes to the dead letters.
   */
  async function partBySubject(batch: ReadBatch): Promise<{ known: ReadBatch; strangers: Messages }> {
    const named = batch.records.flatMap(({ subjects }) => subjects.filter(isNamed))
    const known = await database.listKnown(named)
    const gone = new Set(named.map(({ subject }) => subject).filter(key => !known.has(key)))
    if (gone.size === 0) return { known: batch, strangers: [] }
    await database.reserveKeys(named.reduce((max, { subject }) => Math.max(max, subject), 0))
    const isGone = (entry: Entry) => gone.has(entry.subject)
    const strangers = batch.records.flatMap(({ offset, subjects, entries }) => {
      const writer = createRecordWriter()
      const theirs = entries.filter(isGone)
      const names = subjects.filter(isNamed)
      for (const entry of theirs) writer.add(entry, names)
      const kafkaOffset = `${offset - (bases.get(batch.partition) ?? 0)}`
      const headers = describe(
        batch.partition,
        kafkaOffset,
        'The restored database does not have its subject.',
      )
      return theirs.length > 0 ? [{ partition: 0, value: writer.finish(), headers }] : []
    })
    onError(
      new Error(`${gone.size} subjects of what is read again are not in the database`),
      `storing what is of them in partition ${batch.partition}: dead letters`,
    )
    const records = batch.records.map(one => ({
      ...one,
      entries: one.entries.filter(entry => !isGone(entry)),
    }))
    return { known: { ...batch, records }, strangers }
  }

  function* writeUnreadable(batch: ReadBatch): Generator<Messages[number]> {
    for (const { message, reason } of batch.unreadable) {
      onError(
        new Error(reason),
        `reading record ${message.offset} of partition ${batch.partition}: a dead letter`,
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
    // What was stored and not committed is read again by whoever has the partition now.
    onJoin: (consumer, partitions) => {
      beginning.plan(consumer, partitions)
      joins++
      stored.clear()
      unstoredSince.clear()
    },
    onLeaving: commit,
    onError,
  })
  const commits = setInterval(() => {
    const { consumer } = consuming
    // One at a time: an offset that was rejected must not come after a later one.
    if (!consumer || committing) return
    committing = true
    commit(consumer)
      .catch(error => isRebalancing(error) || onError(error, 'committing offsets'))
      .finally(() => {
        committing = false
      })
  }, COMMIT_EVERY_MS)
  return {
    async close() {
      clearInterval(commits)
      await consuming.close()
    },
  }
}

const isNamed = (subject: Subject | number): subject is Subject => typeof subject !== 'number'

/** The group moves partitions, or has given ours away: kafkajs has to join again. */
function isRebalancing(error: unknown): boolean {
  const { type } = (error ?? {}) as { type?: string }
  return (
    type === 'REBALANCE_IN_PROGRESS' ||
    type === 'ILLEGAL_GENERATION' ||
    type === 'UNKNOWN_MEMBER_ID' ||
    type === 'NOT_COORDINATOR_FOR_GROUP'
  )
}
