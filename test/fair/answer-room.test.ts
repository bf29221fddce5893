import { expect, it } from 'vitest'
import { BYTES_PER_DAY, createAnswerRoom } from '../../src/http/answer-room.ts'

const HOUR_MS = 3_600_000

it('The room for stored answers is bounded for each root, grows by the hour, and always takes small answers', () => {
  const room = createAnswerRoom()
  expect(room.take('one', BYTES_PER_DAY, 0)).toBe(true)
  expect(room.take('one', 5_000, 0)).toBe(false)
  expect(room.take('one', 4_000, 0)).toBe(true)
  expect(room.take('other', 5_000, 0)).toBe(true)
  expect(room.take('one', BYTES_PER_DAY / 24, HOUR_MS)).toBe(true)
  expect(room.take('one', 5_000, HOUR_MS)).toBe(false)
})
