import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { type Demand, withDemand } from '../../../db/demand.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether it reads much, so that its statements run beside the usual ones. Every list does. */
    heavy?: boolean
  }
  interface FastifyRequest {
    demand: Demand
  }
}

/** Nobody is left to answer; 499 is what nginx calls it, and it is never sent. */
class CallerGone extends Error {
  readonly statusCode = 499
}

/**
 * Has every statement of a request run on behalf of its caller: among its organization's, and not beyond its answer. What
 * reads stops when the caller hangs up. What writes goes on, since its answer may be kept for the same request again.
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

  // A body ends in the flow of its socket, so the flow of the request begins anew here; and who calls is known now.
  app.addHook('preValidation', (request: FastifyRequest, _reply, done) => {
    request.demand.owner = request.publisher?.organizationId ?? request.ip
    withDemand(request.demand, done)
  })
}

function isList({ method, schema }: RouteOptions): boolean {
  const query = schema?.querystring as { shape?: { limit?: unknown } } | undefined
  return method === 'GET' && query?.shape?.limit !== undefined
}
