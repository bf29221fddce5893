import type { KnownCrossing, NewCrossing } from '../../../db/queries/geofence-events.ts'
import type { Fence, JudgedFix, Span } from '../../../db/queries/geofence-spans.ts'
import { type FenceMap, ZONE } from '../../../stream/fences/fence-map.ts'
import { type Followed, followBorder } from './stays.ts'

/** The geofences of an organization, in the order of their indexes in the map. */
export interface Fences {
  list: readonly Fence[]
  map: FenceMap
}

/** A stretch of a subject's history around a span, and what is known about its ends. */
export interface Stretch {
  /** In order of time. */
  fixes: readonly JudgedFix[]
  /** Whether the first fix is taken as the beginning of the history. */
  isBeginning: boolean
  /** Whether no fix follows. */
  isEnd: boolean
  /** Whether the rest is judged later, even if it would matter. */
  isCut: boolean
}

/** The times of a geofence whose crossings were judged, in milliseconds since 1970. */
interface JudgedTimes {
  /** Inclusive. */
  from: number
  /** Exclusive. */
  until: number
}

export interface Judged {
  crossings: NewCrossing[]
  /** The judged times, ends included. */
  judged: Span
  /** The times of geofences for which they differ; events at other times stay as they are. */
  others: ReadonlyMap<string, JudgedTimes>
  /** The rest of the span, beyond the limits. */
  left: Span | null
  /** The time of the next fix that may show that a stay has lasted. */
  dueAt: number | null
}

/**
 * Judges what follows from the fixes of a span, or says which fixes it needs for that: `earlier` ones, if they decide where
 * the subject was before the span, or `later` ones, if what they tell depends on the span. With geofences that have no
 * dwell or margin, and fixes that have no accuracy, the fix before and the fix after are enough.
 *
 * Points that were received before a geofence got its shape, dwell and margin decide where the subject was, and since when,
 * but tell no crossing.
 */
export function judgeSpan(
  span: Span,
  stretch: Stretch,
  fences: Fences,
  maxCrossings: number,
): Judged | 'earlier' | 'later' {
  const { fixes, isBeginning, isEnd, isCut } = stretch
  const times = fixes.map(({ at }) => at)
  const before = times.findLastIndex(at => at < span.from)
  const last = times.findLastIndex(at => at <= span.to)
  const insides = fixes.map(({ lat, lng }) => fences.map.locate(lat, lng))
  const indexes = new Set(insides.flat())
  const isFar = (index: number, at: number) =>
    fences.map.zoneOf(index, fixes[at] as JudgedFix, false) === ZONE.farOutside
  const lasts = (from: number, to: number, { dwellSeconds }: Fence) =>
    (times[to] as number) - (times[from] as number) >= dwellSeconds * 1000
  const end = fixes.length - 1
  let isSettled = last < end
  for (const [index, fence] of fences.list.entries()) {
    if (indexes.has(index)) continue
    if (!isBeginning) {
      if (!lasts(0, before, fence)) return 'earlier'
      if (!isFar(index, 0) || !isFar(index, before)) indexes.add(index)
    }
    if (last === end) continue
    isSettled &&= lasts(last + 1, end, fence)
    if (!isFar(index, last + 1) || !isFar(index, end)) indexes.add(index)
  }
  const followed = new Map<number, Followed>()
  for (const index of indexes) {
    const { dwellSeconds } = fences.list[index] as Fence
    const zoneAt = (at: number) =>
      fences.map.zoneOf(index, fixes[at] as JudgedFix, (insides[at] as readonly number[]).includes(index))
    const one = followBorder(times, zoneAt, { before, last, dwellMs: dwellSeconds * 1000, isBeginning })
    if (one.before === null && !isBeginning) return 'earlier'
    isSettled &&= one.isSettled
    followed.set(index, one)
  }
  if (!isSettled && !isEnd && !isCut) return 'later'
  const rest = findRest(span, fixes, [...followed.values()], maxCrossings)
  if (rest !== null)
    return judgeSpan(
      span,
      { ...stretch, fixes: rest, isEnd: false, isCut: true },
      fences,
      Number.POSITIVE_INFINITY,
    )
  return toJudged(span, stretch, fences, { followed, before, isSettled })
}

/** The fixes up to the last crossing within the limit, if further ones follow. */
function findRest(
  span: Span,
  fixes: readonly JudgedFix[],
  followed: readonly Followed[],
  maxCrossings: number,
): JudgedFix[] | null {
  const tellers = followed
    .flatMap(({ crossings }) => crossings.map(({ told }) => told))
    .filter(told => (fixes[told] as JudgedFix).at >= span.from)
    .sort((a, b) => a - b)
  const end = tellers.find((told, n) => n + 1 >= maxCrossings && (fixes[told] as JudgedFix).at > span.from)
  return end === undefined || end === fixes.length - 1 ? null : fixes.slice(0, end + 1)
}

function toJudged(
  span: Span,
  { fixes, isEnd, isCut }: Stretch,
  { list }: Fences,
  { followed, before, isSettled }: { followed: Map<number, Followed>; before: number; isSettled: boolean },
): Judged {
  const fixAt = (index: number) => fixes[index] as JudgedFix
  const end = Math.max(fixes.at(-1)?.at ?? span.to, isCut ? span.from : span.to)
  const crossings: NewCrossing[] = []
  const others = new Map<string, JudgedTimes>()
  let dueAt: number | null = null
  for (const [index, one] of followed) {
    const { id, shapedAt, dwellSeconds } = list[index] as Fence
    for (const { first, told, isInside } of one.crossings) {
      if (told <= before || fixAt(told).receivedAt < shapedAt) continue
      const { at, lat, lng } = fixAt(first)
      const event = isInside ? 'entered' : 'left'
      crossings.push({ geofenceId: id, subjectId: span.subjectId, event, at, lat, lng, shapedAt })
    }
    // The span may have told, or untold, the crossing of a stay that began before it.
    const from = one.before && !one.before.counts ? fixAt(one.before.first).at : span.from
    // Later fixes may tell the crossing of the last stay.
    const until = !isEnd && one.pending ? fixAt(one.pending.first).at : Number.POSITIVE_INFINITY
    if (from < span.from || until <= end) others.set(id, { from, until })
    if (!isEnd || !one.pending) continue
    const lastsAt = fixAt(one.pending.first).at + dwellSeconds * 1000
    if (fixAt(one.pending.last).at >= lastsAt) continue
    const next = Math.max(lastsAt, fixAt(fixes.length - 1).at + 1)
    dueAt = Math.min(next, dueAt ?? next)
  }
  const isDone = !isCut || (isSettled && end >= span.to)
  const left = isDone ? null : { ...span, from: end, to: Math.max(span.to, end) }
  return { crossings, judged: { ...span, to: end }, others, left, dueAt }
}

/** The changes that make the stored crossings of the judged times equal to the computed ones. */
export function compare(all: readonly Judged[], known: readonly KnownCrossing[], { list }: Fences) {
  const keyOf = ({ subjectId, at, geofenceId }: Pick<NewCrossing, 'subjectId' | 'at' | 'geofenceId'>) =>
    `${subjectId} ${at} ${geofenceId}`
  const held = new Map(all.flatMap(({ crossings }) => crossings).map(crossing => [keyOf(crossing), crossing]))
  const retracted: string[] = []
  const restored: string[] = []
  const shapes = new Map(list.map(({ id, shapedAt }) => [id, shapedAt]))
  const bySubject = new Map<string, Judged[]>()
  for (const one of all) {
    const same = bySubject.get(one.judged.subjectId)
    if (same) same.push(one)
    else bySubject.set(one.judged.subjectId, [one])
  }
  for (const crossing of known) {
    const holds = held.delete(keyOf(crossing))
    // The geofence had other rules when this event was created, and it was right then.
    if (crossing.shapedAt !== shapes.get(crossing.geofenceId)) continue
    if (holds && crossing.retracted) restored.push(crossing.id)
    if (holds || crossing.retracted) continue
    if (bySubject.get(crossing.subjectId)?.some(one => isJudged(one, crossing))) retracted.push(crossing.id)
  }
  return { added: [...held.values()], retracted, restored }
}

const isJudged = ({ judged, others }: Judged, { geofenceId, at }: KnownCrossing) => {
  const { from, until } = others.get(geofenceId) ?? { from: judged.from, until: Number.POSITIVE_INFINITY }
  return at >= from && at < until && at <= judged.to
}

/** The times in which crossings may be stored that judging may have changed. */
export const spanToCompare = ({ judged, others }: Judged): Span => ({
  ...judged,
  from: Math.min(judged.from, ...[...others.values()].map(({ from }) => from)),
})

/** Merges touching or overlapping spans of a subject. The spans are sorted by subject and beginning. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans) {
    const last = merged.at(-1)
    if (last && last.subject === span.subject && span.from <= last.to) last.to = Math.max(last.to, span.to)
    else merged.push({ ...span })
  }
  return merged
}
