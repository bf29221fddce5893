/** Waits until `test` holds; fails with `what` when it does not in time, which is long where it is no promise. */
export async function until(
  what: string,
  test: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`Not in ${timeoutMs} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

export const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
