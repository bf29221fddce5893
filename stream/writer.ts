import type { Database } from '../db/client.ts'
import { isInvalidData, isMissingPartition, isTransient } from '../db/errors.ts'
import { createPartitionsFor } from '../db/partitions.ts'
import { copyPoints, type NewestColumns } from '../db/queries/copy-points.ts'
import { noteSpans } from '../db/queries/geofence-spans.ts'
import { findConflicts, type LogPosition, type PointColumns, storeProgress } from '../db/queries/points.ts'
import { insertRejections, type NumberedRejection } from '../db/queries/rejections.ts'
import { createFenceChanges } from './fences/changes.ts'
import { insertAndJudge } from './judge.ts'
import type { Batch } from './log.ts'
import type { Entry, Outcome, Outcomes, Point, Reason, Rejection } from './point.ts'
import { NO_OUTCOMES } from './point.ts'
import { createTails, isInaccurate } from './tails.ts'

/**
 * Stores batches of the log. Everything can be stored again: points are identified by subject and time, rejections by
 * their place in the log. So a batch whose commit was lost on the way back is simply stored again.
 *
 * The first point stored under an identity wins. A later one is a duplicate if it is equal, and a conflict if it
 * differs. Points that are newer than every stored point of their subject cannot be duplicates. If none of them is an
 * anomaly, they are copied in without asking (`tails.ts`); the others are judged among their neighbours (`judge.ts`). A
 * point that the database rejects nevertheless is found by halving its batch.
 */
export function createWriter(options: {
  db: Database
  onError?: (error: unknown, doing: string) => void
  onStored?: (stored: { points: number; duplicates: number; rejections: number; seconds: number }) => void
  /** Called when storing fails. The error itself goes to the caller of `store`. */
  onFailed?: () => void
}): { store(batch: Batch): Promise<Outcomes> } {
  const { db } = options
  const tails = createTails(db)
  const fences = createFenceChanges(db.writer)
  return {
    async store(batch) {
      const begun = performance.now()
      const numbered = numberEntries(batch)
      const points = numbered.filter(isPoint).sort(bySubjectAndTime)
      const outcomes = new Map<Entry, Outcome>()
      const rejected: NumberedRejection[] = numbered.filter(isRejection)

      const position = { partition: batch.partition, nextOffset: batch.nextOffset }
      try {
        await storeAll(points, position)
        if (rejected.length > 0) await again(() => insertRejections(db.writer, batch.partition, rejected))
      } catch (error) {
        options.onFailed?.()
        throw error
      }

      const duplicates = [...outcomes.values()].filter(outcome => outcome.kind === 'duplicate').length
      options.onStored?.({
        points: points.length - outcomes.size,
        duplicates,
        rejections: rejected.length,
        seconds: (performance.now() - begun) / 1000,
      })
      return outcomes.size > 0 ? outcomes : NO_OUTCOMES

      /** Copies the new points, which are almost all, and compares the rest with the database. */
      async function storeAll(all: Numbered<Point>[], at: LogPosition): Promise<void> {
        const plan = await tails.plan(all.map(({ entry }) => entry))
        const fresh = all.filter((_, index) => plan[index] !== null)
        const rest = all.filter((_, index) => plan[index] === null)
        if (fresh.length === 0) return storePoints(all, at)
        const fast = plan.filter(isFast => isFast !== null)
        const copied = await copyFresh(fresh, fast, rest.length > 0 ? { ...at, nextOffset: null } : at)
        if (!copied) await storePoints(all, at)
        else if (rest.length > 0) await storePoints(rest, at)
      }

      /** Resolves to false if the database rejects the points: one of them is stored already, or cannot be stored. */
      async function copyFresh(fresh: Numbered<Point>[], fast: boolean[], at: LogPosition): Promise<boolean> {
        const newest = toNewest(fresh, fast)
        try {
          const before = (subject: number) => tails.of(subject).logOffset
          const entries = fresh.map(({ entry }) => entry)
          await fences.prepare(entries)
          const spans = fences.inOrder(entries, before)
          await copyPoints(db, toColumns(fresh), newest, at, spans)
          for (const [nth, index] of newest.index.entries()) {
            const { subject, recordedAt, lat, lng } = (fresh[index] as Numbered<Point>).entry
            const logOffset = newest.logOffset[nth] as number
            fences.set(subject, { lat, lng }, logOffset)
            tails.set(subject, {
              recordedAt,
              lat,
              lng,
              fast: fast[index] as boolean,
              isNewest: true,
              logOffset,
            })
          }
          return true
        } catch (error) {
          tails.forget(fresh.map(({ entry }) => entry))
          if (!isInvalidData(error) && !isTransient(error)) throw error
          return false
        }
      }

      /** The last point of each subject; `fresh` holds no two points with one identity. */
      function toNewest(fresh: Numbered<Point>[], fast: boolean[]): NewestColumns {
        const index = fresh.flatMap(({ entry }, at) =>
          fresh[at + 1]?.entry.subject === entry.subject ? [] : [at],
        )
        const last = index.map(at => fresh[at] as Numbered<Point>)
        return {
          index,
          logOffset: last.map(({ offset }) => offset),
          fast: index.map(at => fast[at] as boolean),
          replacedOffset: last.map(({ entry }) => tails.of(entry.subject).logOffset),
        }
      }

      async function storePoints(part: Numbered<Point>[], at: LogPosition): Promise<void> {
        try {
          await withPartitions(part, () => insertAndCompare(part, at))
        } catch (error) {
          // The points wait while their partition cannot be created.
          if (isMissingPartition(error) || !isInvalidData(error) || part.length === 0) throw error
          const [only] = part
          if (part.length === 1 && only) {
            // The database's error is for the operator, not for the tenant.
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

      /** Runs `work`. If a partition of the points is missing, creates it and runs `work` again. */
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
        if (part.length === 0) return void (await again(() => storeProgress(db.writer, at)))
        const entries = part.map(({ entry }) => entry)
        await tails.learn(entries)
        await fences.prepare(entries)
        const columns = {
          ...toColumns(part),
          anomaly: part.map(({ entry }) =>
            isInaccurate(entry, tails.of(entry.subject)) ? ('accuracy' as const) : null,
          ),
          logOffset: part.map(({ offset }) => offset),
        }
        const { stored, tails: moved } = await again(() =>
          db.writer.transaction(async tx => {
            const judged = await insertAndJudge(tx, columns, at)
            await noteSpans(tx, fences.at(judged.changed))
            return judged
          }),
        )
        for (const [subject, tail] of moved) tails.set(subject, tail)
        if (!stored) return
        const inserted = new Set(stored.map(row => identity(row.subject, row.recordedAt)))
        // If points in one batch are equal, the first was stored, and the others count as duplicates.
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

/** An entry with its place in the log: the offset of its record, and its ordinal within the record. */
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

/** The sort is stable, so of two points with one identity the earlier one stays first. */
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
  }
}

function toRejection(point: Point, reason: Reason, message: string): Rejection {
  const { kind: _, subject, receivedAt, recordedAt, attributes, ...values } = point
  const timestamp = new Date(recordedAt).toISOString()
  // The attributes are JSON already, and may be the part that the database rejects.
  const payload = `${JSON.stringify({ ...values, timestamp }).slice(0, -1)},"attributes":${attributes}}`
  return { kind: 'rejection', subject, receivedAt, reason, message, index: null, topic: null, payload }
}

/** Deadlocks and serialization failures are no fault of the statement, so it runs again. */
async function again<T>(work: () => Promise<T>, attempts = 5): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isTransient(error) || attempt === attempts) throw error
    }
  }
}
