import { type Budget, lookThrough, type Timing } from './occurrences.ts'

/** The number of missed occurrences that still create their tasks; the last ones count (contract section 6). */
export const MAX_MISSED = 1_000

/** The position at which a schedule continues. */
export interface Plan {
  /** The next occurrence whose task is not created yet, in the past or the future; null if there is none. */
  nextRunAt: Date | null
  /** The number of missed occurrences before that, which create no task. */
  skipped: number
}

/** Plans a schedule whose tasks before `from` (milliseconds since 1970) are created. */
export function* planFrom(timing: Timing, from: number, now: number, budget?: Budget): Generator<void, Plan> {
  const futureCount = (past: number) => (past > 0 ? 0 : 1)
  const found = yield* lookThrough(timing, {
    from,
    now,
    keep: MAX_MISSED,
    futureCount,
    ...(budget && { budget }),
  })
  const next = found.kept[0] ?? found.next[0]
  return {
    nextRunAt: next === undefined ? null : new Date(next),
    skipped: Math.max(0, found.past - MAX_MISSED),
  }
}
