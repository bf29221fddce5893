import { setTimeout as sleep } from 'node:timers/promises'

/** The share of their rate that points may lose to background work. */
const LOSS = 0.05
/** Below this rate points need no consideration. */
const QUIET_PER_SECOND = 1_000
/** The minimum rest as a share of a piece's time, needed to measure the rate of points at rest. */
const PROBE = 0.2
const MAX_REST_MS = 10_000
/** Points are stored in batches, so a shorter time shows no rate. */
const LOOK_MS = 200
const HALF_LIFE_MS = 2_000

interface Clock {
  /** A time in milliseconds with any origin. */
  now(): number
  /** Resolves after `ms`, or at once when the signal is aborted. */
  rest(ms: number, signal: AbortSignal): Promise<void>
}

const CLOCK: Clock = {
  now: () => performance.now(),
  rest: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
}

/**
 * Slows background work down that could use the whole machine. A job calls it between two pieces of work. It compares
 * how fast points are stored while the job works with how fast they are stored while it pauses: the larger the
 * difference, the longer the next pause. So an import runs at full speed on a quiet machine and takes hardly anything
 * from devices on a busy one. It only counts the points that this process stores.
 */
export function createGiveWay(
  storedPoints: () => number,
  signal: AbortSignal,
  clock: Clock = CLOCK,
): () => Promise<void> {
  const [atWork, atRest] = [createRate(), createRate()]
  let begun = clock.now()
  let before = storedPoints()
  /** Adds the points stored since the last look to a rate. Returns the time since then. */
  const look = (rate: Rate): number => {
    const ms = clock.now() - begun
    const stored = storedPoints()
    rate.add(stored - before, ms)
    begun += ms
    before = stored
    return ms
  }
  return async () => {
    if (clock.now() - begun < LOOK_MS) return
    const ms = look(atWork)
    const [working, resting] = [atWork.perSecond(), atRest.perSecond()]
    if (Math.max(working, resting) < QUIET_PER_SECOND) return
    const slower = resting > 0 ? Math.max(0, 1 - working / resting) : 0
    const restMs = ms * Math.max(slower / LOSS - 1, PROBE)
    // An aborted rest ends early, and the next piece notices the signal.
    await clock.rest(Math.min(restMs, MAX_REST_MS), signal)
    look(atRest)
  }
}

/** A rate in which older counts weigh less and less. */
interface Rate {
  add(count: number, ms: number): void
  perSecond(): number
}

function createRate(): Rate {
  let count = 0
  let ms = 0
  return {
    add(more, moreMs) {
      const kept = 0.5 ** (moreMs / HALF_LIFE_MS)
      count = count * kept + more
      ms = ms * kept + moreMs
    },
    perSecond: () => (ms > 0 ? (count * 1000) / ms : 0),
  }
}
