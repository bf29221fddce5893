import { setTimeout as setTimeoutPromise } from 'node:timers/promises'

/**
 * Waits until `test` holds; fails with `what` when it does not in time, which is long where it is no promise. To ask takes the
 * processor from what is waited for: the longer that has taken, the longer is the pause, by a twentieth of it.
 */
export async function until(
  what: string,
  test: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const begun = performance.now()
  while (!(await test())) {
    const waitedMs = performance.now() - begun
    if (waitedMs > timeoutMs) throw new Error(`Not in ${timeoutMs} ms: ${what}`)
    await pause(Math.max(20, Math.min(waitedMs / 20, 200, timeoutMs - waitedMs)))
  }
}

/** Processes look every 30 s whether what is open may still be; what the database tells them comes at once. */
const LOOK_EVERY_MS = 30_000

/** Fails where the work takes so long that a process may have found out by looking instead of being told. */
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
