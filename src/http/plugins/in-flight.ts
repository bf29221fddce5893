import type { FastifyRequest } from 'fastify'
import { BusyError, createSemaphore } from '../../../fair/semaphore.ts'
import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'

/**
 * Requests of one user that are worked on; the others wait, before anything is asked about them. 1,000 at once had everybody
 * else wait for 1.3 to 1.9 s otherwise, and filled their organization's line at the database, 64, for their colleagues.
 */
export const MAX_IN_FLIGHT = 16
/** Each keeps 10 KB. Within a minute a user may send 1,200 by default. */
const MAX_WAITING = 1_200
const WAIT_MS = 10_000
const RETRY_AFTER_S = 1

declare module 'fastify' {
  interface FastifyRequest {
    /** Gives back its user's turn; null before it has one, and when it is answered. */
    leaveFlight: (() => void) | null
  }
}

/** Resolves when it is the turn of a user's request, at once where it has one. Throws 429 where none comes in time. */
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
  // What is read slowly from here on has bounds of its own.
  app.addHook('onSend', async (request, _reply, payload) => {
    leave(request)
    return payload
  })

  return async (request, userId) => {
    const { config } = request.routeOptions
    // Files and sockets are there for minutes, with bounds of their own; points are held by back-pressure.
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
