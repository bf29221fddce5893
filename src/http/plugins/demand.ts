import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { type Demand, withDemand } from '../../../db/demand.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether it reads much, so that its statements run in a lane of their own. Every list does. */
    heavy?: boolean
  }
  interface FastifyRequest {
    demand: Demand
  }
}

/** The client has disconnected. nginx calls this 499; it is never sent. */
class CallerGone extends Error {
  readonly statusCode = 499
}

/**
 * Runs every statement of a request on behalf of its caller: it takes turns among its organization's statements and
 * stops with the answer. Reads stop when the client disconnects. Writes go on, since their answer may be stored for a
 * repeated request.
 */
export function addDemand(app: Pick<FastifyInstance, 'addHook' | 'decorateRequest'>): void {
  app.decorateRequest('demand')

  app.addHook('onRoute', route => {
    route.config = { ...route.config, heavy: route.config?.heavy ?? isList(route) }
  })

  app.addHook('onRequest', (request, reply, done) => {
    const demand: Demand = {
      lane: request.routeOptions.config.heavy ? 'reading' : 'requests',
      owner: request.ip,
    }
    if (request.method === 'GET') {
      const leaving = new AbortController()
      demand.signal = leaving.signal
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) leaving.abort(new CallerGone('The caller has gone'))
      })
    }
    request.demand = demand
    withDemand(demand, done)
  })

  // A body ends in the async context of its socket, so the context of the request is set again here. The caller is
  // known by now.
  app.addHook('preValidation', (request: FastifyRequest, _reply, done) => {
    request.demand.owner = request.publisher?.organizationId ?? request.ip
    withDemand(request.demand, done)
  })
}

function isList({ method, schema }: RouteOptions): boolean {
  const query = schema?.querystring as { shape?: { limit?: unknown } } | undefined
  return method === 'GET' && query?.shape?.limit !== undefined
}
