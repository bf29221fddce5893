import type { Positions, Subject } from '../log.ts'
import type { Entry, Outcomes } from '../point.ts'
import type { ReadBatch } from './batches.ts'
import type { OnError } from './client.ts'
import { RecordWriter } from './record.ts'
import type { Messages } from './sender.ts'
import type { StoredLog, Topics } from './topics.ts'

/** The input from which the dead letters of a batch are made. */
export interface DeadLetters {
  /**
   * Splits a batch that is read again for a restored database. Subjects created after the dump are missing in it, and
   * their keys may belong to other subjects by now. Their entries go to the dead letters.
   */
  splitByKnownSubject(batch: ReadBatch): Promise<{ known: ReadBatch; orphans: Messages }>
  /** The records that cannot be read. */
  ofUnreadable(batch: ReadBatch): Messages
  /** The points that the database rejected. */
  ofUnstorable(batch: ReadBatch, outcomes: Outcomes): Messages
}

export function createDeadLetters(options: {
  topics: Topics
  bases: Positions
  stored: StoredLog
  onError: OnError
}): DeadLetters {
  const { topics, bases, stored, onError } = options
  const describe = (partition: number, offset: string, reason: string) => ({
    reason,
    topic: topics.points,
    partition: `${partition}`,
    offset,
  })
  /** The letter of some entries of one record. */
  const toLetter = (
    { partition }: ReadBatch,
    offset: number,
    entries: readonly Entry[],
    names: readonly Subject[],
    reason: string,
  ): Messages[number] => {
    const writer = new RecordWriter()
    for (const entry of entries) writer.add(entry, names)
    const kafkaOffset = `${offset - (bases.get(partition) ?? 0)}`
    return { partition: 0, value: writer.finish(), headers: describe(partition, kafkaOffset, reason) }
  }

  return {
    async splitByKnownSubject(batch) {
      const named = batch.records.flatMap(({ subjects }) => subjects.filter(isNamed))
      const known = await stored.listKnown(named)
      const gone = new Set(named.map(({ subject }) => subject).filter(key => !known.has(key)))
      if (gone.size === 0) return { known: batch, orphans: [] }
      await stored.reserveKeys(named.reduce((max, { subject }) => Math.max(max, subject), 0))
      const isGone = (entry: Entry) => gone.has(entry.subject)
      const reason = 'The restored database does not have its subject.'
      const orphans = batch.records.flatMap(({ offset, subjects, entries }) => {
        const lost = entries.filter(isGone)
        return lost.length > 0 ? [toLetter(batch, offset, lost, subjects.filter(isNamed), reason)] : []
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
    },

    ofUnreadable: batch =>
      batch.unreadable.map(({ message, reason }) => {
        onError(
          new Error(reason),
          `reading record ${message.offset} of partition ${batch.partition}, sending it to the dead letters`,
        )
        const { key, value, headers } = message
        const why = describe(batch.partition, message.offset, reason)
        return { partition: 0, key, value, headers: { ...headers, ...why } }
      }),

    ofUnstorable(batch, outcomes) {
      if (outcomes.size === 0) return []
      return batch.records.flatMap(({ offset, entries }) =>
        entries.flatMap(entry => {
          const outcome = outcomes.get(entry)
          return outcome?.kind === 'rejected' && outcome.reason === 'unstorable'
            ? [toLetter(batch, offset, [entry], [], outcome.message)]
            : []
        }),
      )
    },
  }
}

const isNamed = (subject: Subject | number): subject is Subject => typeof subject !== 'number'
