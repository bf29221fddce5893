import type { Owner } from '../fair/fair-queue.ts'
import type { Entry, Outcomes } from './point.ts'

/**
 * The log between ingest and the database, and the one seam between the tiers:
 *
 *   ingest  --append-->  log  --store-->   writer  -->  table
 *                         |
 *                         +----follow-->   live    -->  sockets
 *
 * `kafka/log.ts` and `process-log.ts` implement it and pass one contract test. All entries of a subject are in one
 * partition, and the entries of a source keep their order. Waiting entries take turns: by organization, and within an
 * organization by sender. No code above the log asks which implementation it has.
 */
export interface Log {
  /**
   * Resolves when every entry is durable: written by Kafka, or committed by the database. It waits as long as that
   * takes. It rejects when `source` ends or the log closes before; some entries may be durable then. Resolves to the
   * outcomes of storing that are known by then.
   */
  append(entries: readonly Entry[], source: Source): Promise<Outcomes>
  /**
   * Whether the waiting bytes reached their maximum. It stays true until half of them are durable. Callers that append
   * stop reading.
   */
  readonly full: boolean
  /** Calls the listener whenever `full` changes. Returns a function that stops listening. */
  onFull(listener: (full: boolean) => void): () => void
  /** The number of entries that wait to become durable, and their bytes. */
  readonly waiting: { entries: number; bytes: number }
  /** How long the oldest of them has been waiting, in seconds; 0 if none waits. */
  oldestWaitingSeconds(): number
  /** The limit of those bytes. */
  readonly maxWaitingBytes: number

  /**
   * Takes part in storing: each record goes to exactly one of all storers. `handler` resolves when the batch is
   * committed. As long as it rejects, it is called again with the same batch.
   */
  store(handler: (batch: Batch) => Promise<Outcomes>): Promise<Subscription>
  /**
   * Calls `start` for the positions to read from, then passes every record at or after them to `handler`, in order
   * within a partition. A follower reads its first state in `start`, together with the positions of that state.
   * Resolves when every record that was in the log after `start` has been handed over.
   */
  follow(start: () => Promise<Positions>, handler: (batch: Batch) => void): Promise<Subscription>

  close(): Promise<void>
}

/** The origin of appended entries: a connection or a request. Setting `ended` drops its entries that still wait. */
export interface Source {
  ended: boolean
  /** The owners of its entries. Kafka's records name them, so that other consumers need no table of Fieldline. */
  readonly subjects: readonly Subject[]
  /** Whose turn its entries wait for, where many subjects share one sender; otherwise that is the first subject. */
  readonly sender?: number
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

/** When the first entry of a batch was received: it looks at one entry of each record, which is its oldest or about as old. */
export function receivedAtOf({ records }: Batch): number {
  let first = Number.POSITIVE_INFINITY
  for (const { entries } of records) first = Math.min(first, entries[0]?.receivedAt ?? first)
  return first
}

/** The next offset to read, by partition. A partition that is absent is read from its beginning. */
export type Positions = ReadonlyMap<number, number>

export interface Subscription {
  /** Ends after the batch that is being handled. */
  close(): Promise<void>
}

/** Calls every listener, even if one throws: a listener has no influence on storing. */
export function callEach<Args extends unknown[]>(
  listeners: Iterable<(...args: Args) => unknown>,
  onError: (error: unknown, doing: string) => void,
  ...args: Args
): void {
  for (const listener of [...listeners]) {
    try {
      listener(...args)
    } catch (error) {
      onError(error, 'calling a listener of the log')
    }
  }
}

/** The partition of a subject. All of its points go there in order, and consecutive keys spread evenly. */
export function partitionOf(subject: number, partitions: number): number {
  return subject % partitions
}

/** The owner whose turn a source's entries wait for. */
export function ownerOf({ subjects: [first], sender }: Source): Owner {
  return { organizationId: first?.organizationId ?? '', sender: sender ?? first?.subject ?? 0 }
}

/** Groups the entries by partition, each group in the original order. */
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
