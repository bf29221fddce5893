/**
 * Waits until `test` holds; fails with `what` when it does not in time, which is long where it is no promise. To ask takes the
 * processor from what is waited for: the longer that has taken, the longer is the pause, by a twentieth of it.
 */
export async function until(
  what: string,
  test: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const begun = performance.now()
  while (!(await test())) {
    const waitedMs = performance.now() - begun
    if (waitedMs > timeoutMs) throw new Error(`Not in ${timeoutMs} ms: ${what}`)
    await pause(Math.max(20, Math.min(waitedMs / 20, 200, timeoutMs - waitedMs)))
  }
}

export const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
