import type { Queryable } from '../../../db/client.ts'
import {
  type HistoryChunk,
  listTracked,
  readHistory,
  readLongitudes,
  readNewest,
} from '../../../db/queries/history.ts'
import type { HistoryFilter } from '../../../db/queries/history-tracks.ts'
import { type HistoryKey, Lines } from '../../../db/queries/point-lines.ts'
import type { Visibility } from '../../../db/visibility.ts'
import { invalid } from '../../http/errors.ts'
import { isGap, mayCross } from './outline.ts'
import { findShape, MAX_KEPT, readKept, type Simplification } from './simplified.ts'
import { type Read, type Reading, startReading, type Tracks } from './stream.ts'

/** A request for history: which points are read, and in what form. */
export interface HistoryRequest extends Simplification {
  visibility: Visibility
  filter: HistoryFilter
  /** Whether subjects are named; otherwise the request is for each subject's newest point. */
  named: boolean
  order: 'asc' | 'desc'
  limit: number
  after: HistoryKey | null
}

const isSimplified = ({ simplify, maxPoints }: Simplification) =>
  simplify !== undefined || maxPoints !== undefined

/** Reads points in order of time, of all subjects together. */
export async function readList(db: Queryable, request: HistoryRequest): Promise<Reading> {
  const { visibility, filter, order, limit, after } = request
  if (!request.named) return startReading(limit, after, readNewestOnes(db, request))
  if (!isSimplified(request)) {
    return startReading(limit, after, (page, key) =>
      readHistory(db, visibility, filter, { ...page, order, after: key }),
    )
  }
  const { keys, rest } = await findShape(db, visibility, filter, { ...request, enough: limit })
  const sign = order === 'asc' ? 1 : -1
  keys.sort((a, b) => sign * (a.recordedAt - b.recordedAt || a.subject - b.subject))
  const reading = await startReading(limit, null, readKept(db, visibility, keys))
  const next = keys.length > limit ? (keys[limit - 1] as HistoryKey) : rest
  return { ...reading, findNext: async () => next }
}

/** Reads points subject by subject, like the tracks of a file. */
export async function readTracks(db: Queryable, request: HistoryRequest): Promise<Tracks> {
  const { visibility, filter, order, limit } = request
  if (!request.named) {
    const reading = await startReading(limit, null, readNewestOnes(db, request))
    return { ...reading, hasGap: () => false, mayCross: async () => false }
  }
  if (!isSimplified(request)) {
    const reading = await startReading(limit, null, await readBySubject(db, request))
    return {
      ...reading,
      hasGap: (_, from, to) => isGap(from, to),
      mayCross: (subject, most) => spansHalf(db, request, subject, most),
    }
  }
  const { keys, rest, outlines } = await findShape(db, visibility, filter, { ...request, enough: MAX_KEPT })
  if (rest || keys.length > MAX_KEPT) {
    const parameter = request.maxPoints === undefined ? 'simplify' : 'maxPoints'
    throw invalid(parameter, 'This is more than a simplified file is made from. Ask for a shorter time.')
  }
  const sign = order === 'asc' ? 1 : -1
  keys.sort((a, b) => a.subject - b.subject || sign * (a.recordedAt - b.recordedAt))
  const reading = await startReading(limit, null, readKept(db, visibility, keys))
  return {
    ...reading,
    hasGap: outlines.hasGap,
    async mayCross(subject) {
      const span = outlines.spanOf(subject)
      return span !== null && mayCross(span.west, span.east)
    },
  }
}

/** Points read in one statement. If fewer are needed, more than these are read, because some may not match. */
const STEP_POINTS = 10_000
const MIN_STEP_POINTS = 1_000

/**
 * Whether the points of a subject in a file, which has room for `most`, span more than half of the globe. The first bytes
 * of a line say whether it is cut, which may only be known at its last point.
 */
async function spansHalf(
  db: Queryable,
  request: HistoryRequest,
  subject: number,
  most: number,
): Promise<boolean> {
  const { visibility, filter, order } = request
  let [west, east, left] = [180, -180, most]
  for (let after: number | null = null; ; ) {
    const rows = Math.min(STEP_POINTS, Math.max(MIN_STEP_POINTS, left))
    const read = await readLongitudes(db, visibility, filter, { subject, order, after, rows, most: left })
    west = Math.min(west, read.west ?? west)
    east = Math.max(east, read.east ?? east)
    if (mayCross(west, east)) return true
    left -= read.wanted
    after = read.last
    if (read.looked < rows || left <= 0) return false
  }
}

function readNewestOnes(db: Queryable, { visibility, filter }: HistoryRequest): Read {
  return (page, key) => readNewest(db, visibility, filter, { ...page, after: key?.subject ?? 0 })
}

/** Reads one subject after the other, each in order of time. */
async function readBySubject(db: Queryable, { visibility, filter, order }: HistoryRequest): Promise<Read> {
  const subjects = await listTracked(db, visibility, filter)
  let at = 0
  return async (page, key): Promise<HistoryChunk> => {
    const subject = subjects[at]?.key
    if (subject === undefined) return { lines: new Lines('', 0, {}), ended: true }
    const after = key?.subject === subject ? key : null
    const chunk = await readHistory(db, visibility, filter, { ...page, order, after, subject })
    if (chunk.ended) at++
    return { ...chunk, ended: at >= subjects.length }
  }
}
