import type { FastifyReply } from 'fastify'
import { RequestError } from './errors.ts'

/** Aborted when the answer is sent, or the caller has gone. */
export function leavingOf({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController()
  const leave = () => leaving.abort(new RequestError('unavailable', 'The caller has gone.'))
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  return leaving.signal
}

/** Does it when the signal is aborted, or now where it is already. */
export function whenAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act, { once: true })
}
