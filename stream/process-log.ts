import { retry } from '../db/retry.ts'
import type { FairQueue } from '../fair/fair-queue.ts'
import type { Batch, Log, Positions, Subscription } from './log.ts'
import { callEach, splitByPartition } from './log.ts'
import { type Entry, NO_OUTCOMES, type Outcomes, sizeOf } from './point.ts'
import { type Waiting, WaitingEntries } from './waiting.ts'

/**
 * The log of the tiers without Kafka. It keeps nothing itself: an entry is durable when the database has committed it,
 * so `append` resolves when the storer has stored it. A partition stores one batch at a time, and entries that arrive
 * meanwhile form the next batch. So batches grow with the load, and a single entry does not wait for others.
 *
 * A batch is one record and gets its offset when storing begins, so offsets rise in the order in which points become
 * durable. A batch that fails is tried again under its offset. Offsets continue above those in the database (`start`).
 * Followers are called after the commit, and before `append` resolves.
 */
const BATCH: BatchSize = { cost: 4_000, bytes: 16 * 1024 * 1024 }
/**
 * On the embedded database everybody else waits while a batch is stored: 1,000 points that are not the newest of their subject take
 * 40 ms of a processor, and newer ones 10.
 */
export const EMBEDDED_BATCH: BatchSize = { cost: 1_500, bytes: 2 * 1024 * 1024 }
const MAX_WAITING_BYTES = 128 * 1024 * 1024
const RETRY_FIRST_MS = 50
const RETRY_MAX_MS = 2_000

/** The most that is stored together. What is appended together may be stored in several batches. */
interface BatchSize {
  /** As many points take as long to store. */
  cost: number
  bytes: number
}

interface Partition {
  number: number
  nextOffset: number
  queue: FairQueue<Waiting>
  storing: Promise<void> | undefined
}

export interface ProcessLogOptions {
  partitions: number
  /** The positions up to which the database has stored. */
  start: Positions
  maxWaitingBytes?: number
  batch?: BatchSize | undefined
  onError: (error: unknown, doing: string) => void
}

export function createProcessLog(options: ProcessLogOptions): Log {
  const size = options.batch ?? BATCH
  const waiting = new WaitingEntries({
    partitions: options.partitions,
    maxBytes: options.maxWaitingBytes ?? MAX_WAITING_BYTES,
    costOf: sumCosts,
    onError: options.onError,
  })
  const partitions = waiting.queues.map(
    (queue, number): Partition => ({
      number,
      nextOffset: options.start.get(number) ?? 0,
      queue,
      storing: undefined,
    }),
  )
  const followers = new Set<(batch: Batch) => unknown>()
  let handler: ((batch: Batch) => Promise<Outcomes>) | undefined

  function kick(partition: Partition): void {
    if (partition.storing || !handler || partition.queue.size === 0) return
    partition.storing = storeAll(partition).finally(() => {
      partition.storing = undefined
      // Handles entries that were appended between the last look at the queue and now.
      kick(partition)
    })
  }

  async function storeAll(partition: Partition): Promise<void> {
    // Waits one turn of the event loop, so that everything from one read of the sockets shares a batch.
    await new Promise(resolve => setImmediate(resolve))
    while (handler && partition.queue.size > 0) {
      waiting.dropEnded([partition.queue])
      const items = take(partition.queue, size)
      if (items.length === 0) continue
      const offset = partition.nextOffset++
      const entries = items.flatMap(item => item.entries)
      const batch = { partition: partition.number, records: [{ offset, entries }], nextOffset: offset + 1 }
      const outcomes = await storeUntilDone(batch, partition)
      if (!outcomes) return waiting.reject(items)
      callEach(followers, options.onError, batch)
      waiting.resolve(items, outcomes)
    }
  }

  /** Resolves to undefined if the log ends before the batch is stored. */
  async function storeUntilDone(batch: Batch, { queue }: Partition): Promise<Outcomes | undefined> {
    return retry(async () => handler?.(batch), {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        options.onError(error, `storing ${batch.records[0]?.entries.length} entries, trying again`)
        waiting.dropEnded([queue])
        return !waiting.isClosed
      },
    }).catch(() => undefined)
  }

  return {
    waiting: waiting.pressure.waiting,
    oldestWaitingSeconds: () => waiting.oldestSeconds,
    maxWaitingBytes: options.maxWaitingBytes ?? MAX_WAITING_BYTES,
    get full() {
      return waiting.pressure.full
    },
    onFull: waiting.pressure.onFull,

    append(entries, source) {
      if (entries.length === 0) return Promise.resolve(NO_OUTCOMES)
      const parts = splitByPartition(entries, partitions.length).flatMap(([number, part]) =>
        splitBySize(part, size).map(piece => [number, piece] as const),
      )
      const appended = waiting.append(parts, source)
      for (const [number] of parts) kick(partitions[number] as Partition)
      return appended
    },

    async store(storer) {
      if (handler) throw new Error('The log of one process has one storer')
      handler = storer
      for (const partition of partitions) kick(partition)
      return {
        async close() {
          handler = undefined
          await Promise.all(partitions.map(partition => partition.storing))
        },
      } satisfies Subscription
    },

    follow: (start, handle) => follow(followers, start, handle),

    async close() {
      waiting.close()
      await Promise.all(partitions.map(partition => partition.storing))
      waiting.rejectAll()
    },
  }
}

/** The log keeps no past records, so batches that are stored while `start` reads are held back until it is done. */
async function follow(
  followers: Set<(batch: Batch) => unknown>,
  start: () => Promise<Positions>,
  handle: (batch: Batch) => void,
): Promise<Subscription> {
  let held: Batch[] | undefined = []
  const follower = (batch: Batch) => (held ? held.push(batch) : handle(batch))
  followers.add(follower)
  try {
    const from = await start()
    for (const batch of held) if (batch.nextOffset > (from.get(batch.partition) ?? 0)) handle(batch)
    held = undefined
  } catch (error) {
    followers.delete(follower)
    throw error
  }
  return {
    async close() {
      followers.delete(follower)
    },
  }
}

/** Removes the next batch from a queue. */
function take(queue: FairQueue<Waiting>, max: BatchSize): Waiting[] {
  const items: Waiting[] = []
  let [cost, bytes] = [0, 0]
  for (let item = queue.peek(); item; item = queue.peek()) {
    if (cost > 0 && (cost + item.cost > max.cost || bytes + item.bytes > max.bytes)) break
    items.push(item)
    cost += item.cost
    bytes += item.bytes
    queue.shift()
  }
  return items
}

/**
 * The share of a batch's maximum that an entry takes. Storing a rejection takes four times as long as storing a point: it
 * also deletes the subject's oldest rejections.
 */
const costOf = ({ kind }: Entry): number => (kind === 'point' ? 1 : 4)

function sumCosts(entries: readonly Entry[]): number {
  let cost = 0
  for (const entry of entries) cost += costOf(entry)
  return cost
}

/** The entries in their order, in pieces that fit into a batch. */
function splitBySize(entries: readonly Entry[], max: BatchSize): (readonly Entry[])[] {
  const pieces: (readonly Entry[])[] = []
  let [from, cost, bytes] = [0, 0, 0]
  for (const [index, entry] of entries.entries()) {
    const [itsCost, itsBytes] = [costOf(entry), sizeOf(entry)]
    if (index > from && (cost + itsCost > max.cost || bytes + itsBytes > max.bytes)) {
      pieces.push(entries.slice(from, index))
      ;[from, cost, bytes] = [index, 0, 0]
    }
    cost += itsCost
    bytes += itsBytes
  }
  pieces.push(from === 0 ? entries : entries.slice(from))
  return pieces
}
