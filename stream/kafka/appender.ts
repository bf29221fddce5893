import type { FairQueue } from '../../fair/fair-queue.ts'
import { type Log, splitByPartition } from '../log.ts'
import { type Entry, NO_OUTCOMES } from '../point.ts'
import { type Waiting, WaitingEntries } from '../waiting.ts'
import type { OnError } from './client.ts'
import { RecordWriter } from './record.ts'
import type { Messages, Sender } from './sender.ts'

/**
 * Gathers appended entries into records. While one produce request is under way, new entries wait in their partition's
 * queue. When it is written, the next request takes from every partition as much as it may hold. So records grow with
 * the load, and a single entry does not wait for others.
 *
 * Measured: 250 to 770 thousand points/s with records of 1,000 points, 64 to 77 thousand with one record for each point.
 */
const RECORD_ENTRIES = 1_000
const RECORD_BYTES = 128 * 1024
/**
 * kafkajs makes one record batch of all records for a partition in one request, and the broker accepts 1 MiB (5 x 300
 * KiB were MESSAGE_TOO_LARGE). One entry may come on top: at most 70 KiB, for a rejection with the longest topic.
 */
const PARTITION_BYTES = 384 * 1024
/** A twentieth of a second at the highest rate. In longer outages the devices keep their points. */
export const MAX_WAITING_BYTES = 32 * 1024 * 1024
/** The broker takes requests up to 100 MiB. */
const REQUEST_BYTES = 16 * 1024 * 1024
/** About a point. Senders of one organization, and organizations, get equally many of these in their turns. */
const TURN_BYTES = 128
const LOOK_FOR_ENDED_MS = 1_000

export type Appender = Pick<Log, 'append' | 'full' | 'onFull' | 'waiting' | 'oldestWaitingSeconds' | 'close'>

export function createAppender(options: {
  topic: string
  partitions: number
  sender: Sender
  maxWaitingBytes?: number
  onError: OnError
}): Appender {
  const { topic, sender } = options
  const partitionBytes = Math.min(PARTITION_BYTES, REQUEST_BYTES / options.partitions)
  const waiting = new WaitingEntries({
    partitions: options.partitions,
    maxBytes: options.maxWaitingBytes ?? MAX_WAITING_BYTES,
    costOf: (_, bytes) => Math.ceil(bytes / TURN_BYTES),
    onError: options.onError,
  })
  const writer = new RecordWriter()
  /** The entries in the request that is under way. */
  let sending: Waiting[] = []
  let running: Promise<void> | undefined

  /**
   * Packs as many waiting entries of a partition into records as one request to Kafka may hold. An item moves from the queue to
   * `sending` with its last entry.
   */
  function takeRecords(queue: FairQueue<Waiting>, partition: number): Messages {
    const records: Buffer[] = []
    let bytes = 0
    for (let item = queue.peek(); item; item = queue.peek()) {
      const { subjects } = item.source
      while (item.taken < item.entries.length && bytes + writer.bytes < partitionBytes) {
        const entry = item.entries[item.taken++] as Entry
        writer.add(entry, subjects)
        if (writer.entries >= RECORD_ENTRIES || writer.bytes >= RECORD_BYTES) bytes += finish(writer, records)
      }
      if (item.taken < item.entries.length) break
      sending.push(item)
      queue.shift()
    }
    if (writer.entries > 0) finish(writer, records)
    return records.map(value => ({ partition, value }))
  }

  function start(): void {
    running ??= sendAll().finally(() => {
      running = undefined
      // Handles entries that were appended between the last look at the queues and now.
      if (!waiting.isEmpty) start()
    })
  }

  async function sendAll(): Promise<void> {
    // Waits one turn of the event loop, so that everything from one read of the sockets shares a record.
    await new Promise(resolve => setImmediate(resolve))
    const looking = setInterval(() => waiting.dropEnded(), LOOK_FOR_ENDED_MS)
    try {
      while (!waiting.isEmpty) {
        waiting.dropEnded()
        const messages = waiting.queues.flatMap(takeRecords)
        if (messages.length > 0) await sender.send(topic, messages)
        waiting.resolve(sending, NO_OUTCOMES)
        sending = []
      }
    } catch (error) {
      if (!waiting.isClosed) options.onError(error, 'writing records for Kafka')
      rejectAll()
    } finally {
      clearInterval(looking)
    }
  }

  function rejectAll(): void {
    waiting.reject(sending)
    sending = []
    waiting.rejectAll()
  }

  return {
    waiting: waiting.pressure.waiting,
    oldestWaitingSeconds: () => waiting.oldestSeconds,
    get full() {
      return waiting.pressure.full
    },
    onFull: waiting.pressure.onFull,

    append(entries, source) {
      if (entries.length === 0) return Promise.resolve(NO_OUTCOMES)
      const appended = waiting.append(splitByPartition(entries, options.partitions), source)
      start()
      return appended
    },

    async close() {
      waiting.close()
      await sender.close()
      await running
      rejectAll()
    },
  }
}

function finish(writer: RecordWriter, records: Buffer[]): number {
  const record = writer.finish()
  records.push(record)
  return record.length
}
