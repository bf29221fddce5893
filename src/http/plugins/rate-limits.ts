import { networkOf } from '../../../fair/network.ts'
import { TokenBucket } from '../../../fair/token-bucket.ts'
import { RequestError } from '../errors.ts'

/** Requests a minute from an address without a known caller. */
const PER_ADDRESS = 60
const MINUTE_MS = 60_000
/** Each takes 200 bytes. A sender with that many addresses gains nothing when earlier ones are forgotten. */
export const MAX_BUCKETS = 100_000

/**
 * Limits the REST requests of a caller, or of an address without one. Each process counts for itself: behind a
 * balancer, a caller may send that many to each process.
 */
export interface RateLimits {
  /** Throws 429 if the user has sent too many. */
  countCaller(userId: string): void
  /** Throws 429 if another request from the address would be too many; counts nothing. */
  checkStrangers(address: string): void
  /** Throws 429 if too many came from the address without a valid token. */
  countStranger(address: string): void
  close(): void
}

/** `perMinute` of 0 sets no limit. */
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
    countStranger: address => addresses.count(networkOf(address), performance.now()),
    checkStrangers: address => void addresses.check(networkOf(address), performance.now()),
    close: () => clearInterval(timer),
  }
}

/**
 * Buckets that hold a minute's worth and refill steadily. They are kept in two generations: finding the oldest of
 * 100,000 in one map takes 65 µs a request, since a map passes over deleted entries.
 */
export function createBuckets(perMinute: number) {
  let recent = new Map<string, TokenBucket>()
  let former: typeof recent = new Map()
  const rate = { capacity: perMinute, perSecond: (perMinute * 1000) / MINUTE_MS }

  /** Forgets buckets that were not used for a minute, which are full again. Call it once a minute. */
  function forget(): void {
    former = recent
    recent = new Map()
  }

  function check(key: string, now: number): TokenBucket {
    const bucket = recent.get(key) ?? former.get(key) ?? new TokenBucket(rate, now)
    if (!recent.has(key) && recent.size >= MAX_BUCKETS / 2) forget()
    recent.set(key, bucket)
    const waitS = bucket.secondsUntil(1, now)
    if (waitS === 0) return bucket
    throw new RequestError('rate-limited', 'Too many requests. Wait before you send more.', {}, waitS)
  }

  return {
    /** Throws 429 if the bucket is empty. */
    check,
    /** Throws 429 if the bucket is empty, else takes one out of it. */
    count(key: string, now: number): void {
      check(key, now).take(1, now)
    },
    forget,
    get size(): number {
      return recent.size + former.size
    },
  }
}
