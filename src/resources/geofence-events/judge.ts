import type { KnownCrossing, NewCrossing } from '../../../db/queries/geofence-events.ts'
import type { Fence, JudgedFix, Span } from '../../../db/queries/geofence-spans.ts'
import type { FenceMap } from '../../../stream/fences/fence-map.ts'

/** The geofences of an organization, in the order of their indexes in the map. */
export interface Fences {
  list: readonly Fence[]
  map: FenceMap
}

/** The crossings in a stretch of a subject's history. */
interface Judged {
  crossings: NewCrossing[]
  /** The judged times, ends included; events at other times stay as they are. */
  judged: Span
  /** The rest of the span, beyond the limits. */
  left: Span | null
}

/**
 * The crossings at the fixes of a span and at the first fix after it: those at which a fix lies in other geofences than
 * the one before. The first fix of a subject crosses nothing, since nothing is known before it. A geofence counts only
 * for points that were received after it got its shape. Ends early after `limit` fixes of the span, or after
 * `maxCrossings`.
 */
export function judgeSpan(
  span: Span,
  fixes: readonly JudgedFix[],
  { list, map }: Fences,
  { limit, maxCrossings }: { limit: number; maxCrossings: number },
): Judged {
  const crossings: NewCrossing[] = []
  const within = fixes.filter(({ at }) => at >= span.from && at <= span.to)
  const isCut = within.length >= limit && (within.at(-1) as JudgedFix).at < span.to
  let before: readonly number[] | undefined
  for (const fix of fixes) {
    // If the stretch was not read to its end, the next fix is not adjacent to its last one.
    if (isCut && fix.at > span.to) break
    const inside = map.locate(fix.lat, fix.lng)
    if (before && fix.at >= span.from) {
      for (const index of inside) if (!before.includes(index)) add(index, 'entered', fix)
      for (const index of before) if (!inside.includes(index)) add(index, 'left', fix)
    }
    before = inside
    if (crossings.length >= maxCrossings && fix.at > span.from && fix.at < span.to) return endAt(fix.at)
  }
  return isCut
    ? endAt((within.at(-1) as JudgedFix).at)
    : { crossings, judged: { ...span, to: lastOf(span, fixes) }, left: null }

  function add(index: number, event: NewCrossing['event'], { at, lat, lng, receivedAt }: JudgedFix): void {
    const { id, shapedAt } = list[index] as Fence
    if (receivedAt < shapedAt) return
    crossings.push({ geofenceId: id, subjectId: span.subjectId, event, at, lat, lng, shapedAt })
  }

  /** The last judged fix precedes the rest. */
  function endAt(at: number): Judged {
    return { crossings, judged: { ...span, to: at }, left: { ...span, from: at } }
  }
}

/** The time of the first fix after a span, or its end. */
const lastOf = ({ to }: Span, fixes: readonly JudgedFix[]) => Math.max(to, fixes.at(-1)?.at ?? to)

/** The changes that make the stored crossings of the judged times equal to the computed ones. */
export function compare(
  crossings: readonly NewCrossing[],
  known: readonly KnownCrossing[],
  { list }: Fences,
) {
  const keyOf = ({ subjectId, at, geofenceId }: Pick<NewCrossing, 'subjectId' | 'at' | 'geofenceId'>) =>
    `${subjectId} ${at} ${geofenceId}`
  const held = new Map(crossings.map(crossing => [keyOf(crossing), crossing]))
  const retracted: string[] = []
  const restored: string[] = []
  const shapes = new Map(list.map(({ id, shapedAt }) => [id, shapedAt]))
  for (const crossing of known) {
    const holds = held.delete(keyOf(crossing))
    // The geofence had another shape when this event was created, and it was right then.
    if (crossing.shapedAt !== shapes.get(crossing.geofenceId)) continue
    if (holds && crossing.retracted) restored.push(crossing.id)
    if (!holds && !crossing.retracted) retracted.push(crossing.id)
  }
  return { added: [...held.values()], retracted, restored }
}

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
