import { getHeapStatistics } from 'node:v8'
import { isOver } from '../fair/watermark.ts'
import { callEach, type Log } from './log.ts'
import { type Entry, sizeOf } from './point.ts'

/**
 * Counts the entries of a log that wait to become durable. It is full above the maximum, and stays full until half of
 * the maximum is free again.
 */
export interface BackPressure extends Pick<Log, 'waiting' | 'full' | 'onFull'> {
  /** Counts entries in. Returns their size in bytes. */
  enter(entries: readonly Entry[]): number
  /** Counts entries out, with the bytes that `enter` returned for them. */
  leave(item: { entries: readonly Entry[]; bytes: number }): void
}

/** Waiting bytes are counted as sent. As objects they take three times as much memory, and other work needs memory too. */
const PART_OF_HEAP = 1 / 8

/** The given number of bytes, or less in a process with a small heap (`--max-old-space-size`). */
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
    const now = isOver(full, waiting.bytes, maxBytes)
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
