/**
 * Runs `work` until it succeeds. After a failure `again` is asked whether to go on, and reports what it likes; where it says
 * no, the failure is the caller's. The pauses double from `firstMs` to `maxMs`; without the latter they stay as they are.
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
