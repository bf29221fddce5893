import { isTransient } from './errors.ts'

/**
 * Runs `work` until it succeeds. After a failure `again` decides whether to go on, and may report the error; if it
 * returns false, the failure is thrown. The pauses double from `firstMs` to `maxMs`; without `maxMs` they stay the
 * same.
 */
export async function retry<T>(
  work: () => Promise<T>,
  options: { firstMs: number; maxMs?: number; again: (error: unknown) => boolean },
): Promise<T> {
  const { firstMs, maxMs = firstMs, again } = options
  for (let pauseMs = firstMs; ; pauseMs = Math.min(pauseMs * 2, maxMs)) {
    try {
      return await work()
    } catch (error) {
      if (!again(error)) throw error
    }
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

/**
 * Runs a transaction or statement again while it conflicts with others, up to `attempts` times in all: a deadlock or
 * serialization failure is no fault of its own. `isConflict` says which other failures are none.
 */
export async function retryConflict<T>(
  work: () => Promise<T>,
  attempts: number,
  isConflict: (error: unknown) => boolean = isTransient,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || attempt >= attempts) throw error
    }
  }
}
