import { getHeapStatistics } from 'node:v8'
import { callEach, type Log } from './log.ts'
import { type Entry, sizeOf } from './point.ts'

/** What of a log waits to become durable, and whether as much waits as may: full from the maximum up, until half of it is gone. */
export interface BackPressure extends Pick<Log, 'waiting' | 'full' | 'onFull'> {
  /** Counts entries in. Returns their bytes. */
  enter(entries: readonly Entry[]): number
  /** Counts them out, with the bytes that they entered with. */
  leave(item: { entries: readonly Entry[]; bytes: number }): void
}

/** What waits is counted as it was sent; as objects it takes three times as much, and there is other work beside it. */
const PART_OF_HEAP = 1 / 8

/** So many bytes, or what a process with a small heap (`--max-old-space-size`) has room for. */
export const withinHeap = (bytes: number): number =>
  Math.min(bytes, getHeapStatistics().heap_size_limit * PART_OF_HEAP)

export function createBackPressure(options: {
  maxBytes: number
  onError: (error: unknown, doing: string) => void
}): BackPressure {
  const { onError } = options
  const maxBytes = withinHeap(options.maxBytes)
  const waiting = { entries: 0, bytes: 0 }
  const listeners = new Set<(full: boolean) => void>()
  let full = false

  function update(): void {
    const now = waiting.bytes > (full ? maxBytes / 2 : maxBytes)
    if (now === full) return
    full = now
    callEach(listeners, onError, full)
  }

  return {
    waiting,
    get full() {
      return full
    },
    onFull(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    enter(entries) {
      const bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 0)
      waiting.bytes += bytes
      waiting.entries += entries.length
      update()
      return bytes
    },
    leave({ entries, bytes }) {
      waiting.bytes -= bytes
      waiting.entries -= entries.length
      update()
    },
  }
}
