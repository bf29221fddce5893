import { expect, it } from 'vitest'
import { TokenBucket } from '../../fair/token-bucket.ts'

const RATE = { capacity: 10, perSecond: 2 }

it('A token bucket begins full, gives no more than it has, and refills steadily', () => {
  const bucket = new TokenBucket(RATE, 0)
  expect(bucket.take(8, 0)).toBe(true)
  expect(bucket.take(3, 0)).toBe(false)
  expect(bucket.secondsUntil(3, 0)).toBe(0.5)
  expect(bucket.take(3, 500)).toBe(true)
  expect(bucket.take(1, 900)).toBe(false)
  expect(bucket.take(1, 1_000)).toBe(true)
})

it('A token bucket never holds more than its capacity', () => {
  const bucket = new TokenBucket(RATE, 0)
  expect(bucket.take(11, 1_000_000)).toBe(false)
  expect(bucket.take(10, 1_000_000)).toBe(true)
})
