import type { Database } from '../db/client.ts'
import { isInvalidData, isMissingPartition, isTransient } from '../db/errors.ts'
import { createPartitionsFor } from '../db/partitions.ts'
import { copyPoints } from '../db/queries/copy-points.ts'
import { findConflicts, insertPoints, type LogPosition, type PointColumns } from '../db/queries/points.ts'
import { insertRejections, type NumberedRejection } from '../db/queries/rejections.ts'
import { createFreshness } from './freshness.ts'
import type { Batch } from './log.ts'
import type { Entry, Outcome, Outcomes, Point, Reason, Rejection } from './point.ts'
import { NO_OUTCOMES } from './point.ts'

/**
 * Stores batches of the log. What it stores it can store again: points are identified by subject and time,
 * rejections by their place in the log. So a batch whose commit was lost on the way back is simply stored again.
 *
 * The first point stored under an identity wins. One that comes later is a duplicate where it is the same, and a
 * conflict where it differs. Points that are newer than anything stored of their subject cannot be there, and are
 * copied in without asking (`freshness.ts`). A point that the database rejects all the same is found by halving its batch.
 */
export function createWriter(options: {
  db: Database
  onError?: (error: unknown, doing: string) => void
  onStored?: (stored: { points: number; duplicates: number; rejections: number; seconds: number }) => void
}): { store(batch: Batch): Promise<Outcomes> } {
  const { db } = options
  const freshness = createFreshness(db.writer)
  return {
    async store(batch) {
      const begun = performance.now()
      const numbered = numberEntries(batch)
      const points = numbered.filter(isPoint).sort(bySubjectAndTime)
      const outcomes = new Map<Entry, Outcome>()
      const rejected: NumberedRejection[] = numbered.filter(isRejection)

      const position = { partition: batch.partition, nextOffset: batch.nextOffset }
      await storeAll(points, position)
      if (rejected.length > 0) await again(() => insertRejections(db.writer, batch.partition, rejected))

      const duplicates = [...outcomes.values()].filter(outcome => outcome.kind === 'duplicate').length
      options.onStored?.({
        points: points.length - outcomes.size,
        duplicates,
        rejections: rejected.length,
        seconds: (performance.now() - begun) / 1000,
      })
      return outcomes.size > 0 ? outcomes : NO_OUTCOMES

      /** Copies what is new, which is almost everything, and asks about the rest. */
      async function storeAll(all: Numbered<Point>[], at: LogPosition): Promise<void> {
        const areNew = await freshness.areNew(all.map(({ entry }) => entry))
        const fresh = all.filter((_, index) => areNew[index])
        const rest = all.filter((_, index) => !areNew[index])
        if (fresh.length === 0) return storePoints(all, at)
        const copied = await copyFresh(fresh, rest.length > 0 ? { ...at, nextOffset: null } : at)
        if (!copied) await storePoints(all, at)
        else if (rest.length > 0) await storePoints(rest, at)
      }

      /** False where the database rejects it: then one of them is there after all, or cannot be stored. */
      async function copyFresh(fresh: Numbered<Point>[], at: LogPosition): Promise<boolean> {
        const entries = fresh.map(({ entry }) => entry)
        try {
          await copyPoints(db, toColumns(fresh), at)
          freshness.stored(entries)
          return true
        } catch (error) {
          freshness.forget(entries)
          if (!isInvalidData(error) && !isTransient(error)) throw error
          return false
        }
      }

      async function storePoints(part: Numbered<Point>[], at: LogPosition): Promise<void> {
        try {
          await withPartitions(part, () => insertAndCompare(part, at))
        } catch (error) {
          // Where a partition cannot be created just now the points wait.
          if (isMissingPartition(error) || !isInvalidData(error) || part.length === 0) throw error
          const [only] = part
          if (part.length === 1 && only) {
            // What the database says of it is the operator's to read, not the tenant's.
            options.onError?.(error, `storing a point of subject ${only.entry.subject}`)
            reject(only, 'unstorable', 'The point cannot be stored.')
            await storePoints([], at)
            return
          }
          const middle = part.length >> 1
          await storePoints(part.slice(0, middle), { ...at, nextOffset: null })
          await storePoints(part.slice(middle), at)
        }
      }

      /** Runs `work`, and where a partition of the points is missing creates it and runs `work` again. */
      async function withPartitions(part: Numbered<Point>[], work: () => Promise<void>): Promise<void> {
        try {
          await work()
        } catch (error) {
          if (!isMissingPartition(error)) throw error
          const times = part.map(({ entry }) => entry.recordedAt)
          await createPartitionsFor(db, times)
          await work()
        }
      }

      async function insertAndCompare(part: Numbered<Point>[], at: LogPosition): Promise<void> {
        const stored = await again(() => insertPoints(db.writer, toColumns(part), at))
        if (!stored) return
        const inserted = new Set(stored.map(row => identity(row.subject, row.recordedAt)))
        // Twice in one batch: the first of them was stored, the others were there already.
        const known = part.filter(({ entry }) => !inserted.delete(identity(entry.subject, entry.recordedAt)))
        for (const { entry } of known) outcomes.set(entry, { kind: 'duplicate' })
        for (const { index, stored: winner } of await findConflicts(db.writer, toColumns(known))) {
          const loser = known[index] as Numbered<Point>
          reject(loser, 'conflict', 'Another point of this subject has the same timestamp.', winner)
        }
      }

      function reject(point: Numbered<Point>, reason: Reason, message: string, winner?: unknown): void {
        outcomes.set(point.entry, { kind: 'rejected', reason, message })
        const entry = toRejection(point.entry, reason, message)
        rejected.push({ entry, offset: point.offset, ordinal: point.ordinal, stored: winner ?? null })
      }
    },
  }
}

/** An entry with its place in the log: the offset of its record, and its ordinal therein. */
interface Numbered<E extends Entry = Entry> {
  entry: E
  offset: number
  ordinal: number
}

function numberEntries(batch: Batch): Numbered[] {
  return batch.records.flatMap(({ offset, entries }) =>
    entries.map((entry, ordinal) => ({ entry, offset, ordinal })),
  )
}

const isPoint = (item: Numbered): item is Numbered<Point> => item.entry.kind === 'point'
const isRejection = (item: Numbered): item is Numbered<Rejection> => item.entry.kind === 'rejection'
const identity = (subject: number, recordedAt: number) => `${subject}/${recordedAt}`

/** Stable, so that of two points under one identity the one that came first stays first. */
function bySubjectAndTime(a: Numbered<Point>, b: Numbered<Point>): number {
  return a.entry.subject - b.entry.subject || a.entry.recordedAt - b.entry.recordedAt
}

function toColumns(points: readonly Numbered<Point>[]): PointColumns {
  const entries = points.map(point => point.entry)
  return {
    subject: entries.map(point => point.subject),
    recordedAt: entries.map(point => point.recordedAt),
    receivedAt: entries.map(point => point.receivedAt),
    lat: entries.map(point => point.lat),
    lng: entries.map(point => point.lng),
    speed: entries.map(point => point.speed),
    heading: entries.map(point => point.heading),
    accuracy: entries.map(point => point.accuracy),
    altitude: entries.map(point => point.altitude),
    battery: entries.map(point => point.battery),
    attributes: entries.map(point => point.attributes),
    logOffset: points.map(point => point.offset),
    newest: entries.map((point, index) => isNewest(entries, index, point)),
  }
}

/** Of a sorted batch: the last time of its subject, and of that time the first point, which is the one stored. */
function isNewest(sorted: readonly Point[], index: number, point: Point): boolean {
  const before = sorted[index - 1]
  if (before && before.subject === point.subject && before.recordedAt === point.recordedAt) return false
  for (let next = index + 1; next < sorted.length; next++) {
    const later = sorted[next] as Point
    if (later.subject !== point.subject) return true
    if (later.recordedAt !== point.recordedAt) return false
  }
  return true
}

function toRejection(point: Point, reason: Reason, message: string): Rejection {
  const { kind: _, subject, receivedAt, recordedAt, attributes, ...values } = point
  const timestamp = new Date(recordedAt).toISOString()
  // The attributes are JSON already, and may be what the database did not like.
  const payload = `${JSON.stringify({ ...values, timestamp }).slice(0, -1)},"attributes":${attributes}}`
  return { kind: 'rejection', subject, receivedAt, reason, message, index: null, topic: null, payload }
}

/** Deadlocks and serialization failures are nobody's fault: the same statement is run again. */
async function again<T>(work: () => Promise<T>, attempts = 5): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isTransient(error) || attempt === attempts) throw error
    }
  }
}
