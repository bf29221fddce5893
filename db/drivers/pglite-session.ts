import { createSemaphore } from '../../fair/semaphore.ts'
import { currentDemand, type Lane } from '../demand.ts'
import type { Hold } from './driver.ts'

/** The statements of one organization that may wait, and how long one of them waits for its turn. */
const MAX_WAITING = 256
const WAIT_MS = 20_000
/** Nobody waits for an answer here, and a job that gets no turn has failed an attempt. */
const BACKGROUND_WAIT_MS = 5 * 60_000
/**
 * Storing gets half of the time, signing in half of the rest, and requests the remainder; after each turn of one class
 * the classes behind it get a turn. Background work gets its turn when the session was free for longer than a request
 * takes between two statements, or when the class has rested four times as long as its last turn took: a fifth of a
 * busy session.
 */
const CLASSES = { writing: 0, signIn: 1, requests: 2, reading: 2, background: 3 }
/** The minimum cost of a turn, because it is passed between threads. */
const MIN_TURN_MS = 1
const GIVING_WAY = { quietMs: 5, restTimes: 4, maxRestMs: 5_000 }

/** The one session of PGlite, with the queue of those that wait for it. */
export interface Session {
  hold<T>(lane: Lane | 'writing', work: () => Promise<T>, owner?: string): Promise<T>
  /** A statement is done and took this much processor time. */
  worked(processorMs: number, text: string): void
}

export function createSession(onHold: (hold: Hold) => void): Session {
  const semaphore = createSemaphore({
    max: 1,
    maxPerRoot: 1,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    classes: 4,
    lastGivesWay: GIVING_WAY,
  })
  let held = { processorMs: 0, longestMs: 0, longest: '' }
  return {
    async hold(lane, work, owner = currentDemand().owner) {
      const release =
        lane === 'writing'
          ? await semaphore.acquire(undefined, { class: CLASSES.writing })
          : await semaphore.acquire(owner, {
              signal: currentDemand().signal,
              class: CLASSES[lane],
              ...(lane === 'background' ? { waitMs: BACKGROUND_WAIT_MS } : {}),
            })
      const begun = performance.now()
      held = { processorMs: 0, longestMs: 0, longest: '' }
      try {
        return await work()
      } finally {
        const { processorMs, longest } = held
        const ms = performance.now() - begun
        release(Math.max(ms, MIN_TURN_MS))
        onHold({ lane, ms, processorMs, longest })
      }
    },
    worked(processorMs, text) {
      held.processorMs += processorMs
      if (processorMs < held.longestMs) return
      held.longestMs = processorMs
      held.longest = text
    },
  }
}
