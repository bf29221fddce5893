import { describe, expect, it } from 'vitest'
import { createBuckets, MAX_BUCKETS } from '../../src/http/plugins/rate-limits.ts'

describe('Rate limits', () => {
  it('a bucket has a minute’s worth and refills steadily', () => {
    const buckets = createBuckets(60)
    for (let n = 0; n < 60; n++) buckets.count('a', 0)
    expect(() => buckets.count('a', 0)).toThrow(/Too many/)
    expect(() => buckets.count('a', 500)).toThrow(/Too many/)
    buckets.count('a', 1_000)
    expect(() => buckets.count('a', 1_000)).toThrow(/Too many/)
    for (let n = 0; n < 60; n++) buckets.count('a', 120_000)
  })

  it('remembers so many addresses and no more, and those that come most', () => {
    const buckets = createBuckets(60)
    for (let n = 0; n < 60; n++) buckets.count('first', 0)
    for (let n = 0; n < 3 * MAX_BUCKETS; n++) {
      buckets.count(`address ${n}`, 0)
      if (n % 1_000 === 0) expect(() => buckets.count('first', 0)).toThrow(/Too many/)
      if (buckets.size > MAX_BUCKETS) expect.unreachable(`${buckets.size} are remembered`)
    }
    expect(buckets.size).toBeGreaterThanOrEqual(MAX_BUCKETS / 2)
  })

  it('remembers for a minute, and no longer than two', () => {
    const buckets = createBuckets(60)
    for (let n = 0; n < 60; n++) buckets.count('a', 0)
    buckets.forget()
    expect(() => buckets.count('a', 0)).toThrow(/Too many/)
    buckets.forget()
    buckets.forget()
    expect(buckets.size).toBe(0)
  })
})
