import { expect, it } from 'vitest'
import { createAnswerRoom, LARGE_A_DAY, SMALL_A_DAY } from '../../src/http/answer-room.ts'

const DAY_MS = 24 * 3_600_000

/** Takes answers of a size until there is no room; resolves to their bytes. */
function fill(room: ReturnType<typeof createAnswerRoom>, root: string, bytes: number, now: number): number {
  for (let sum = 0; ; sum += bytes) if (!room.take(root, bytes, now)) return sum
}

it.each([
  ['large', 1024 ** 2, LARGE_A_DAY],
  ['small', 4_096, SMALL_A_DAY],
])('The room for %s answers is bounded within any day, for each root', (_, bytes, aDay) => {
  const room = createAnswerRoom()
  const first = fill(room, 'one', bytes, 0)
  expect(first).toBe(aDay / 2)
  expect(fill(room, 'other', bytes, 0)).toBe(first)
  let sum = first
  for (let now = 0; now < DAY_MS; now += DAY_MS / 24) sum += fill(room, 'one', bytes, now)
  expect(sum).toBeGreaterThan(aDay * 0.9)
  expect(sum).toBeLessThanOrEqual(aDay)
})

it('Large answers that have no room leave the room of small ones alone', () => {
  const room = createAnswerRoom()
  fill(room, 'one', 1024 ** 2, 0)
  expect(room.take('one', 4_000, 0)).toBe(true)
})
