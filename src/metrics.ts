import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import type { Queryable } from '../db/client.ts'
import type { LaneFigures } from '../db/drivers/driver.ts'
import { readJobFigures, readWebhookFigures } from '../db/queries/figures.ts'
import type { Release } from './http/release.ts'
import { RESET_MAIL_JOB } from './resources/forgotten-passwords/job.ts'

/** A database that does not answer must not delay the other metrics. */
const READ_WITHIN_MS = 2_000
/** Several scrapers, or an impatient one, cost the database no more. */
const READ_EVERY_MS = 10_000

/** The figures of Node.js, without three gauges whose names are those of counters; each is the sum of another one. */
export function observeNode(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const kind of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${kind}_total`)
}

export function observeRelease(registry: Registry, { version, commit }: Release): void {
  new Gauge({
    name: 'fieldline_build_info',
    help: 'Always 1; the labels say which release runs',
    labelNames: ['version', 'commit'],
    registers: [registry],
  }).set({ version, commit }, 1)
}

/** The connections to PostgreSQL by purpose, each beside its limit. The embedded database has none. */
export function observeLanes(registry: Registry, readLanes: () => readonly LaneFigures[]): void {
  const gauge = (name: string, help: string, read: (lane: LaneFigures) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['lane'],
      registers: [registry],
      collect() {
        for (const lane of readLanes()) this.set({ lane: lane.name }, read(lane))
      },
    })
  gauge('fieldline_database_connections', 'Open connections to PostgreSQL, by purpose', lane => lane.open)
  gauge('fieldline_database_connections_max', 'Their limit', lane => lane.max)
  gauge('fieldline_database_connections_busy', 'Those in use', lane => lane.open - lane.idle)
  gauge('fieldline_database_waiting', 'Statements that wait for one of them', lane => lane.waiting)
}

/** The background work of all organizations, as every process with the role `jobs` sees it. */
export function observeWork(registry: Registry, db: Queryable, { isPublic }: { isPublic: boolean }): void {
  const read = keep(async () => ({
    jobs: await readJobFigures(db),
    webhooks: await readWebhookFigures(db),
  }))
  const ofJobs = (name: string, help: string, figure: 'due' | 'oldestSeconds' | 'running' | 'failed') =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers: [registry],
      async collect() {
        const { jobs } = await read()
        // A kind without jobs has no row any more.
        this.reset()
        // After a forgotten password there is one only if the address has an account: strangers may not see it.
        for (const job of jobs)
          if (!isPublic || job.kind !== RESET_MAIL_JOB) this.set({ kind: job.kind }, job[figure])
      },
    })
  ofJobs('fieldline_jobs_due', 'Jobs whose time has come and that nobody runs yet, by kind', 'due')
  ofJobs('fieldline_jobs_oldest_due_seconds', 'How long the oldest of them has been waiting', 'oldestSeconds')
  ofJobs('fieldline_jobs_running', 'Jobs that run', 'running')
  ofJobs('fieldline_jobs_failed', 'Jobs that failed for good within the last day', 'failed')
  const ofWebhooks = (name: string, help: string, figure: 'pending' | 'failing' | 'disabled') =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set((await read()).webhooks[figure])
      },
    })
  ofWebhooks('fieldline_webhook_deliveries_pending', 'Deliveries that have not arrived yet', 'pending')
  ofWebhooks('fieldline_webhooks_failing', 'Webhooks whose deliveries fail and are tried again', 'failing')
  ofWebhooks('fieldline_webhooks_disabled', 'Webhooks that are switched off', 'disabled')
}

const NOTHING = { jobs: [], webhooks: { pending: Number.NaN, failing: Number.NaN, disabled: Number.NaN } }

/** Reads at most once in a while. Where there is no answer in time, it is unknown. */
function keep<T>(read: () => Promise<T>): () => Promise<T | typeof NOTHING> {
  let readAt = Number.NEGATIVE_INFINITY
  let last: Promise<T | typeof NOTHING> | undefined
  return () => {
    if (last && performance.now() - readAt < READ_EVERY_MS) return last
    readAt = performance.now()
    const late = new Promise<typeof NOTHING>(resolve => {
      setTimeout(resolve, READ_WITHIN_MS, NOTHING).unref()
    })
    last = Promise.race([read().catch(() => NOTHING), late])
    return last
  }
}
