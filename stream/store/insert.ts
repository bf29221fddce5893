import type { Database } from '../../db/client.ts'
import { isInvalidData, isMissingPartition } from '../../db/errors.ts'
import { createPartitionsFor } from '../../db/partitions.ts'
import { noteSpans } from '../../db/queries/geofence-spans.ts'
import { findConflicts, type LogPosition, storeProgress } from '../../db/queries/points.ts'
import { retryConflict } from '../../db/retry.ts'
import type { FenceChanges } from '../fences/changes.ts'
import type { Outcome, Point, Reason } from '../point.ts'
import { insertAndJudge } from './judge.ts'
import { entriesOf, type Numbered, toColumns } from './split.ts'
import { isInaccurate, type Tails } from './tails.ts'

/** A point that was not stored: a duplicate, a conflict with the point that is stored instead, or unstorable. */
export interface Unstored {
  point: Numbered<Point>
  outcome: Outcome
  /** The point that is stored under this identity, in a conflict. */
  winner: unknown
}

export interface Inserting {
  db: Database
  tails: Tails
  fences: FenceChanges
  onError?: ((error: unknown, doing: string) => void) | undefined
}

/** How often a transaction that conflicts with others is tried. */
const ATTEMPTS = 5

/**
 * Inserts points of any time. If the database rejects a value, the points are halved until the one at fault stands alone.
 * Returns the points that were not stored.
 */
export async function insertPoints(
  context: Inserting,
  points: readonly Numbered<Point>[],
  at: LogPosition,
): Promise<Unstored[]> {
  try {
    return await insertWithPartitions(context, points, at)
  } catch (error) {
    // The points wait while their partition cannot be created.
    if (isMissingPartition(error) || !isInvalidData(error) || points.length === 0) throw error
    const [only] = points
    if (points.length === 1 && only) {
      // The database's error is for the operator, not for the tenant.
      context.onError?.(error, `storing a point of subject ${only.entry.subject}`)
      return [
        refuse(only, 'unstorable', 'The point cannot be stored.'),
        ...(await insertPoints(context, [], at)),
      ]
    }
    const middle = points.length >> 1
    return [
      ...(await insertPoints(context, points.slice(0, middle), { ...at, nextOffset: null })),
      ...(await insertPoints(context, points.slice(middle), at)),
    ]
  }
}

/** If a partition of the points is missing, creates it and inserts again. */
async function insertWithPartitions(
  context: Inserting,
  points: readonly Numbered<Point>[],
  at: LogPosition,
): Promise<Unstored[]> {
  try {
    return await insertAndCompare(context, points, at)
  } catch (error) {
    if (!isMissingPartition(error)) throw error
    const times = points.map(({ entry }) => entry.recordedAt)
    await createPartitionsFor(context.db, times)
    return insertAndCompare(context, points, at)
  }
}

/** Inserts, judges and notes the times for geofences in one transaction, then compares what was stored already. */
async function insertAndCompare(
  { db, tails, fences }: Inserting,
  points: readonly Numbered<Point>[],
  at: LogPosition,
): Promise<Unstored[]> {
  if (points.length === 0) {
    await retryConflict(() => storeProgress(db.writer, at), ATTEMPTS)
    return []
  }
  const entries = entriesOf(points)
  await tails.learn(entries)
  await fences.prepare(entries)
  const columns = {
    ...toColumns(entries),
    anomaly: entries.map(entry =>
      isInaccurate(entry, tails.of(entry.subject)) ? ('accuracy' as const) : null,
    ),
    logOffset: points.map(({ offset }) => offset),
  }
  const { stored, tails: moved } = await retryConflict(
    () =>
      db.writer.transaction(async tx => {
        const judged = await insertAndJudge(tx, columns, at)
        await noteSpans(tx, fences.at(judged.changed))
        return judged
      }),
    ATTEMPTS,
  )
  for (const [subject, tail] of moved) tails.set(subject, tail)
  if (!stored) return []
  const inserted = new Set(stored.map(row => identity(row.subject, row.recordedAt)))
  // The first of several equal points in one batch was stored; the others count as duplicates.
  const known = points.filter(({ entry }) => !inserted.delete(identity(entry.subject, entry.recordedAt)))
  return compare(db, known)
}

/** Tells the duplicates among points whose identity is stored already from those that differ. */
async function compare(db: Database, known: readonly Numbered<Point>[]): Promise<Unstored[]> {
  const unstored = known.map((point): Unstored => ({ point, outcome: { kind: 'duplicate' }, winner: null }))
  for (const { index, stored } of await findConflicts(db.writer, toColumns(entriesOf(known)))) {
    const message = 'Another point of this subject has the same timestamp.'
    unstored[index] = refuse(known[index] as Numbered<Point>, 'conflict', message, stored)
  }
  return unstored
}

const identity = (subject: number, recordedAt: number) => `${subject}/${recordedAt}`

const refuse = (
  point: Numbered<Point>,
  reason: Reason,
  message: string,
  winner: unknown = null,
): Unstored => ({
  point,
  outcome: { kind: 'rejected', reason, message },
  winner,
})
