import type { Queryable } from '../../db/client.ts'
import {
  findFixBefore,
  type LockedTail,
  listNeighbours,
  lockTails,
  type MovedTail,
  markPoints,
  moveTails,
  type StoredFix,
} from '../../db/queries/judged-points.ts'
import { insertPoints, type LogPosition, type PointColumns, type Stored } from '../../db/queries/points.ts'
import type { StoredTail } from '../../db/queries/tails.ts'
import { type Anomaly, isFast, NEIGHBOURS_WITHIN_MS } from '../anomalies.ts'

export type JudgedColumns = PointColumns & { anomaly: (Anomaly | null)[]; logOffset: number[] }

/**
 * Stores points of any time in the given transaction, and judges them and their neighbours again. The result depends on
 * the stored points alone, not on the order in which they came. `changed` holds every point that was stored or got
 * another mark.
 */
export async function insertAndJudge(
  tx: Queryable,
  points: JudgedColumns,
  at: LogPosition,
): Promise<{ stored: Stored; tails: Map<number, StoredTail>; changed: Identity[] }> {
  const locked = await lockTails(tx, [...new Set(points.subject)], at.partition)
  const stored = await insertPoints(tx, points)
  const inserted = stored ?? points.subject.map((subject, index) => toIdentity(points, subject, index))
  const offsets = new Map(
    points.subject.map((subject, index) => [subject, points.logOffset[index] as number]),
  )
  const bySubject = groupBySubject(
    inserted.length > 0 ? await listNeighbours(tx, inserted, NEIGHBOURS_WITHIN_MS) : [],
  )
  const insertedBySubject = groupBySubject(inserted)
  const marks: StoredFix[] = []
  const moved: MovedTail[] = []
  const lost: MovedTail[] = []
  for (const tail of locked) {
    const own = insertedBySubject.get(tail.subject)
    if (!own) continue
    const times = new Set(own.map(({ recordedAt }) => recordedAt))
    const judged = judge(bySubject.get(tail.subject) ?? [], times)
    for (const { fix, anomaly } of judged) if (anomaly !== fix.anomaly) marks.push({ ...fix, anomaly })
    const next = moveTail(tail, judged, offsets.get(tail.subject) as number)
    if (!next) continue
    moved.push(next.tail)
    if (next.isLost) lost.push(next.tail)
  }
  await markPoints(tx, marks)
  for (const tail of lost) {
    tail.newestAt = (await findFixBefore(tx, tail.subject, tail.last.recordedAt)) ?? tail.newestAt
  }
  await moveTails(tx, moved, at)
  const tails = new Map<number, StoredTail>(
    locked.map(({ subject, newestAt: _, ...tail }) => [subject, tail]),
  )
  for (const { subject, last, newestAt, fast, logOffset } of moved)
    tails.set(subject, { ...last, fast, isNewest: newestAt === last.recordedAt, logOffset })
  return { stored, tails, changed: [...inserted, ...marks].sort(bySubjectAndTime) }
}

/** Identifies a point. */
export interface Identity {
  subject: number
  recordedAt: number
}

const bySubjectAndTime = (a: Identity, b: Identity) => a.subject - b.subject || a.recordedAt - b.recordedAt

const toIdentity = (points: JudgedColumns, subject: number, index: number) => ({
  subject,
  recordedAt: points.recordedAt[index] as number,
})

interface Judged {
  fix: StoredFix
  anomaly: string | null
  /** Whether the way from the fix before it takes more than 100 m/s. */
  fast: boolean
}

/**
 * Judges the fixes at these times and their neighbours. `fixes` contains both neighbours of every fix that is judged, if
 * they exist.
 */
function judge(fixes: readonly StoredFix[], times: ReadonlySet<number>): Judged[] {
  const isOne = (fix: StoredFix | undefined) => fix !== undefined && times.has(fix.recordedAt)
  return fixes.flatMap((fix, index) => {
    const [before, after] = [fixes[index - 1], fixes[index + 1]]
    if (!isOne(before) && !isOne(fix) && !isOne(after)) return []
    const fast = before !== undefined && isFast(before, fix)
    const isBad = fast && after !== undefined && isFast(fix, after)
    return [{ fix, fast, anomaly: fix.anomaly === 'accuracy' ? 'accuracy' : isBad ? 'speed' : null }]
  })
}

/**
 * The subject's next tail, or null if it does not change. With `isLost`, the caller looks up the newest fix in the
 * database.
 */
function moveTail(
  tail: LockedTail,
  judged: readonly Judged[],
  logOffset: number,
): { tail: MovedTail; isLost: boolean } | null {
  const { subject, recordedAt, newestAt } = tail
  const newer = judged.at(-1) as Judged
  const isLast = recordedAt === null || newer.fix.recordedAt >= recordedAt
  const last = isLast ? newer.fix : { recordedAt, lat: tail.lat, lng: tail.lng }
  const fast = isLast ? newer.fast : tail.fast
  const best = judged.findLast(({ anomaly }) => anomaly === null)?.fix.recordedAt ?? null
  const isLost =
    newestAt !== null &&
    judged.some(({ fix, anomaly }) => fix.recordedAt === newestAt && anomaly !== null) &&
    (best === null || best < newestAt)
  const newest = isLost || newestAt === null ? best : Math.max(newestAt, best ?? newestAt)
  if (last.recordedAt === recordedAt && fast === tail.fast && newest === newestAt) return null
  const { lat, lng } = last
  return {
    tail: { subject, newestAt: newest, last: { recordedAt: last.recordedAt, lat, lng }, fast, logOffset },
    isLost,
  }
}

function groupBySubject<T extends { subject: number }>(items: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const group = groups.get(item.subject)
    if (group) group.push(item)
    else groups.set(item.subject, [item])
  }
  return groups
}
