import type { FastifyRequest } from 'fastify'
import { BusyError, createSemaphore } from '../../../fair/semaphore.ts'
import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'

/**
 * Requests of one user that are processed at the same time; the others wait, before any query. Without it, 1,000 at
 * once made everybody else wait for 1.3 to 1.9 s, and filled their organization's queue at the database, 64, for their
 * colleagues.
 */
export const MAX_IN_FLIGHT = 16
/** Each takes 10 KB. By default a user may send 1,200 within a minute. */
const MAX_WAITING = 1_200
const WAIT_MS = 10_000
const RETRY_AFTER_S = 1

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the user's turn; null before the request has one, and after it is answered. */
    leaveFlight: (() => void) | null
  }
}

/**
 * Resolves when it is the turn of a user's request, at once if it already has one. Throws 429 if its turn does not come
 * in time.
 */
export type EnterFlight = (request: FastifyRequest, userId: string) => Promise<void>

export function addInFlight(app: App): EnterFlight {
  const semaphore = createSemaphore({
    max: Number.POSITIVE_INFINITY,
    maxPerRoot: MAX_IN_FLIGHT,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
  })
  const leave = (request: FastifyRequest) => {
    request.leaveFlight?.()
    request.leaveFlight = null
  }

  app.decorateRequest('leaveFlight', null)
  // An answer that is read slowly has limits of its own.
  app.addHook('onSend', async (request, _reply, payload) => {
    leave(request)
    return payload
  })

  return async (request, userId) => {
    const { config } = request.routeOptions
    // Files and sockets stay for minutes and have limits of their own; points are held back by back-pressure.
    if (request.leaveFlight || config.upload || config.upgrade || config.role === 'ingest') return
    try {
      request.leaveFlight = await semaphore.acquire(userId, { signal: request.demand.signal })
    } catch (error) {
      if (!(error instanceof BusyError)) throw error
      const message =
        'Too many of your requests are under way. Wait for some of them, and send this one again.'
      throw new RequestError('rate-limited', message, {}, RETRY_AFTER_S)
    }
  }
}
