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
