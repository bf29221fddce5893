import { setTimeout as pause } from 'node:timers/promises'

const EVERY_MS = 10_000

/**
 * Sends again and again while `work` waits for a page: a minute after its newest fix a subject has no speed, and on a slow
 * machine a page may take as long to open.
 */
export async function whileSending<T>(send: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const { signal } = over
  const sending = (async () => {
    while (!signal.aborted) {
      await send()
      await pause(EVERY_MS, undefined, { signal }).catch(() => {})
    }
  })()
  // A failure to send is the answer, once the work is over.
  sending.catch(() => {})
  try {
    return await work()
  } finally {
    over.abort()
    await sending
  }
}
