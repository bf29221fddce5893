import { type Budget, lookThrough, type Timing } from './occurrences.ts'

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
export function* planFrom(timing: Timing, from: number, now: number, budget?: Budget): Generator<void, Plan> {
  const ahead = (past: number) => (past > 0 ? 0 : 1)
  const found = yield* lookThrough(timing, { from, now, keep: MAX_MISSED, ahead, ...(budget && { budget }) })
  const next = found.kept[0] ?? found.next[0]
  return {
    nextRunAt: next === undefined ? null : new Date(next),
    skipped: Math.max(0, found.past - MAX_MISSED),
  }
}
