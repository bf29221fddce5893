import { describe, expect, it } from 'vitest'
import { addressKey, createBuckets, MAX_BUCKETS } from '../../src/http/plugins/rate-limits.ts'

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

  it('an IPv6 customer has one address, however many it uses', () => {
    expect(addressKey('2001:db8:1:2:3:4:5:6')).toBe(addressKey('2001:0db8:1:2::9'))
    expect(addressKey('2001:db8:1:2::1')).not.toBe(addressKey('2001:db8:1:3::1'))
    expect(addressKey('::ffff:10.0.0.1')).toBe('10.0.0.1')
    expect(addressKey('::1')).toBe('0:0:0:0::/64')
  })
})
