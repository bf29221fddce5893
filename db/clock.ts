import type { Queryable } from './client.ts'
import { readClocks } from './queries/clock.ts'
import { retry } from './retry.ts'

/**
 * The time of day for decisions: the database's, computed from this machine's own clock and the difference of the two.
 * So all processes share one time, and a machine with a wrong clock decides like the others. The difference is measured
 * at the start, every minute, and whenever this machine's clock jumps or the machine has slept; a jump has no effect
 * until then.
 *
 * If the database's clock is behind times that the database has stored, or was not read since this machine's clock
 * jumped, neither clock is trusted. Then nothing is rejected for being in the future, and nothing in the future is
 * acknowledged (`UntrustedClockError`).
 */
const MEASURE_EVERY_MS = 60_000
/** An adjusted clock drifts by 0.5 ms a second. */
const LEAP_MS = 500
/** A larger offset is logged. */
export const MAX_OFFSET_MS = 2_000
/** A database may take long to answer; the time in an answer may be wrong by half of that. */
const ACCURATE_WITHIN_MS = 500
const TRIES = 3
/** The clocks of several servers that were the database in turn may differ by this much. */
const MAX_BEHIND_MS = 60_000
const RETRY_MS = 1_000

/** The clocks do not yet allow the decision that a time is in the future. */
export class UntrustedClockError extends Error {
  constructor() {
    super('The clocks of this machine and of its database cannot be trusted')
  }
}

/** One process has one clock, whoever asks. */
const state = {
  watchers: new Set<() => void>(),
  /** The database's clock minus this machine's. */
  offsetMs: 0,
  /** This machine's time of day minus its monotonic clock. */
  differenceMs: 0,
  isMeasured: true,
  /** The latest time that the database has stored, minus the monotonic clock. */
  seenDifferenceMs: Number.NEGATIVE_INFINITY,
  isBehind: false,
}

/** Milliseconds since 1970. */
export function timeOfDay(): number {
  const own = Date.now()
  const difference = own - performance.now()
  const leapMs = difference - state.differenceMs
  if (state.watchers.size > 0 && Math.abs(leapMs) > LEAP_MS) {
    state.offsetMs -= leapMs
    state.isMeasured = false
    for (const measure of state.watchers) measure()
  }
  state.differenceMs = difference
  return Math.round(own + state.offsetMs)
}

/**
 * Whether a time is in the future by more than `toleranceMs`. Throws an UntrustedClockError if the clock says so but
 * cannot be trusted, unless the time is within the tolerance of a time that the database has stored.
 */
export function isFuture(ms: number, toleranceMs: number): boolean {
  const latest = Math.max(timeOfDay(), state.seenDifferenceMs + performance.now())
  if (ms <= latest + toleranceMs) return false
  if (!state.isMeasured || state.isBehind) throw new UntrustedClockError()
  return true
}

export interface ClockWatch {
  /** The database's clock minus this machine's, in milliseconds. */
  readonly offsetMs: number
  /** Whether the clocks agree and can be trusted. */
  readonly isRight: boolean
  close(): void
}

/** Measures the difference now and regularly. */
export async function watchClock(options: {
  db: Queryable
  onError: (error: unknown, doing: string) => void
}): Promise<ClockWatch> {
  const { db, onError } = options
  let closed = false
  let measuring: Promise<void> | undefined
  let wasRight = true

  async function measureOnce(): Promise<void> {
    let best = { offsetMs: 0, tookMs: Number.POSITIVE_INFINITY, now: 0, seenAt: 0 }
    for (let tries = 0; tries < TRIES && best.tookMs > ACCURATE_WITHIN_MS; tries++) {
      const begunAt = Date.now()
      const begun = performance.now()
      const { now: theirs, seenAt } = await readClocks(db)
      const tookMs = performance.now() - begun
      const measured = { offsetMs: theirs - begunAt - tookMs / 2, tookMs, now: theirs, seenAt }
      if (tookMs < best.tookMs) best = measured
    }
    if (closed) return
    state.differenceMs = Date.now() - performance.now()
    // An offset within the measurement's error counts as none.
    if (Math.abs(best.offsetMs) <= best.tookMs) state.offsetMs = 0
    else if (Math.abs(best.offsetMs - state.offsetMs) > best.tookMs) state.offsetMs = best.offsetMs
    state.seenDifferenceMs = Math.max(state.seenDifferenceMs, best.seenAt - performance.now())
    state.isBehind = best.now < best.seenAt - MAX_BEHIND_MS
    state.isMeasured = true
    report(best.seenAt - best.now)
  }

  function report(behindMs: number): void {
    if (isRight() === wasRight) return
    wasRight = isRight()
    const seconds = (ms: number) => `${(Math.abs(ms) / 1000).toFixed(1)} s`
    const message = wasRight
      ? 'The clock of this machine is right again'
      : state.isBehind
        ? `The database's clock is ${seconds(behindMs)} behind what the database has seen: points that are ahead of it are not acknowledged`
        : `The clock of this machine is ${seconds(state.offsetMs)} ${state.offsetMs > 0 ? 'behind' : 'ahead of'} the database's, which counts`
    onError(new Error(message), 'comparing the clock with the database')
  }

  const isRight = () => !state.isBehind && state.isMeasured && Math.abs(state.offsetMs) <= MAX_OFFSET_MS
  const measure = () => {
    measuring ??= retry(async () => closed || measureOnce(), {
      firstMs: RETRY_MS,
      again(error) {
        if (!closed) onError(error, "asking for the database's time, trying again")
        return !closed
      },
    })
      .then(() => {})
      .finally(() => {
        measuring = undefined
      })
    measuring.catch(() => {})
  }

  await measureOnce()
  state.watchers.add(measure)
  const timer = setInterval(measure, MEASURE_EVERY_MS)
  timer.unref()
  return {
    get offsetMs() {
      return state.offsetMs
    },
    get isRight() {
      timeOfDay()
      return isRight()
    },
    close() {
      closed = true
      state.watchers.delete(measure)
      clearInterval(timer)
    },
  }
}
