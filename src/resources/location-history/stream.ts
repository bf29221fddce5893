import { AsyncResource } from 'node:async_hooks'
import type { ChunkLimits, HistoryChunk } from '../../../db/queries/history.ts'
import type { HistoryKey, HistoryPoint, Lines } from '../../../db/queries/point-lines.ts'
import { writeCursor } from '../../http/cursors.ts'
import { PIECE_BYTES } from '../../http/streams.ts'
import type { FileFormat, TrackWriter } from './formats/format.ts'
import { writeJson } from './formats/json.ts'

/** Rows of one statement: without attributes 7,000 fill a piece. Where more do not fit, all are read for nothing. */
const FIRST_ROWS = 1_000
const MAX_ROWS = 5_000
const FILLED = 0.8
/** Points that are written at a time: 1 ms, and 250 KiB. */
const PIECE_POINTS = 1_000

/** Reads what comes after a key. */
export type Read = (page: ChunkLimits, after: HistoryKey | null) => Promise<HistoryChunk>

export interface Reading {
  /** What `take` makes of the next points, up to so many; null when nothing is left. */
  next<Piece>(take: (lines: Lines, most: number) => Piece): Promise<Piece | null>
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
    const fitting = Math.ceil((FILLED * PIECE_BYTES * lines.count) / Math.max(1, lines.text.length))
    rows = Math.max(1, Math.min(rows * 2, fitting, MAX_ROWS))
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

  /** What `take` makes of up to so many of the next points, as soon as there are any. */
  async function takeNext<Piece>(most: number, take: (lines: Lines, most: number) => Piece) {
    for (;;) {
      const { lines } = chunk
      const passed = lines.passed
      const piece = take(lines, most)
      const points = lines.passed - passed
      if (points > 0) return { piece, points }
      if (chunk.ended) return null
      chunk = await (upcoming ?? readAfter(chunk.last, most))
      upcoming = readAhead()
    }
  }

  return {
    async next(take) {
      if (count >= limit) return null
      const next = await takeNext(Math.min(PIECE_POINTS, limit - count), take)
      count += next?.points ?? 0
      taken = chunk.lines.taken ?? taken
      return next ? next.piece : null
    },
    // What is looked at next may all be outside of the box.
    findNext: async () => ((await takeNext(1, lines => lines.next())) ? taken : null),
  }
}

/** A list of points as the text of the whole answer; `toCursor` names where the next page begins. */
export async function* writeList(
  limit: number,
  reading: Reading,
  toCursor: (key: HistoryKey) => unknown = key => key,
): AsyncGenerator<string | Uint8Array> {
  yield '{"status":true,"message":"Done","data":['
  let begun = false
  for (let piece = await reading.next(writeJson); piece; piece = await reading.next(writeJson)) {
    // Each point has a comma before it.
    yield begun ? piece : piece.subarray(1)
    begun = true
  }
  const next = await reading.findNext()
  const nextCursor = next ? `"${writeCursor(toCursor(next))}"` : 'null'
  yield `],"pagination":{"limit":${limit},"nextCursor":${nextCursor}}}`
}

/** Points subject by subject, and what is known of each track before. */
export interface Tracks extends Reading {
  hasGap(subject: number, from: number, to: number): boolean
  mayCross(subject: number): Promise<boolean>
}

/** Points as a file: those of one subject come one after another. */
export async function* writeFile(format: FileFormat, reading: Tracks): AsyncGenerator<string> {
  yield format.begin()
  let track: TrackWriter | undefined
  let subject: number | undefined
  let tracks = 0
  const take = (lines: Lines, most: number) => lines.take(most)
  for (let points = await reading.next(take); points; points = await reading.next(take)) {
    for (const run of groupBySubject(points)) {
      const first = run[0] as HistoryPoint
      if (first.subject.key !== subject) {
        if (track) yield* track.end()
        const { key } = first.subject
        track = format.createTrack(first.subject, tracks++, {
          hasGap: (from, to) => reading.hasGap(key, from, to),
          mayCross: format.cutsLines === true && (await reading.mayCross(key)),
        })
        subject = key
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
