import type { Database } from '../../db/client.ts'
import { isInvalidData, isTransient } from '../../db/errors.ts'
import { copyPoints, type NewestColumns } from '../../db/queries/copy-points.ts'
import type { LogPosition } from '../../db/queries/points.ts'
import type { FenceChanges } from '../fences/changes.ts'
import type { Point } from '../point.ts'
import { entriesOf, type Numbered, toColumns } from './split.ts'
import type { InOrder, Tails } from './tails.ts'

/**
 * Copies points that come in order, with the newest fixes and the times in which geofences must be judged again, in one
 * transaction. Resolves to false if the database rejects them: one of them is stored already, or cannot be stored.
 */
export async function copyInOrder(
  { db, tails, fences }: { db: Database; tails: Tails; fences: FenceChanges },
  { points, fast }: InOrder,
  at: LogPosition,
): Promise<boolean> {
  const entries = entriesOf(points)
  const newest = toNewest(points, fast, tails)
  try {
    await fences.prepare(entries)
    const spans = fences.inOrder(entries, subject => tails.of(subject).logOffset)
    await copyPoints(db, toColumns(entries), newest, at, spans)
  } catch (error) {
    tails.forget(entries)
    if (!isInvalidData(error) && !isTransient(error)) throw error
    return false
  }
  for (const [nth, index] of newest.index.entries()) {
    const { subject, recordedAt, lat, lng } = entries[index] as Point
    const logOffset = newest.logOffset[nth] as number
    fences.set(subject, { lat, lng }, logOffset)
    tails.set(subject, { recordedAt, lat, lng, fast: fast[index] as boolean, isNewest: true, logOffset })
  }
  return true
}

/** The last point of each subject; no two of the points have one identity. */
function toNewest(points: readonly Numbered<Point>[], fast: readonly boolean[], tails: Tails): NewestColumns {
  const index = points.flatMap(({ entry }, at) =>
    points[at + 1]?.entry.subject === entry.subject ? [] : [at],
  )
  const last = index.map(at => points[at] as Numbered<Point>)
  return {
    index,
    logOffset: last.map(({ offset }) => offset),
    fast: index.map(at => fast[at] as boolean),
    replacedOffset: last.map(({ entry }) => tails.of(entry.subject).logOffset),
  }
}
