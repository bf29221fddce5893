import type { FastifyBaseLogger } from 'fastify'
import { Histogram, type Registry } from 'prom-client'
import type { Hold } from '../db/drivers/driver.ts'

/** Everybody else waits while one holds the session of the embedded database. */
const MAX_HOLD_MS = 250
const LOG_EVERY_MS = 10_000
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/**
 * Measures how long the session of the embedded database is held, and logs holds that are too long, if somebody may be waiting:
 * a first start creates tables, while nobody can.
 */
export function createHoldMetrics(
  registry: Registry,
  logger: Pick<FastifyBaseLogger, 'warn'>,
  mayWait: () => boolean,
): (hold: Hold) => void {
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ['lane'], buckets: BUCKETS, registers: [registry] })
  const seconds = histogram(
    'fieldline_database_hold_seconds',
    'Time for which one transaction, statement or step of upkeep had the session of the embedded database',
  )
  const processorSeconds = histogram(
    'fieldline_database_hold_processor_seconds',
    'Processor time that the embedded database took of it',
  )
  let loggedAt = Number.NEGATIVE_INFINITY
  return ({ lane, ms, processorMs, longest }) => {
    seconds.observe({ lane }, ms / 1000)
    processorSeconds.observe({ lane }, processorMs / 1000)
    if (ms <= MAX_HOLD_MS || !mayWait() || performance.now() - loggedAt < LOG_EVERY_MS) return
    loggedAt = performance.now()
    const statement = longest.replace(/\s+/g, ' ').slice(0, 200)
    logger.warn(
      { lane, ms: Math.round(ms), processorMs: Math.round(processorMs), statement },
      'The session of the embedded database was held for too long: everybody else waited',
    )
  }
}
