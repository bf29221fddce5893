import { expect, it } from 'vitest'
import { retry } from '../../db/retry.ts'

/** Fails this many times, and records its calls. */
function failing(times: number) {
  const calledAt: number[] = []
  const work = async () => {
    calledAt.push(performance.now())
    if (calledAt.length <= times) throw new Error(`failure ${calledAt.length}`)
    return 'done'
  }
  return { calledAt, work }
}

it('Work is tried again after pauses that double up to their maximum, and every failure is told', async () => {
  const { calledAt, work } = failing(4)
  const told: unknown[] = []
  const again = (error: unknown) => told.push((error as Error).message) > 0
  expect(await retry(work, { firstMs: 20, maxMs: 60, again })).toBe('done')
  expect(told).toEqual(['failure 1', 'failure 2', 'failure 3', 'failure 4'])
  const pauses = calledAt.slice(1).map((at, index) => at - (calledAt[index] as number))
  // A timer of Node may fire a millisecond early.
  for (const [index, pauseMs] of [20, 40, 60, 60].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(pauseMs - 1)
  }
})

it('A failure after which nobody wants to go on is the answer, at once', async () => {
  const { calledAt, work } = failing(9)
  const again = () => calledAt.length < 2
  await expect(retry(work, { firstMs: 1, again })).rejects.toThrow('failure 2')
  expect(calledAt).toHaveLength(2)
})
