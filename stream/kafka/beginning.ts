import type { Admin, Consumer } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import type { Positions } from '../log.ts'
import type { OnError } from './client.ts'
import type { StoredLog, Topics } from './topics.ts'

/**
 * Where a writer begins: where its database ends. The group's offsets are committed after the database, so they are never
 * ahead of it, unless the database has gone back: it was restored from a dump, or a standby took over that had not
 * everything. Then the partition is read again from what the database says, and what it has is not stored twice.
 */
export interface Beginning {
  /** Plans a join, or does again where what is handed over contradicts the plan. */
  plan(consumer: Consumer, partitions: readonly number[]): void
  /** Whether what was fetched from this offset on may be stored. Waits for the plan. */
  admits(partition: number, offset: number): Promise<boolean>
  /** Whether a record was committed by the group before: of a database that has gone back. */
  isRead(partition: number, offset: number): boolean
}

const RETRY_FIRST_MS = 200
const RETRY_MAX_MS = 2_000
/** What was fetched before the seek comes once or twice; more, and Kafka has forgotten meanwhile what was sought. */
const MAX_REFUSED = 5

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
  /** Offsets that are sought, by partition, until what comes begins there, and how often something else came. */
  const sought = new Map<number, { offset: number; refused: number }>()
  /** Up to where the group had read what is read again. */
  const readTo = new Map<number, number>()
  /** What was told, as each join finds it again until something is stored. */
  const told = new Map<number, string>()

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
      tell(partition, end, from, range.next)
      if (from === range.next) continue
      sought.set(partition, { offset: from, refused: 0 })
      readTo.set(partition, Math.max(range.next, readTo.get(partition) ?? 0))
      consumer.seek(offset)
      // Whoever has the partition next, and whoever asks how far behind it is, finds it so.
      await consumer.commitOffsets([offset])
    }
  }

  /** Where the group goes on, and the first offset that Kafka still has, by partition. */
  async function readGroup(admin: Admin): Promise<Map<number, { next: number; low: number }>> {
    const ends = await admin.fetchTopicOffsets(topics.points)
    const [committed] = await admin.fetchOffsets({ groupId: topics.writers, topics: [topics.points] })
    const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
    return new Map(
      ends.map(({ partition, low }) => [
        partition,
        // Without an offset it is -1, and what is oldest comes first.
        { next: Math.max(offsets.get(partition) ?? 0, Number(low)), low: Number(low) },
      ]),
    )
  }

  function tell(partition: number, end: number, from: number, next: number): void {
    const what = `${end} ${from}`
    if (told.get(partition) === what) return
    told.set(partition, what)
    behind.again += next - from
    behind.missing += from - end
    const doing = `going on with partition ${partition} where the writers had ended`
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
          onError(error, 'asking where the database ends, trying again')
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
      if (++wanted.refused > MAX_REFUSED) throw new Error(`Offset ${wanted.offset} is not in Kafka any more`)
      return false
    },

    isRead: (partition, offset) => offset < (readTo.get(partition) ?? 0),
  }
}
