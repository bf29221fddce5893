/**
 * A timer wheel for many items, with one bucket for each second. An item that is taken too early is scheduled again. So
 * postponing an item, as each fix of a subject does, costs nothing until then.
 */
export interface Wheel<T> {
  /** Makes `take` return the item at the time `at` or earlier. */
  schedule(item: T, at: number, now: number): void
  /** Takes at most `max` due items; the rest come with the next calls. */
  take(now: number, max: number): T[]
}

const BUCKET_MS = 1_000
/**
 * Limits the number of buckets to the seconds in this time, and so the outdated entries of an item that was brought
 * forward.
 */
const LOOK_WITHIN_MS = 10 * 60_000
const NEVER = Number.POSITIVE_INFINITY

export function createWheel<T extends { bucket: number }>(): Wheel<T> {
  const buckets = new Map<number, T[]>()
  return {
    schedule(item, at, now) {
      const bucket = Math.ceil(Math.min(at, now + LOOK_WITHIN_MS) / BUCKET_MS)
      if (item.bucket <= bucket) return
      item.bucket = bucket
      const others = buckets.get(bucket)
      if (others) others.push(item)
      else buckets.set(bucket, [item])
    },
    take(now, max) {
      const due: T[] = []
      for (const [bucket, items] of buckets) {
        if (bucket > now / BUCKET_MS) continue
        while (items.length > 0 && due.length < max) {
          const item = items.pop() as T
          // An item that was brought forward is also in an earlier bucket.
          if (item.bucket !== bucket) continue
          item.bucket = NEVER
          due.push(item)
        }
        if (items.length > 0) break
        buckets.delete(bucket)
      }
      return due
    },
  }
}
