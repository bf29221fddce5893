import { countOccurrences, findOccurrence, type Timing } from './occurrences.ts'

/** Of the occurrences that were missed so many make their tasks, the last ones (contract section 6). */
export const MAX_MISSED = 1_000

/** Where a schedule goes on. */
export interface Plan {
  /** The next occurrence whose task is to be made, in the past or the future; null where there is none. */
  nextRunAt: Date | null
  /** How many before that are too many. */
  skipped: number
}

/** Where a schedule goes on that has made its tasks of before `from`, in milliseconds since 1970. */
export function planFrom(timing: Timing, from: number, now: number): Plan {
  const { total, firstKept } = countOccurrences(timing, from, now, MAX_MISSED)
  const next = firstKept ?? findOccurrence(timing, Math.max(from, now))
  return {
    nextRunAt: next === null ? null : new Date(next),
    skipped: Math.max(0, total - MAX_MISSED),
  }
}
