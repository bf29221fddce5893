import type { Admin, Consumer } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import type { Positions } from '../log.ts'
import type { OnError } from './client.ts'
import type { StoredLog, Topics } from './topics.ts'

/**
 * A writer begins where its database ends. The group's offsets are committed after the database, so they are never
 * ahead of it, unless the database has gone back: it was restored from a dump, or a standby with missing data took
 * over. Then the partition is read again from the database's position, and points that the database has are not stored
 * twice.
 */
export interface Beginning {
  /** Plans where each partition begins in a join; a new join replaces the plan. */
  plan(consumer: Consumer, partitions: readonly number[]): void
  /** Whether messages fetched from this offset on may be stored. Waits for the plan. */
  admits(partition: number, offset: number): Promise<boolean>
  /** Whether the group committed a record before, so that it is read again for a database that has gone back. */
  isRead(partition: number, offset: number): boolean
}

const RETRY_FIRST_MS = 200
const RETRY_MAX_MS = 2_000
/**
 * Messages fetched before the seek arrive once or twice. If they arrive more often, Kafka has deleted the sought offset
 * meanwhile.
 */
const MAX_MISMATCHES = 5

export function createBeginning(options: {
  ask: <T>(work: (admin: Admin) => Promise<T>) => Promise<T>
  stored: StoredLog
  topics: Topics
  bases: Positions
  behind: { again: number; missing: number }
  onError: OnError
}): Beginning {
  const { ask, stored, topics, bases, behind, onError } = options
  let joins = 0
  let planned = Promise.resolve()
  /** The sought offset of each partition, until a fetch begins there, and how often a fetch began elsewhere. */
  const sought = new Map<number, { offset: number; mismatches: number }>()
  /** The position up to which the group had read, for partitions that are read again. */
  const readTo = new Map<number, number>()
  /** Reports already made: each join finds the same gap again until something is stored. */
  const reported = new Map<number, string>()

  async function seek(consumer: Consumer, partitions: readonly number[], join: number): Promise<void> {
    const [ends, group] = await Promise.all([stored.readPositions(), ask(readGroup)])
    if (join !== joins) return
    for (const partition of partitions) {
      const position = ends.get(partition)
      const range = group.get(partition)
      if (position === undefined || !range) continue
      const end = Math.max(0, position - (bases.get(partition) ?? 0))
      if (end >= range.next) continue
      const from = Math.max(end, range.low)
      const offset = { topic: topics.points, partition, offset: `${from}` }
      report(partition, end, from, range.next)
      if (from === range.next) continue
      sought.set(partition, { offset: from, mismatches: 0 })
      readTo.set(partition, Math.max(range.next, readTo.get(partition) ?? 0))
      consumer.seek(offset)
      // The partition's next owner and readers of the lag find the new position.
      await consumer.commitOffsets([offset])
    }
  }

  /** The group's next offset, and the first offset that Kafka still has, by partition. */
  async function readGroup(admin: Admin): Promise<Map<number, { next: number; low: number }>> {
    const ends = await admin.fetchTopicOffsets(topics.points)
    const [committed] = await admin.fetchOffsets({ groupId: topics.writers, topics: [topics.points] })
    const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
    return new Map(
      ends.map(({ partition, low }) => [
        partition,
        // A group without an offset has -1 and begins at the oldest record.
        { next: Math.max(offsets.get(partition) ?? 0, Number(low)), low: Number(low) },
      ]),
    )
  }

  function report(partition: number, end: number, from: number, next: number): void {
    const gap = `${end} ${from}`
    if (reported.get(partition) === gap) return
    reported.set(partition, gap)
    behind.again += next - from
    behind.missing += from - end
    const doing = `resuming partition ${partition}`
    if (next > from) {
      const message = `The database has stored the log up to ${end}, the writers had read up to ${next}: ${next - from} records are read again`
      onError(new Error(message), doing)
    }
    if (from > end) {
      const message = `The database has stored the log up to ${end}, Kafka begins at ${from}: ${from - end} records are lost`
      onError(new Error(message), doing)
    }
  }

  return {
    plan(consumer, partitions) {
      const join = ++joins
      sought.clear()
      planned = retry(() => seek(consumer, partitions, join), {
        firstMs: RETRY_FIRST_MS,
        maxMs: RETRY_MAX_MS,
        again(error) {
          if (join !== joins) return false
          onError(error, 'asking up to where the database has stored the log, trying again')
          return true
        },
      }).catch(() => {})
    },

    async admits(partition, offset) {
      const join = joins
      await planned
      if (join !== joins) return false
      const wanted = sought.get(partition)
      if (!wanted) return true
      if (offset <= wanted.offset) {
        sought.delete(partition)
        return true
      }
      if (++wanted.mismatches > MAX_MISMATCHES)
        throw new Error(`Offset ${wanted.offset} is no longer in Kafka`)
      return false
    },

    isRead: (partition, offset) => offset < (readTo.get(partition) ?? 0),
  }
}
