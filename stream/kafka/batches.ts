import type { EachBatchPayload, KafkaMessage } from 'kafkajs'
import type { Batch, Record, Subject } from '../log.ts'
import { readRecord, UnreadableRecord } from './record.ts'

/** The number of entries handed over at once, the same as in the log of one process. */
const BATCH_ENTRIES = 4_000

/** Consecutive records of one partition, and the messages among them that cannot be read. */
export interface ReadBatch extends Batch {
  records: readonly ReadRecord[]
  unreadable: { message: KafkaMessage; reason: string }[]
  /** Kafka's own offset of the last record. */
  lastOffset: string
  /** When the broker took the first record, in milliseconds since 1970. */
  since: number
}

export interface ReadRecord extends Record {
  /** The subjects of its entries; only the key if the record does not identify the subject. */
  subjects: readonly (Subject | number)[]
}

/** Reads fetched messages of a partition, one batch at a time. Offsets are raised by `base`. */
export function* readBatches(fetched: EachBatchPayload['batch'], base: number): Generator<ReadBatch> {
  const { partition, messages } = fetched
  let next = 0
  while (next < messages.length) {
    const since = Number(messages[next]?.timestamp)
    const records: ReadRecord[] = []
    const unreadable: ReadBatch['unreadable'] = []
    let entries = 0
    let lastOffset = ''
    while (next < messages.length && entries < BATCH_ENTRIES) {
      const message = messages[next++] as KafkaMessage
      lastOffset = message.offset
      try {
        const record = { offset: base + Number(message.offset), ...read(message) }
        records.push(record)
        entries += record.entries.length
      } catch (error) {
        if (!(error instanceof UnreadableRecord)) throw error
        unreadable.push({ message, reason: error.message })
      }
    }
    yield { partition, records, nextOffset: base + Number(lastOffset) + 1, unreadable, lastOffset, since }
  }
}

function read(message: KafkaMessage) {
  if (!message.value) throw new UnreadableRecord('The record has no value')
  return readRecord(message.value)
}
