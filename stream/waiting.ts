import { createFairQueue, type FairQueue } from '../fair/fair-queue.ts'
import { type BackPressure, createBackPressure } from './back-pressure.ts'
import { ownerOf, type Source } from './log.ts'
import { type Entry, NO_OUTCOMES, type Outcome, type Outcomes } from './point.ts'

/** Consecutive entries of one call of `append` for one partition, until they are durable. */
export interface Waiting {
  readonly entries: readonly Entry[]
  readonly bytes: number
  readonly cost: number
  readonly source: Source
  /** The second in which it came, since the process started. */
  readonly second: number
  /** The number of its entries that are in a request already, where a request may take a part of them. */
  taken: number
  resolve(outcomes: Outcomes): void
  reject(error: Error): void
}

/** Entries and their partition. */
export type Part = readonly [partition: number, entries: readonly Entry[]]

const CLOSED = 'The log is closed'

/** The entries of a log that wait to become durable: a fair queue for each partition, and the back-pressure of all. */
export class WaitingEntries {
  readonly queues: readonly FairQueue<Waiting>[]
  readonly pressure: BackPressure
  readonly #costOf: (entries: readonly Entry[], bytes: number) => number
  /** How many items wait of each second in which some came, the oldest first: an own time of each would take more memory. */
  readonly #seconds = new Map<number, { firstMs: number; count: number }>()
  #closed = false

  constructor(options: {
    partitions: number
    maxBytes: number
    /** The share of a sender's turn that entries take. */
    costOf: (entries: readonly Entry[], bytes: number) => number
    onError: (error: unknown, doing: string) => void
  }) {
    const { partitions, maxBytes, costOf, onError } = options
    this.queues = Array.from({ length: partitions }, () => createFairQueue<Waiting>())
    this.pressure = createBackPressure({ maxBytes, onError })
    this.#costOf = costOf
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** How long the oldest item has been waiting, up to a second too much; 0 if none waits. */
  get oldestSeconds(): number {
    for (const { firstMs } of this.#seconds.values()) return (performance.now() - firstMs) / 1_000
    return 0
  }

  get isEmpty(): boolean {
    return this.queues.every(queue => queue.size === 0)
  }

  /** Queues the parts of one call of `append`. Resolves when all of them are durable. */
  append(parts: readonly Part[], source: Source): Promise<Outcomes> {
    if (this.#closed) return Promise.reject(new Error(CLOSED))
    const outcomes = parts.map(([partition, entries]) => this.#add(partition, entries, source))
    const [only] = outcomes
    return outcomes.length === 1 && only ? only : Promise.all(outcomes).then(merge)
  }

  #add(partition: number, entries: readonly Entry[], source: Source): Promise<Outcomes> {
    const bytes = this.pressure.enter(entries)
    const cost = this.#costOf(entries, bytes)
    const second = this.#enter()
    return new Promise((resolve, reject) => {
      const item: Waiting = { entries, bytes, cost, source, second, taken: 0, resolve, reject }
      this.queues[partition]?.push(item, ownerOf(source), cost)
    })
  }

  #enter(): number {
    const now = performance.now()
    const second = Math.floor(now / 1_000)
    const same = this.#seconds.get(second)
    if (same) same.count++
    else this.#seconds.set(second, { firstMs: now, count: 1 })
    return second
  }

  #leave(item: Waiting): void {
    this.pressure.leave(item)
    const same = this.#seconds.get(item.second)
    if (same && --same.count === 0) this.#seconds.delete(item.second)
  }

  /** Ends the waiting of items that are durable. */
  resolve(items: readonly Waiting[], outcomes: Outcomes): void {
    for (const item of items) {
      this.#leave(item)
      item.resolve(outcomes)
    }
  }

  reject(items: readonly Waiting[], message = CLOSED): void {
    for (const item of items) {
      this.#leave(item)
      item.reject(new Error(message))
    }
  }

  /** A device sends the entries of an ended connection again, so they need not be stored or kept. */
  dropEnded(queues = this.queues): void {
    for (const queue of queues)
      this.reject(
        queue.remove(({ source }) => source.ended),
        'The sender has gone',
      )
  }

  /** Refuses new entries; those that wait may still become durable until `rejectAll`. */
  close(): void {
    this.#closed = true
  }

  rejectAll(): void {
    for (const queue of this.queues) this.reject(queue.remove(() => true))
  }
}

function merge(all: readonly Outcomes[]): Outcomes {
  const known = all.filter(({ size }) => size > 0)
  return known.length === 0 ? NO_OUTCOMES : new Map<Entry, Outcome>(known.flatMap(outcomes => [...outcomes]))
}
