/**
 * Things to look at when their time has come, a bucket a second. Whatever is looked at is scheduled again where it was too
 * early: so what puts its time off, as each fix of a subject does, costs nothing until then.
 */
export interface Wheel<T> {
  /** Has it looked at when `at` has come, or before. */
  schedule(item: T, at: number, now: number): void
  /** Takes what is due, so many at the most; the rest at the next call. */
  take(now: number, max: number): T[]
}

const BUCKET_MS = 1_000
/** So there are no more buckets than this has seconds, and what was put forward stands in few of them beside its own. */
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
          // It stands in an earlier bucket where its time was put forward.
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
