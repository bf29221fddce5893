import { AsyncResource } from 'node:async_hooks'
import type { ChunkLimits, HistoryChunk } from '../../../db/queries/history.ts'
import type { HistoryKey, HistoryPoint, Lines } from '../../../db/queries/point-lines.ts'
import { writeCursor } from '../../http/cursors.ts'
import { PIECE_BYTES } from '../../http/streams.ts'
import type { FileFormat, TrackWriter } from './formats/format.ts'
import { writeJson } from './formats/json.ts'

/** Rows of one statement: without attributes 7,000 fill a piece. Rows that do not fit would be read in vain. */
const FIRST_ROWS = 1_000
const MAX_ROWS = 5_000
const FILLED = 0.8
/** Points written at a time: 1 ms, and 250 KiB. */
const PIECE_POINTS = 1_000

/** Reads the points after a key. */
export type Read = (page: ChunkLimits, after: HistoryKey | null) => Promise<HistoryChunk>

export interface Reading {
  /** Resolves to the result of `take` for the next points, at most the given number; null after the last one. */
  next<Piece>(take: (lines: Lines, most: number) => Piece): Promise<Piece | null>
  /** The key after which the next page begins; null if there is no more. */
  findNext(): Promise<HistoryKey | null>
}

/** Reads up to `limit` points, each chunk while the one before is sent. Resolves once the first chunk is read. */
export async function startReading(limit: number, after: HistoryKey | null, given: Read): Promise<Reading> {
  // Later reads are triggered by the socket, but still count as the request's demand (`db/demand.ts`).
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
    // Awaited later, or never, so an error must not go unhandled.
    next.catch(() => {})
    return next
  }

  /** Resolves to the result of `take` for the next points, as soon as there are any. */
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
    // Reads on until a point matches, because the next ones may all be outside of the box.
    findNext: async () => ((await takeNext(1, lines => lines.next())) ? taken : null),
  }
}

/** Writes a list of points as the whole answer; `toCursor` makes the cursor of the next page. */
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

/** Points subject by subject, with facts about each track that are known before. */
export interface Tracks extends Reading {
  hasGap(subject: number, from: number, to: number): boolean
  /** Considers at most this number of the first points of a subject. */
  mayCross(subject: number, most: number): Promise<boolean>
}

/** Writes points as a file; the points of each subject must be consecutive. */
export async function* writeFile(format: FileFormat, limit: number, reading: Tracks): AsyncGenerator<string> {
  yield format.begin()
  let track: TrackWriter | undefined
  let subject: number | undefined
  let tracks = 0
  let written = 0
  const take = (lines: Lines, most: number) => lines.take(most)
  for (let points = await reading.next(take); points; points = await reading.next(take)) {
    for (const run of groupBySubject(points)) {
      const first = run[0] as HistoryPoint
      if (first.subject.key !== subject) {
        if (track) yield* track.end()
        const { key } = first.subject
        track = format.createTrack(first.subject, tracks++, {
          hasGap: (from, to) => reading.hasGap(key, from, to),
          mayCross: format.cutsLines === true && (await reading.mayCross(key, limit - written)),
        })
        subject = key
        yield track.begin()
      }
      yield (track as TrackWriter).add(run)
      written += run.length
    }
  }
  if (track) yield* track.end()
  yield format.end()
}

/** Splits the points into runs of one subject. */
function* groupBySubject(points: readonly HistoryPoint[]): Generator<readonly HistoryPoint[]> {
  for (let from = 0; from < points.length; ) {
    const { key } = (points[from] as HistoryPoint).subject
    let to = from + 1
    while (to < points.length && points[to]?.subject.key === key) to++
    yield points.slice(from, to)
    from = to
  }
}
