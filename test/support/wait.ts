import { setTimeout as setTimeoutPromise } from 'node:timers/promises'

/**
 * Waits until `test` is true; fails with `what`, which may say how it stands then, after the timeout, which is long because it is no promise of the
 * product. Checking takes processor time from the awaited work: the longer it has taken, the longer the pause, by a
 * twentieth of it.
 */
export async function until(
  what: string | (() => string),
  test: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const begun = performance.now()
  while (!(await test())) {
    const waitedMs = performance.now() - begun
    if (waitedMs > timeoutMs) {
      throw new Error(`Not in ${timeoutMs} ms: ${typeof what === 'string' ? what : what()}`)
    }
    await pause(Math.max(20, Math.min(waitedMs / 20, 200, timeoutMs - waitedMs)))
  }
}

/** Processes check open connections every 30 s; notifications of the database come at once. */
const LOOK_EVERY_MS = 30_000

/** Fails if the work takes so long that a process may have found out by its own check instead of a notification. */
export async function untilTold(work: () => Promise<unknown>): Promise<void> {
  const late = new AbortController()
  const tooLate = pauseUnless(late.signal, LOOK_EVERY_MS / 2).then(() => {
    throw new Error('It was not told, or found out by looking')
  })
  try {
    await Promise.race([work(), tooLate])
  } finally {
    tooLate.catch(() => {})
    late.abort()
  }
}

const pauseUnless = (signal: AbortSignal, ms: number) => setTimeoutPromise(ms, undefined, { signal })

export const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
