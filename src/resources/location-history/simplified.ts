import { setImmediate } from 'node:timers/promises'
import type { Queryable } from '../../../db/client.ts'
import { readHistory, readPoints } from '../../../db/queries/history.ts'
import type { HistoryFilter } from '../../../db/queries/history-tracks.ts'
import { type HistoryKey, type Lines, VALUE } from '../../../db/queries/point-lines.ts'
import type { Visibility } from '../../../db/visibility.ts'
import { createOutlines, type Outlines } from './outline.ts'
import { createToleranceSimplifier, type Simplifier, type Vertex } from './shape.ts'
import { createCountSimplifier } from './squish.ts'
import type { Read } from './stream.ts'

/** Points read for one answer; the next page continues after them. At most 4 s of PostgreSQL, in steps of 20 ms. */
export const MAX_LOOKED_AT = 1_000_000
/** Points kept of them, with 16 bytes each until they are read. */
export const MAX_KEPT = 100_000
/** Points of one statement; their vertices take 80 bytes each. */
const STEP_POINTS = 10_000
const STEP_BYTES = 4 * 1024 * 1024

export interface Simplification {
  /** The tolerance in metres. */
  simplify?: number | undefined
  maxPoints?: number | undefined
}

export interface Kept {
  keys: HistoryKey[]
  /** The last point read, if there may be more after it. */
  rest: HistoryKey | null
  /** The outlines of all points read. */
  outlines: Outlines
}

/**
 * Selects the points that make the shape of the tracks. It reads them in order of time, stops once more than `enough`
 * are kept, and holds only those in memory.
 */
export async function findShape(
  db: Queryable,
  visibility: Visibility,
  filter: HistoryFilter,
  how: Simplification & { order: 'asc' | 'desc'; after: HistoryKey | null; enough: number },
): Promise<Kept> {
  const simplifier: Simplifier =
    how.maxPoints === undefined
      ? createToleranceSimplifier(how.simplify ?? 0)
      : createCountSimplifier(how.maxPoints)
  const outlines = createOutlines()
  let last = how.after
  let looked = 0
  let ended = false
  while (
    !ended &&
    looked < MAX_LOOKED_AT &&
    (how.maxPoints !== undefined || simplifier.count <= how.enough)
  ) {
    const chunk = await readHistory(db, visibility, filter, {
      limit: MAX_LOOKED_AT - looked,
      rows: STEP_POINTS,
      maxBytes: STEP_BYTES,
      order: how.order,
      after: last,
      parts: 'track',
    })
    const { lines } = chunk
    while (lines.next()) {
      const vertex = readVertex(lines)
      outlines.add(vertex)
      if (simplifier.add(vertex)) await setImmediate()
    }
    looked += lines.passed
    last = lines.last ?? last
    ended = chunk.ended
  }
  const steps = simplifier.finish()
  let step = steps.next()
  while (!step.done) {
    await setImmediate()
    step = steps.next()
  }
  return { keys: step.value, rest: ended ? null : last, outlines }
}

const readVertex = (lines: Lines): Vertex => ({
  subject: lines.numberOf(VALUE.subject),
  recordedAt: lines.numberOf(VALUE.recordedAt),
  lat: Number(lines.valueOf(VALUE.lat)),
  lng: Number(lines.valueOf(VALUE.lng)),
  speed: lines.has(VALUE.speed) ? Number(lines.valueOf(VALUE.speed)) : Number.NaN,
  isAnomaly: lines.has(VALUE.anomaly),
})

/** Reads the points of the given keys, in their order, whatever key the caller passes. */
export function readKept(db: Queryable, visibility: Visibility, keys: readonly HistoryKey[]): Read {
  let at = 0
  return async ({ limit, rows, maxBytes }) => {
    const page = keys.slice(at, at + Math.min(limit, rows))
    const { lines, count } = await readPoints(db, visibility, page, maxBytes)
    at += count
    return { lines, ended: at >= keys.length }
  }
}
