import { AsyncResource } from 'node:async_hooks'
import type { ChunkLimits, HistoryChunk } from '../../../db/queries/history.ts'
import type { HistoryKey, HistoryPoint } from '../../../db/queries/point-lines.ts'
import { writeCursor } from '../../http/cursors.ts'
import { PIECE_BYTES } from '../../http/streams.ts'
import type { FileFormat, TrackWriter } from './formats/format.ts'
import { toJson } from './formats/json.ts'

/** Rows of one statement: without attributes 5,800 fill a piece. More than fit are read for nothing. */
const FIRST_ROWS = 1_000
const MIN_ROWS = 200
const MAX_ROWS = 5_000
/** Points that are written at a time: 1 ms, and 250 KiB. */
const PIECE_POINTS = 1_000

/** Reads what comes after a key. */
export type Read = (page: ChunkLimits, after: HistoryKey | null) => Promise<HistoryChunk>

export interface Reading {
  /** The next points; none when nothing is left. */
  next(): Promise<readonly HistoryPoint[]>
  /** Where to go on after what `next` gave; null where nothing is left. */
  findNext(): Promise<HistoryKey | null>
}

/** Reads up to `limit` points, the next chunk while the one before is sent. The first is there when this resolves. */
export async function startReading(limit: number, after: HistoryKey | null, given: Read): Promise<Reading> {
  // What is read later is asked for by the socket, and is on behalf of the request all the same (`db/demand.ts`).
  const read = AsyncResource.bind(given)
  let count = 0
  let taken = after
  let rows = FIRST_ROWS

  async function readAfter(key: HistoryKey | null, left: number) {
    const chunk = await read({ limit: left, rows, maxBytes: PIECE_BYTES }, key)
    const { lines } = chunk
    rows = lines.count < rows ? Math.max(lines.count, MIN_ROWS) : Math.min(rows * 2, MAX_ROWS)
    return { ...chunk, last: lines.last ?? key }
  }

  let chunk = await readAfter(after, limit)
  let upcoming = readAhead()

  function readAhead(): Promise<typeof chunk> | undefined {
    const left = limit - count - chunk.lines.count
    if (chunk.ended || left <= 0) return undefined
    const next = readAfter(chunk.last, left)
    // It is awaited when it is its turn, if ever.
    next.catch(() => {})
    return next
  }

  /** Up to so many of the next points, as soon as there are any. */
  async function take(most: number): Promise<readonly HistoryPoint[]> {
    for (;;) {
      const next = chunk.lines.take(most)
      if (next.length > 0 || chunk.ended) return next
      chunk = await (upcoming ?? readAfter(chunk.last, most))
      upcoming = readAhead()
    }
  }

  return {
    async next() {
      if (count >= limit) return []
      const next = await take(Math.min(PIECE_POINTS, limit - count))
      count += next.length
      taken = chunk.lines.taken ?? taken
      return next
    },
    // What is looked at next may all be outside of the box.
    findNext: async () => ((await take(1)).length > 0 ? taken : null),
  }
}

/** A list of points as the text of the whole answer; `toCursor` names where the next page begins. */
export async function* writeList(
  limit: number,
  reading: Reading,
  toCursor: (key: HistoryKey) => unknown = key => key,
): AsyncGenerator<string> {
  yield '{"status":true,"message":"Done","data":['
  let begun = false
  for (let points = await reading.next(); points.length > 0; points = await reading.next()) {
    yield (begun ? ',' : '') + points.map(toJson).join(',')
    begun = true
  }
  const next = await reading.findNext()
  const nextCursor = next ? `"${writeCursor(toCursor(next))}"` : 'null'
  yield `],"pagination":{"limit":${limit},"nextCursor":${nextCursor}}}`
}

/** Points as a file: those of one subject come one after another. */
export async function* writeFile(format: FileFormat, reading: Reading): AsyncGenerator<string> {
  yield format.begin()
  let track: TrackWriter | undefined
  let subject: number | undefined
  let tracks = 0
  for (let points = await reading.next(); points.length > 0; points = await reading.next()) {
    for (const run of groupBySubject(points)) {
      const first = run[0] as HistoryPoint
      if (first.subject.key !== subject) {
        if (track) yield* track.end()
        track = format.createTrack(first.subject, tracks++)
        subject = first.subject.key
        yield track.begin()
      }
      yield (track as TrackWriter).add(run)
    }
  }
  if (track) yield* track.end()
  yield format.end()
}

/** Neighbours of one subject together. */
function* groupBySubject(points: readonly HistoryPoint[]): Generator<readonly HistoryPoint[]> {
  for (let from = 0; from < points.length; ) {
    const { key } = (points[from] as HistoryPoint).subject
    let to = from + 1
    while (to < points.length && points[to]?.subject.key === key) to++
    yield points.slice(from, to)
    from = to
  }
}
