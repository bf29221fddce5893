import { expect, it } from 'vitest'
import { createGiveWay } from '../../src/jobs/give-way.ts'
import { pause } from '../support/wait.ts'

const WORK_MS = 220
const PIECES = 3

/** How long somebody rests after each of some pieces of work, while so many points a second are stored beside it and while it rests. */
async function rest(beside: number, resting: number, signal = new AbortController().signal): Promise<number> {
  let stored = 0
  let perSecond = beside
  let last = performance.now()
  const storedPoints = () => {
    const now = performance.now()
    stored += ((now - last) * perSecond) / 1000
    last = now
    return stored
  }
  const giveWay = createGiveWay(storedPoints, signal)
  let rested = 0
  for (let piece = 1; piece <= PIECES; piece++) {
    await pause(WORK_MS)
    const begun = performance.now()
    storedPoints()
    perSecond = resting
    await giveWay()
    storedPoints()
    perSecond = beside
    rested = performance.now() - begun
  }
  return rested
}

it('What works in the background rests for long where it slows points down, hardly where it does not, and stops at once when it is told', async () => {
  const [slowed, halved, same, few, none, told] = await Promise.all([
    rest(2_000, 50_000),
    rest(25_000, 50_000),
    rest(50_000, 50_000),
    rest(50, 500),
    rest(0, 0),
    rest(2_000, 50_000, AbortSignal.abort()),
  ])
  // A piece in ten takes half of the rate, or one in twenty all of it: points lose a twentieth.
  expect(slowed).toBeGreaterThan(15 * WORK_MS)
  expect(halved).toBeGreaterThan(7 * WORK_MS)
  expect(Math.max(same, few, none, told)).toBeLessThan(2 * WORK_MS)
})
