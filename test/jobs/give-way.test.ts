import { expect, it } from 'vitest'
import { createGiveWay } from '../../src/jobs/give-way.ts'
import { pause } from '../support/wait.ts'

const WORK_MS = 220

/** How long somebody rests who has worked while points of so many bytes were stored. */
async function rest(bytes: number, signal = new AbortController().signal): Promise<number> {
  let copied = 0
  const writer = { copiedBytes: () => copied }
  const giveWay = createGiveWay({ writer } as Parameters<typeof createGiveWay>[0], signal)
  copied += bytes
  await pause(WORK_MS)
  const begun = performance.now()
  await giveWay()
  return performance.now() - begun
}

it('What works in the background rests beside many points, hardly beside few, and stops at once when it is told', async () => {
  // 50,000 points a second, 500, and none.
  const [many, few, none] = [await rest(1_200_000), await rest(12_000), await rest(0)]
  expect(many).toBeGreaterThan(3 * WORK_MS)
  expect(Math.max(few, none)).toBeLessThan(many / 5)
  expect(await rest(1_200_000, AbortSignal.abort())).toBeLessThan(many / 5)
})
