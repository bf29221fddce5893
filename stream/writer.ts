import type { Database } from '../db/client.ts'
import { timeOfDay } from '../db/clock.ts'
import { isDiskFull } from '../db/errors.ts'
import { insertRejections, type NumberedRejection } from '../db/queries/rejections.ts'
import { retryConflict } from '../db/retry.ts'
import { createFenceChanges } from './fences/changes.ts'
import { type Batch, receivedAtOf } from './log.ts'
import { type Entry, NO_OUTCOMES, type Outcome, type Outcomes } from './point.ts'
import { copyInOrder } from './store/copy.ts'
import { type Inserting, insertPoints, type Unstored } from './store/insert.ts'
import { splitBatch } from './store/split.ts'
import { createTails } from './store/tails.ts'

/**
 * Stores batches of the log. Everything can be stored again: points are identified by subject and time, rejections by
 * their place in the log. So a batch whose commit was lost on the way back is simply stored again.
 *
 * The first point stored under an identity wins. A later one is a duplicate if it is equal, and a conflict if it
 * differs. The steps of a batch, each in a file of `store/`:
 *
 * 1. `split`: its points, sorted by subject and time, and its rejections.
 * 2. `tails`: which points are newer than every stored point of their subject, and no anomaly. They cannot be
 *    duplicates.
 * 3. `copy`: these are copied in without asking.
 * 4. `insert`: the others are inserted, compared with what is stored, and judged among their neighbours (`judge`). A
 *    point that the database rejects is found by halving.
 * 5. The rejections, and the points that were rejected on the way.
 *
 * The transaction of a step also stores the newest fixes, the times in which geofences must be judged again
 * (`fences/changes.ts`) and, if it is the last one with points, the position of the log.
 */
export interface Writer {
  store(batch: Batch): Promise<Outcomes>
  /** Whether the last batch could not be stored because the disk of the database is full. */
  readonly isDiskFull: boolean
}

/** The result of storing a batch. */
export interface StoredBatch {
  points: number
  duplicates: number
  rejections: number
  /** The time that storing took. */
  seconds: number
  /** The time since the first of its entries was received. */
  delaySeconds: number
}

export interface WriterOptions {
  db: Database
  onError?: (error: unknown, doing: string) => void
  onStored?: (stored: StoredBatch) => void
  /** Called when storing fails. The error itself goes to the caller of `store`. */
  onFailed?: () => void
}

/** How often storing rejections is tried while it conflicts with other transactions. */
const ATTEMPTS = 5

export function createWriter({ db, onError, onStored, onFailed }: WriterOptions): Writer {
  let isFull = false
  const context = { db, onError, tails: createTails(db), fences: createFenceChanges(db.writer) }
  return {
    get isDiskFull() {
      return isFull
    },
    async store(batch) {
      const begun = performance.now()
      const { points, unstored, rejections } = await storeBatch(context, batch).catch(error => {
        isFull = isDiskFull(error)
        onFailed?.()
        throw error
      })
      isFull = false
      const outcomes = new Map<Entry, Outcome>(unstored.map(({ point, outcome }) => [point.entry, outcome]))
      onStored?.({
        points: points - outcomes.size,
        duplicates: unstored.filter(({ outcome }) => outcome.kind === 'duplicate').length,
        rejections,
        seconds: (performance.now() - begun) / 1000,
        delaySeconds: Math.max(0, timeOfDay() - receivedAtOf(batch)) / 1000,
      })
      return outcomes.size > 0 ? outcomes : NO_OUTCOMES
    },
  }
}

async function storeBatch(
  context: Inserting,
  batch: Batch,
): Promise<{ points: number; unstored: Unstored[]; rejections: number }> {
  const { points, rejections } = splitBatch(batch)
  const position = { partition: batch.partition, nextOffset: batch.nextOffset }

  const { inOrder, others } = await context.tails.plan(points)
  // The position moves with the last points.
  const isAll = others.length === 0
  const isCopied =
    inOrder.points.length > 0 &&
    (await copyInOrder(context, inOrder, isAll ? position : { ...position, nextOffset: null }))
  const unstored = isCopied && isAll ? [] : await insertPoints(context, isCopied ? others : points, position)

  const rejected: NumberedRejection[] = [...rejections, ...unstored.flatMap(toRejection)]
  if (rejected.length > 0)
    await retryConflict(() => insertRejections(context.db.writer, batch.partition, rejected), ATTEMPTS)
  return { points: points.length, unstored, rejections: rejected.length }
}

/** The rejection of a point that was rejected while it was stored; none for a duplicate. */
function toRejection({ point, outcome, winner }: Unstored): NumberedRejection[] {
  if (outcome.kind !== 'rejected') return []
  const { reason, message } = outcome
  const { kind: _, subject, receivedAt, recordedAt, attributes, ...values } = point.entry
  const timestamp = new Date(recordedAt).toISOString()
  // The attributes are JSON already, and may be the part that the database rejects.
  const payload = `${JSON.stringify({ ...values, timestamp }).slice(0, -1)},"attributes":${attributes}}`
  const entry = { subject, receivedAt, reason, message, index: null, topic: null, payload }
  return [{ entry, offset: point.offset, ordinal: point.ordinal, stored: winner }]
}
