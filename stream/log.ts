import type { Owner } from './fair-queue.ts'
import type { Entry, Outcomes } from './point.ts'

/**
 * The log between ingest and the database, and the one seam between the tiers:
 *
 *   ingest  --append-->  log  --store-->   writer  -->  table
 *                         |
 *                         +----follow-->   live    -->  sockets
 *
 * `kafka-log.ts` and `process-log.ts` implement it and pass one contract test. Entries of one subject are on one
 * partition, and those of one source keep their order. What waits is taken of one organization after the other, and in each
 * of one sender after the other. Nothing above asks which of the two it has.
 */
export interface Log {
  /**
   * Resolves when every entry is durable: written by Kafka, or committed by the database. It waits as long as that
   * takes; it rejects when `source` ended meanwhile or the log closes, and then some entries may be durable.
   * Resolves to what storing found out, as far as the tier knows by then.
   */
  append(entries: readonly Entry[], source: Source): Promise<Outcomes>
  /** Whether as many bytes wait as may; it stays so until half of them are durable. Whoever appends reads nothing more. */
  readonly full: boolean
  /** Calls whenever the log has become full, or no longer is. Returns how to stop listening. */
  onFull(listener: (full: boolean) => void): () => void
  /** Entries that wait to become durable, and their bytes. */
  readonly waiting: { entries: number; bytes: number }

  /**
   * Takes part in storing: every record goes to one of all storers. `handler` resolves when the batch is
   * committed; while it rejects it is called again with the same batch.
   */
  store(handler: (batch: Batch) => Promise<Outcomes>): Promise<Subscription>
  /**
   * Calls `start` for the positions to read from, then hands every record at or after them to `handler`, in order
   * per partition. `start` is where a follower reads its first state together with the positions it stands for.
   * Resolves when what the log held after `start` has been handed over.
   */
  follow(start: () => Promise<Positions>, handler: (batch: Batch) => void): Promise<Subscription>

  close(): Promise<void>
}

/** Where appended entries come from: a connection or a request. Set `ended`, and what still waits is dropped. */
export interface Source {
  ended: boolean
  /** Who its entries are of. Kafka's records name them, so that other consumers need no table of ours. */
  readonly subjects: readonly Subject[]
}

/** A user or device as ingest knows it. */
export interface Subject {
  kind: 'user' | 'device'
  id: string
  organizationId: string
  /** `subjects.key`, which entries carry. */
  subject: number
}

/** Consecutive records of one partition. */
export interface Batch {
  partition: number
  records: readonly Record[]
  /** The offset after the last record. */
  nextOffset: number
}

export interface Record {
  offset: number
  entries: readonly Entry[]
}

/** The next offset to read, by partition. A partition that is absent is read from its beginning. */
export type Positions = ReadonlyMap<number, number>

export interface Subscription {
  /** Ends after the batch that is being handled. */
  close(): Promise<void>
}

/** Calls each of them, also where one throws: whoever listens has no say in what was stored. */
export function callEach<Args extends unknown[]>(
  listeners: Iterable<(...args: Args) => unknown>,
  onError: (error: unknown, doing: string) => void,
  ...args: Args
): void {
  for (const listener of [...listeners]) {
    try {
      listener(...args)
    } catch (error) {
      onError(error, 'telling what the log has done')
    }
  }
}

/** The partition of a subject: its points stay in order, and neighbours spread evenly. */
export function partitionOf(subject: number, partitions: number): number {
  return subject % partitions
}

/** Whose turn entries of a source wait for: its first subject's, which is the sender's. */
export function ownerOf({ subjects: [first] }: Source): Owner {
  return { organizationId: first?.organizationId ?? '', sender: first?.subject ?? 0 }
}

/** The entries by partition, in their order. */
export function splitByPartition(
  entries: readonly Entry[],
  partitions: number,
): [number, readonly Entry[]][] {
  const first = partitionOf((entries[0] as Entry).subject, partitions)
  if (entries.every(entry => partitionOf(entry.subject, partitions) === first)) return [[first, entries]]
  const parts = new Map<number, Entry[]>()
  for (const entry of entries) {
    const number = partitionOf(entry.subject, partitions)
    const part = parts.get(number)
    if (part) part.push(entry)
    else parts.set(number, [entry])
  }
  return [...parts]
}
