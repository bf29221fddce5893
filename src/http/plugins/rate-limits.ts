import { isIPv6 } from 'node:net'
import { RequestError } from '../errors.ts'

/** Requests a minute from an address, where no caller is known. */
const PER_ADDRESS = 60
const MINUTE_MS = 60_000
/** 150 bytes each. Whoever has that many addresses gains nothing from those of before being forgotten. */
export const MAX_BUCKETS = 100_000

/**
 * How many REST requests a caller may send, or an address without one. Counted by each process for itself: behind a
 * balancer a caller may send as many times that as there are processes.
 */
export interface RateLimits {
  /** Throws 429 where the user has sent too many. */
  countCaller(userId: string): void
  /** Throws 429 where the next one of the address would be too many; counts nothing. */
  checkStrangers(address: string): void
  /** Throws 429 where too many came from the address without a valid token. */
  countStranger(address: string): void
  close(): void
}

/** `perMinute` of 0 is without limits. */
export function createRateLimits(perMinute: number): RateLimits {
  if (perMinute === 0) return { countCaller() {}, countStranger() {}, checkStrangers() {}, close() {} }
  const callers = createBuckets(perMinute)
  const addresses = createBuckets(PER_ADDRESS)
  const timer = setInterval(() => {
    callers.forget()
    addresses.forget()
  }, MINUTE_MS)
  return {
    countCaller: userId => callers.count(userId, performance.now()),
    countStranger: address => addresses.count(addressKey(address), performance.now()),
    checkStrangers: address => void addresses.check(addressKey(address), performance.now()),
    close: () => clearInterval(timer),
  }
}

/**
 * Buckets that hold a minute's worth and refill steadily. They are kept in two generations: to look for the oldest of
 * 100,000 in one map takes 65 µs a request, since a map passes over what was deleted.
 */
export function createBuckets(perMinute: number) {
  type Buckets = Map<string, { left: number; at: number }>
  let recent: Buckets = new Map()
  let former: Buckets = new Map()
  const perMs = perMinute / MINUTE_MS

  /** What nothing was asked of for a minute is full, and need not be remembered: to be called once in it. */
  function forget(): void {
    former = recent
    recent = new Map()
  }

  function check(key: string, now: number): { left: number } {
    const bucket = recent.get(key) ?? former.get(key) ?? { left: perMinute, at: now }
    bucket.left = Math.min(perMinute, bucket.left + (now - bucket.at) * perMs)
    bucket.at = now
    if (!recent.has(key) && recent.size >= MAX_BUCKETS / 2) forget()
    recent.set(key, bucket)
    if (bucket.left >= 1) return bucket
    const waitS = (1 - bucket.left) / perMs / 1000
    throw new RequestError('rate-limited', 'Too many requests. Wait before you send more.', {}, waitS)
  }

  return {
    /** Throws 429 where the bucket is empty. */
    check,
    /** Throws 429 where the bucket is empty, else takes one out of it. */
    count(key: string, now: number): void {
      check(key, now).left -= 1
    },
    forget,
    get size(): number {
      return recent.size + former.size
    },
  }
}

/** What counts as one address: an IPv6 network of /64 is one customer's, who could use a new address every time. */
export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const before = head.split(':').filter(part => part !== '')
  const after = (tail ?? '').split(':').filter(part => part !== '')
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return `${groups
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
