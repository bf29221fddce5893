import type { FastifyReply } from 'fastify'
import { RequestError } from './errors.ts'

/** A signal that is aborted when the answer is sent or the client has disconnected. */
export function leavingOf({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController()
  const leave = () => leaving.abort(new RequestError('unavailable', 'The caller has gone.'))
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  return leaving.signal
}

/** Calls `act` when the signal is aborted, or at once if it already is. */
export function whenAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act, { once: true })
}
