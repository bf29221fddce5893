import type { Queryable } from './client.ts'
import { readClocks } from './queries/clock.ts'
import { retry } from './retry.ts'

/**
 * The time of day that decides: the database's, as far as it is from this machine's own. All processes have one then,
 * and a machine whose clock is wrong decides as the others do. The difference is measured at start, each minute, and whenever
 * the own clock leaps or the machine has slept; a leap changes nothing until then.
 *
 * Where the database's clock is behind what the database has seen, or was not asked since the own one leapt, neither is
 * trusted: nothing is rejected for being in the future then, and nothing acknowledged that would be (`UntrustedClockError`).
 */
const MEASURE_EVERY_MS = 60_000
/** A clock that is slewed moves by 0.5 ms a second. */
const LEAP_MS = 500
/** What is said of a clock that is off by more. */
export const MAX_OFFSET_MS = 2_000
/** A database may be asked for long; of an answer that took so long the half is what its time may be wrong by. */
const ACCURATE_WITHIN_MS = 500
const TRIES = 3
/** Clocks of several servers, of which one after the other was the database's. */
const MAX_BEHIND_MS = 60_000
const RETRY_MS = 1_000

/** It is too early to say that something is in the future. */
export class UntrustedClockError extends Error {
  constructor() {
    super('The clocks of this machine and of its database cannot be trusted')
  }
}

/** One process has one clock, whoever asks. */
const state = {
  watchers: new Set<() => void>(),
  /** What the database's clock is ahead of ours. */
  offsetMs: 0,
  /** Our time of day less the time that nobody sets. */
  differenceMs: 0,
  isMeasured: true,
  /** The latest time that the database has seen, less the time that nobody sets. */
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
 * Whether a time is further ahead than `aheadMs`. Throws an UntrustedClockError where the clock says so and cannot be trusted,
 * unless the time is no further ahead of what the database has seen already.
 */
export function isFuture(ms: number, aheadMs: number): boolean {
  const latest = Math.max(timeOfDay(), state.seenDifferenceMs + performance.now())
  if (ms <= latest + aheadMs) return false
  if (!state.isMeasured || state.isBehind) throw new UntrustedClockError()
  return true
}

export interface ClockWatch {
  /** What the database's clock is ahead of this machine's, in milliseconds. */
  readonly offsetMs: number
  /** Whether the clocks agree, and can be trusted. */
  readonly isRight: boolean
  close(): void
}

/** Measures the difference, and goes on doing so. */
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
    // What is within the measurement's own error is none.
    if (Math.abs(best.offsetMs) <= best.tookMs) state.offsetMs = 0
    else if (Math.abs(best.offsetMs - state.offsetMs) > best.tookMs) state.offsetMs = best.offsetMs
    state.seenDifferenceMs = Math.max(state.seenDifferenceMs, best.seenAt - performance.now())
    state.isBehind = best.now < best.seenAt - MAX_BEHIND_MS
    state.isMeasured = true
    tell(best.seenAt - best.now)
  }

  function tell(behindMs: number): void {
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
