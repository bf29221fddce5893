import { AsyncResource } from 'node:async_hooks'
import type { ChunkLimits, HistoryChunk } from '../../../db/queries/history.ts'
import { writeCursor } from '../../http/cursors.ts'
import { PIECE_BYTES } from '../../http/streams.ts'

/** Rows of one statement: of 250 bytes each 2,000 make a piece. More than fit are read for nothing. */
const FIRST_ROWS = 1_000
const MIN_ROWS = 100
const MAX_ROWS = 5_000

type Read<Key> = (
  page: ChunkLimits,
  after: Key | null,
) => Promise<Omit<HistoryChunk, 'last'> & { last: Key | null }>

/**
 * A list of points as the text of the whole answer, chunk by chunk as it is read, each of `PIECE_BYTES` and a row at the
 * most. The first chunk is read before this resolves, so that a failure is still an answer with a status of its own.
 */
export async function streamPoints<Key>(
  limit: number,
  after: Key | null,
  given: Read<Key>,
): Promise<AsyncGenerator<string>> {
  // What is read later is asked for by the socket, and is on behalf of the request all the same (`db/demand.ts`).
  const read = AsyncResource.bind(given)
  let rows = FIRST_ROWS
  const readChunk = async (left: number, from: Key | null) => {
    const chunk = await read({ limit: left, rows, maxBytes: PIECE_BYTES }, from)
    const fitting = chunk.count === 0 ? MAX_ROWS : (PIECE_BYTES / chunk.text.length) * chunk.count
    rows = Math.round(Math.min(Math.max(fitting, MIN_ROWS), MAX_ROWS))
    return chunk
  }
  const first = await readChunk(limit, after)

  async function* pieces(): AsyncGenerator<string> {
    yield '{"status":true,"message":"Done","data":['
    let chunk = first
    let count = 0
    let last = after
    for (;;) {
      const begun = count > 0
      count += chunk.count
      last = chunk.last ?? last
      // The next chunk is made while this one is sent.
      const next = chunk.ended || count >= limit ? null : readChunk(limit - count, last)
      next?.catch(() => {})
      if (chunk.count > 0) yield begun ? `,${chunk.text}` : chunk.text
      if (!next) break
      chunk = await next
    }
    let more = false
    // What is looked at next may all be outside of the box.
    for (let from = last; count >= limit && !more && !chunk.ended; from = chunk.last ?? from) {
      chunk = await read({ limit: 1, rows, maxBytes: PIECE_BYTES }, from)
      more = chunk.count > 0
    }
    const nextCursor = more ? `"${writeCursor(last)}"` : 'null'
    yield `],"pagination":{"limit":${limit},"nextCursor":${nextCursor}}}`
  }
  return pieces()
}
