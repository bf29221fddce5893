import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rootOf } from '../../fair/roots.ts'
import { RequestError } from './errors.ts'
import { leavingOf, whenAborted } from './leaving.ts'

/**
 * Long answers, sent piece by piece as they are produced. A reader holds up to three pieces (one being made, one in the
 * stream, one in the socket), so the number of readers bounds the memory: 96 of 1.5 MiB. A client that needs more than
 * a minute for a piece, 70 kbit/s, is disconnected to make room. A root of organizations (fair/roots.ts) may use up to
 * half of what the others leave, so the next one finds room as well.
 */
export const PIECE_BYTES = 512 * 1024
const LIMITS: StreamLimits = {
  perAccount: 8,
  perOrganization: 32,
  total: 96,
  waitMs: 10_000,
  takenWithinMs: 60_000,
}

export interface StreamLimits {
  /** The maximum of one account, in all of its organizations together. */
  perAccount: number
  perOrganization: number
  total: number
  /** How long a reader waits for its turn. */
  waitMs: number
  /** How long a reader may take for a piece. */
  takenWithinMs: number
}

interface Reader {
  accountId: string
  organizationId: string
  root: string
}

export interface Streams {
  /**
   * Sends the pieces that `open` resolves to as one answer. Throws 429 if the reader's own streams, or its
   * organization's, leave no room in time, and 503 if all streams together leave none. An error of `open` becomes an
   * answer with its own status. The signal for `open` is aborted when the answer is sent or the client has
   * disconnected.
   */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    type: string,
    open: (leaving: AbortSignal) => Promise<AsyncGenerator<string | Uint8Array>>,
  ): Promise<FastifyReply>
}

export function createStreams(limits: StreamLimits = LIMITS): Streams {
  const reading = new Set<Reader>()
  const waiting = new Set<{ reader: Reader; begin: () => void }>()

  const count = (matches: (other: Reader) => boolean) => [...reading].filter(matches).length
  const exceedsOwn = ({ accountId, organizationId, root }: Reader) =>
    count(other => other.accountId === accountId) >= limits.perAccount ||
    count(other => other.organizationId === organizationId) >= limits.perOrganization ||
    count(other => other.root === root) >= limits.total - reading.size
  const fits = (reader: Reader) => reading.size < limits.total && !exceedsOwn(reader)

  /** Waits for a turn. Readers come in their order, but pass those whose own streams are too many. */
  async function enter(reader: Reader): Promise<void> {
    if (!fits(reader)) {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(entry)
          reject(
            reading.size < limits.total && exceedsOwn(reader)
              ? new RequestError('rate-limited', 'Too many long answers are read at once: finish some first.')
              : new RequestError('unavailable', 'Too many long answers are read at once: ask again.'),
          )
        }, limits.waitMs)
        const entry = {
          reader,
          begin() {
            clearTimeout(timer)
            waiting.delete(entry)
            reading.add(reader)
            resolve()
          },
        }
        waiting.add(entry)
      })
    } else reading.add(reader)
  }

  function leave(reader: Reader): void {
    if (!reading.delete(reader)) return
    for (const entry of waiting) if (fits(entry.reader)) entry.begin()
  }

  return {
    async send(request, reply, type, open) {
      const { accountId, organizationId } = request.caller
      const reader = { accountId, organizationId, root: rootOf(organizationId) }
      await enter(reader)
      const leaving = leavingOf(reply)
      whenAborted(leaving, () => leave(reader))
      try {
        // A client that disconnected while it waited needs no answer.
        leaving.throwIfAborted()
        const pieces = await open(leaving)
        leaving.throwIfAborted()
        const stopReading = () => reply.raw.destroy()
        const timed = inTime(pieces, limits.takenWithinMs, stopReading)
        const stream = Readable.from(timed, { objectMode: false })
        return reply
          .type(type)
          .serializer((payload: unknown) => payload as string)
          .send(stream)
      } catch (error) {
        leave(reader)
        throw error
      }
    },
  }
}

/** Passes the pieces on; `onLate` is called when one is not read in time. */
async function* inTime(
  pieces: AsyncGenerator<string | Uint8Array>,
  withinMs: number,
  onLate: () => void,
): AsyncGenerator<string | Uint8Array> {
  // The socket asks for later pieces in its own async context; their statements belong to the request's.
  const inRequest = AsyncLocalStorage.snapshot()
  try {
    for (;;) {
      const next = await inRequest(() => pieces.next())
      if (next.done) return
      const timer = setTimeout(onLate, withinMs)
      try {
        yield next.value
      } finally {
        clearTimeout(timer)
      }
    }
  } finally {
    await pieces.return(undefined)
  }
}
