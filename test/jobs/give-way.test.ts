import { expect, it } from 'vitest'
import { createGiveWay } from '../../src/jobs/give-way.ts'

const WORK_MS = 220
const PIECES = 3

/**
 * Returns the last pause between pieces of work, if `beside` points a second are stored during the work and `resting`
 * during the pauses.
 */
async function rest(beside: number, resting: number, signal = new AbortController().signal): Promise<number> {
  // Time passes only while it works or rests.
  let [now, stored, rested] = [0, 0, 0]
  const pass = (ms: number, perSecond: number) => {
    now += ms
    stored += (ms * perSecond) / 1000
  }
  const giveWay = createGiveWay(() => stored, signal, {
    now: () => now,
    async rest(ms, { aborted }) {
      if (aborted) return
      pass(ms, resting)
      rested = ms
    },
  })
  for (let piece = 1; piece <= PIECES; piece++) {
    pass(WORK_MS, beside)
    rested = 0
    await giveWay()
  }
  return rested
}

it('Background work pauses for long if it slows points down, hardly if it does not, and stops at once when it is aborted', async () => {
  // Work in a tenth of the time that halves the rate, or in a twentieth that stops it, costs points a twentieth.
  expect(await rest(2_000, 50_000)).toBeGreaterThan(15 * WORK_MS)
  expect(await rest(25_000, 50_000)).toBeGreaterThan(7 * WORK_MS)
  expect(await rest(50_000, 50_000)).toBeLessThan(WORK_MS)
  expect([await rest(50, 500), await rest(0, 0)]).toEqual([0, 0])
  expect(await rest(2_000, 50_000, AbortSignal.abort())).toBe(0)
})
