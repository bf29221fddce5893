import type { KnownCrossing, NewCrossing } from '../../db/queries/geofence-events.ts'
import type { JudgedFix, Span } from '../../db/queries/geofence-spans.ts'
import type { FenceShape } from '../../db/schema/geofences.ts'
import {
  compare,
  type Fences,
  type Judged,
  mergeSpans,
  spanToCompare,
} from '../../src/resources/geofence-events/judge.ts'
import { judgeStretch, toStretch } from '../../src/resources/geofence-events/stretch.ts'
import { createFenceMap } from '../../stream/fences/fence-map.ts'
import { byTime } from './fences.ts'

export interface GivenFence {
  shape: FenceShape
  dwellSeconds?: number
  marginMeters?: number
  shapedAt?: number
}

export function toJudgedFences(given: readonly GivenFence[]): Fences {
  const list = given.map((fence, index) => ({
    id: `fence ${index}`,
    dwellSeconds: 0,
    marginMeters: 0,
    shapedAt: 0,
    ...fence,
  }))
  return { list, map: createFenceMap(list) }
}

const SUBJECT = { subject: 1, subjectId: 'walker' }

/**
 * The history of one subject in memory, which is judged as the job does it: where points in order come into another zone,
 * where they are late, and where a stay has lasted. Nothing but the judge is the product's.
 */
export function createHistory(fences: Fences, limits = { within: 20, around: 2 }) {
  const fixes: JudgedFix[] = []
  const events = new Map<string, KnownCrossing & NewCrossing>()
  let spans: Span[] = []
  let dueAt = Number.POSITIVE_INFINITY
  let zones: readonly number[] | undefined
  let changes = 0

  function store(fix: JudgedFix): void {
    const index = fixes.findIndex(({ at }) => at >= fix.at)
    if (index >= 0 && fixes[index]?.at === fix.at) return
    const note = () => spans.push({ ...SUBJECT, from: fix.at, to: fix.at })
    if (index >= 0) {
      fixes.splice(index, 0, fix)
      zones = undefined
      return void note()
    }
    fixes.push(fix)
    const next = fences.map.zonesOf(fix, zones)
    if (zones?.join() !== next.join()) note()
    zones = next
  }

  const read = async (side: 'before' | 'after', at: number, limit: number) =>
    side === 'before'
      ? fixes.filter(fix => fix.at < at).slice(-limit)
      : fixes.filter(fix => fix.at > at).slice(0, limit)

  async function judgeOne(span: Span): Promise<Judged> {
    const within = fixes.filter(({ at }) => at >= span.from && at <= span.to).slice(0, limits.within)
    const found = [
      ...(await read('before', span.from, limits.around)),
      ...within,
      ...(await read('after', span.to, limits.around)),
    ]
    return (await judgeStretch(read, span, toStretch(span, found, limits), fences, 50)).judged
  }

  function apply(judged: Judged): void {
    const { from, to } = spanToCompare(judged)
    const known = [...events.values()].filter(({ at }) => at >= from && at <= to)
    const { added, retracted, restored } = compare([judged], known, fences)
    changes += added.length + retracted.length + restored.length
    for (const crossing of added) {
      const id = `${crossing.geofenceId} ${crossing.at}`
      if (events.has(id)) throw new Error(`${id} is told twice`)
      events.set(id, { ...crossing, id, retracted: false })
    }
    for (const id of [...retracted, ...restored]) {
      const event = events.get(id)
      if (event) event.retracted = !event.retracted
    }
  }

  return {
    store,
    fixes,
    /** Judges everything that waits. Returns the number of turns. */
    async judge(): Promise<number> {
      for (let turns = 0; ; turns++) {
        if (dueAt <= (fixes.at(-1)?.at ?? 0)) {
          spans.push({ ...SUBJECT, from: dueAt, to: dueAt })
          dueAt = Number.POSITIVE_INFINITY
        }
        const [next, ...rest] = mergeSpans(spans.sort((a, b) => a.from - b.from))
        if (!next) return turns
        const judged = await judgeOne(next)
        spans = [...rest, ...(judged.left ? [judged.left] : [])]
        dueAt = Math.min(dueAt, judged.dueAt ?? dueAt)
        apply(judged)
      }
    },
    /** The crossings that hold. */
    told: () =>
      [...events.values()]
        .filter(({ retracted }) => !retracted)
        .map(({ geofenceId, event, at, lat, lng }) => ({
          geofenceId,
          event,
          at: new Date(at).toISOString(),
          lat,
          lng,
        }))
        .sort(byTime),
    /** How often a crossing was told, retracted or restored. */
    countChanges: () => changes,
  }
}
