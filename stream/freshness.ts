import type { Queryable } from '../db/client.ts'
import { listNewestTimes } from '../db/queries/newest-fixes.ts'
import type { Point } from './point.ts'

/**
 * Knows for each subject up to when something is stored, so that what is newer is known to be new. The newest fix is
 * stored in the transaction that stores points, so nothing of a subject is ever newer than it. Another writer may have
 * stored meanwhile what is believed to be new here (a partition that moved in Kafka): then the unique index rejects
 * the batch, and what was believed is forgotten.
 */
export interface Freshness {
  /** Which of these, sorted by subject and time, cannot be stored yet; of two under one identity the first. */
  areNew(points: readonly Point[]): Promise<boolean[]>
  stored(points: readonly Point[]): void
  forget(points: readonly Point[]): void
}

export function createFreshness(db: Queryable): Freshness {
  const newest = new Map<number, number>()

  async function learn(points: readonly Point[]): Promise<void> {
    const unknown = new Set<number>()
    for (const { subject } of points) if (!newest.has(subject)) unknown.add(subject)
    if (unknown.size === 0) return
    const times = await listNewestTimes(db, [...unknown])
    for (const subject of unknown) newest.set(subject, times.get(subject) ?? Number.NEGATIVE_INFINITY)
  }

  return {
    async areNew(points) {
      await learn(points)
      return points.map(({ subject, recordedAt }, index) => {
        const before = points[index - 1]
        const twice = before?.subject === subject && before.recordedAt === recordedAt
        return !twice && recordedAt > (newest.get(subject) as number)
      })
    },
    stored(points) {
      // The last of a subject is its newest.
      for (const { subject, recordedAt } of points) newest.set(subject, recordedAt)
    },
    forget(points) {
      for (const { subject } of points) newest.delete(subject)
    },
  }
}
