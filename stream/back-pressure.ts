import { callEach } from './log.ts'
import { type Entry, sizeOf } from './point.ts'

/** What of a log waits to become durable, and whether as much waits as may: full from the maximum up, until half of it is gone. */
export interface BackPressure {
  readonly waiting: { entries: number; bytes: number }
  readonly full: boolean
  onRelief(listener: () => void): () => void
  /** Counts entries in. Returns their bytes. */
  enter(entries: readonly Entry[]): number
  /** Counts them out, with the bytes that they entered with. */
  leave(item: { entries: readonly Entry[]; bytes: number }): void
}

export function createBackPressure(options: {
  maxBytes: number
  onError: (error: unknown, doing: string) => void
}): BackPressure {
  const { maxBytes, onError } = options
  const waiting = { entries: 0, bytes: 0 }
  const reliefs = new Set<() => void>()
  let full = false

  return {
    waiting,
    get full() {
      return full
    },
    onRelief(listener) {
      reliefs.add(listener)
      return () => reliefs.delete(listener)
    },
    enter(entries) {
      const bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 0)
      waiting.bytes += bytes
      waiting.entries += entries.length
      if (waiting.bytes > maxBytes) full = true
      return bytes
    },
    leave({ entries, bytes }) {
      waiting.bytes -= bytes
      waiting.entries -= entries.length
      if (!full || waiting.bytes > maxBytes / 2) return
      full = false
      callEach(reliefs, onError)
    },
  }
}
