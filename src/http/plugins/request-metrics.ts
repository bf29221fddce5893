import { Counter, Histogram, type Registry } from 'prom-client'
import type { App } from '../../services.ts'

/** Requests to addresses that nothing answers, which strangers could make up without end. */
const NO_ROUTE = 'none'

/**
 * Counts answers by route and status, and measures how long they took. A series for each route and status with its
 * buckets would be tens of thousands, so the time is by the class of the status alone.
 */
export function addRequestMetrics(app: App, registry: Registry): void {
  const registers = [registry]
  const requests = new Counter({
    name: 'fieldline_http_requests_total',
    help: 'Answered requests, by method, route and status',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'fieldline_http_request_duration_seconds',
    help: 'Time from the headers of a request to the last byte of its answer, by the first digit of the status',
    labelNames: ['status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions } = request
    const { statusCode: status, elapsedTime } = reply
    requests.inc({ method, route: routeOptions.url ?? NO_ROUTE, status })
    seconds.observe({ status: `${Math.floor(status / 100)}xx` }, elapsedTime / 1_000)
  })
}
