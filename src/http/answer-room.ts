import { TokenBucket } from '../../fair/token-bucket.ts'

/**
 * The room for the answers that are stored for Idempotency-Keys. An answer is stored for a day, so each root may store so
 * many bytes within any day: small answers, which are usual, have more room than large ones.
 */
const SMALL_BYTES = 4 * 1024
export const SMALL_A_DAY = 1024 ** 3
export const LARGE_A_DAY = 64 * 1024 ** 2
const DAY_S = 24 * 3_600
/** Each takes 400 bytes. The room of a forgotten root is whole again. */
const MAX_ROOTS = 10_000

export interface AnswerRoom {
  /** Takes room for an answer. Takes none and returns false if the root has less. `now` is of `performance.now()`. */
  take(root: string, bytes: number, now?: number): boolean
}

export function createAnswerRoom(): AnswerRoom {
  const rooms = new Map<string, { small: TokenBucket; large: TokenBucket }>()
  return {
    take(root, bytes, now = performance.now()) {
      const room = rooms.get(root) ?? { small: bucketOf(SMALL_A_DAY, now), large: bucketOf(LARGE_A_DAY, now) }
      // The one that was used last comes last.
      rooms.delete(root)
      rooms.set(root, room)
      const [oldest] = rooms.keys()
      if (rooms.size > MAX_ROOTS && oldest !== undefined) rooms.delete(oldest)
      return (bytes <= SMALL_BYTES ? room.small : room.large).take(bytes, now)
    },
  }
}

/** Begins with half of the day's bytes and gets the other half in the course of the day. */
const bucketOf = (bytesADay: number, now: number) =>
  new TokenBucket({ capacity: bytesADay / 2, perSecond: bytesADay / 2 / DAY_S }, now)
