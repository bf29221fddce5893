import { TokenBucket } from '../../fair/token-bucket.ts'

/**
 * The room for the answers that are stored for Idempotency-Keys: an answer lives for a day, so the sum of a day is
 * bounded for each root. Small answers always find room, since the number of requests a minute bounds them.
 */
const SMALL_BYTES = 4 * 1024
export const BYTES_PER_DAY = 64 * 1024 * 1024
const DAY_S = 24 * 3_600
/** Each takes 200 bytes. The room of a forgotten root is whole again. */
const MAX_ROOTS = 10_000

export interface AnswerRoom {
  /** Takes room for an answer. Takes none and returns false if the root has less. `now` is of `performance.now()`. */
  take(root: string, bytes: number, now?: number): boolean
}

export function createAnswerRoom(): AnswerRoom {
  const buckets = new Map<string, TokenBucket>()
  return {
    take(root, bytes, now = performance.now()) {
      if (bytes <= SMALL_BYTES) return true
      const rate = { capacity: BYTES_PER_DAY, perSecond: BYTES_PER_DAY / DAY_S }
      const bucket = buckets.get(root) ?? new TokenBucket(rate, now)
      // The one that was used last comes last.
      buckets.delete(root)
      buckets.set(root, bucket)
      const [oldest] = buckets.keys()
      if (buckets.size > MAX_ROOTS && oldest !== undefined) buckets.delete(oldest)
      return bucket.take(bytes, now)
    },
  }
}
