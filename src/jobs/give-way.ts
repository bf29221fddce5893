import { setTimeout as sleep } from 'node:timers/promises'

/** What points may lose of their rate to work in the background. */
const LOSS = 0.05
/** Fewer points than that are nobody's hurry. */
const QUIET_PER_SECOND = 1_000
/** So much of the time of a piece it rests beside many points in any case, to see how many come then. */
const PROBE = 0.2
const MAX_REST_MS = 10_000
/** Points are stored many at once: less time says nothing of how many come. */
const LOOK_MS = 200
const HALF_LIFE_MS = 2_000

interface Clock {
  /** Milliseconds since some moment. */
  now(): number
  /** Resolves after so many of them, or at once when the signal is aborted. */
  rest(ms: number, signal: AbortSignal): Promise<void>
}

const CLOCK: Clock = {
  now: () => performance.now(),
  rest: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
}

/**
 * For work in the background that could take all that the machine has, between two pieces of it: rests longer, the slower
 * points are stored beside it than while it rests. So an import goes at full speed on a quiet machine, and takes hardly
 * anything from devices on a busy one, whatever the machine is and whatever else is done on it. It knows the points
 * that this process stores.
 */
export function createGiveWay(
  storedPoints: () => number,
  signal: AbortSignal,
  clock: Clock = CLOCK,
): () => Promise<void> {
  const [atWork, atRest] = [createRate(), createRate()]
  let begun = clock.now()
  let before = storedPoints()
  /** Puts down what was stored since it looked last; how long ago that is. */
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
    // Whoever stops it is heard by the next piece.
    await clock.rest(Math.min(restMs, MAX_REST_MS), signal)
    look(atRest)
  }
}

/** What was long ago counts less and less. */
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
