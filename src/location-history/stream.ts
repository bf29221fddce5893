import { Readable } from 'node:stream'
import type { HistoryChunk } from '../../db/queries/history.ts'
import { writePageCursor } from '../envelope.ts'

/** Rows of one statement: long enough to be fast, short enough that nothing waits for it (86,400 took 0.14 s). */
const CHUNK = 5_000

/**
 * A list of points as the text of the whole answer, chunk by chunk as it is read. The first chunk is read before
 * this resolves, so that a failure is still an answer with a status of its own.
 */
export async function streamPoints<Key>(
  limit: number,
  after: Key | null,
  read: (limit: number, after: Key | null) => Promise<Omit<HistoryChunk, 'last'> & { last: Key | null }>,
): Promise<Readable> {
  const first = await read(Math.min(CHUNK, limit), after)

  async function* pieces(): AsyncGenerator<string> {
    yield '{"status":true,"message":"Done","data":['
    let chunk = first
    let asked = Math.min(CHUNK, limit)
    let count = 0
    let last = after
    for (;;) {
      const begun = count > 0
      count += chunk.count
      last = chunk.last ?? last
      const ended = chunk.count < asked || count >= limit
      asked = Math.min(CHUNK, limit - count)
      // The next chunk is made while this one is sent.
      const next = ended ? null : read(asked, last)
      next?.catch(() => {})
      if (chunk.count > 0) yield begun ? `,${chunk.text}` : chunk.text
      if (!next) break
      chunk = await next
    }
    const more = count >= limit && (await read(1, last)).count > 0
    const nextCursor = more ? `"${writePageCursor(last)}"` : 'null'
    yield `],"pagination":{"limit":${limit},"nextCursor":${nextCursor}}}`
  }
  return Readable.from(pieces(), { objectMode: false })
}
