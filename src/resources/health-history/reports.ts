import type { Registry } from 'prom-client'
import type { Queryable } from '../../../db/client.ts'
import { insertReport } from '../../../db/queries/health-history.ts'
import { type Figures, NO_FIGURES } from './figures.ts'

/**
 * Every process writes one row a minute with what its metrics say, for the job that adds them up (`job.ts`). It reads the
 * metrics that it needs and no others, so nothing is counted for it while a point is on its way.
 */
const EVERY_MS = 60_000

export interface Reports {
  /** Writes a report now. */
  report(): Promise<void>
  stop(): Promise<void>
}

export function startReports(options: {
  db: Queryable
  registry: Registry
  onError: (error: unknown, doing: string) => void
}): Reports {
  const { db, registry, onError } = options
  let before: Totals = new Map()
  let running: Promise<void> | undefined

  async function write(): Promise<void> {
    const readings = await readMetrics(registry)
    const totals = totalsOf(readings)
    await insertReport(db, composeFigures(readings, totals, before))
    // After a failure the next report has the counts of both.
    before = totals
  }
  const report = () => {
    running ??= write().finally(() => {
      running = undefined
    })
    return running
  }
  const tell = () => void report().catch(error => onError(error, 'reporting the figures of this process'))
  const timer = setInterval(tell, EVERY_MS)
  timer.unref()
  tell()
  return {
    report,
    async stop() {
      clearInterval(timer)
      await running?.catch(() => {})
    },
  }
}

/** Counters: what they have grown by since the last report counts. */
const RECEIVED = 'fieldline_ingest_points_total'
const REJECTED = 'fieldline_ingest_rejected_total'
const STORED = 'fieldline_stored_total'
const FAILED = 'fieldline_store_failed_total'
const DELAYS = {
  storedDelays: 'fieldline_store_delay_seconds',
  shownDelays: 'fieldline_live_delay_seconds',
} as const
/** Gauges, and whether their values by label are added up; otherwise the largest one counts. */
const GAUGES = {
  online: { name: 'fieldline_subjects_online', isSum: true },
  waitingEntries: { name: 'fieldline_log_waiting_entries', isSum: true },
  waitingSeconds: { name: 'fieldline_log_oldest_waiting_seconds', isSum: false },
  lagRecords: { name: 'fieldline_log_lag_records', isSum: true },
  retentionSeconds: { name: 'fieldline_log_retention_seconds', isSum: false },
  jobsDue: { name: 'fieldline_jobs_due', isSum: true },
  jobsOldestSeconds: { name: 'fieldline_jobs_oldest_due_seconds', isSum: false },
  jobsFailed: { name: 'fieldline_jobs_failed', isSum: true },
  diskFreeBytes: { name: 'fieldline_data_dir_free_bytes', isSum: false },
  diskSizeBytes: { name: 'fieldline_data_dir_size_bytes', isSum: false },
} as const
/** Only a process with the role `jobs` has it. Without any job the gauges of jobs have no values: there are 0. */
const HAS_JOBS = 'fieldline_webhooks_failing'
/** With Kafka a point also waits between its acknowledgement and the database. */
const UNSTORED = 'fieldline_log_unstored_seconds'
const READ = [
  ...[RECEIVED, REJECTED, STORED, FAILED, HAS_JOBS, UNSTORED],
  ...Object.values(DELAYS),
  ...Object.values(GAUGES).map(({ name }) => name),
]

interface Reading {
  labels: Partial<Record<string, string | number>>
  value: number
  metricName?: string
}
type Readings = ReadonlyMap<string, readonly Reading[]>
/** The values of counters by their name and labels. */
type Totals = ReadonlyMap<string, number>

async function readMetrics(registry: Registry): Promise<Readings> {
  const read = READ.map(async name => {
    const metric = await registry.getSingleMetric(name)?.get()
    return [name, (metric?.values ?? []) as Reading[]] as const
  })
  return new Map(await Promise.all(read))
}

/** Each counter that grows, with a name of its own. */
function* listCounters(readings: Readings): Generator<{ key: string; value: number }> {
  for (const name of [RECEIVED, REJECTED, STORED, FAILED, ...Object.values(DELAYS)])
    for (const reading of readings.get(name) ?? [])
      if (isCounted(reading)) yield { key: keyOf(name, reading), value: reading.value }
}

/** The sum and count of a histogram are left out. */
const isCounted = ({ metricName = '' }: Reading) => !/_(sum|count)$/.test(metricName)
const keyOf = (name: string, { labels }: Reading) => `${name}${JSON.stringify(labels)}`

const totalsOf = (readings: Readings): Totals =>
  new Map([...listCounters(readings)].map(({ key, value }) => [key, value]))

function composeFigures(readings: Readings, totals: Totals, before: Totals): Figures {
  const of = (name: string) => readings.get(name) ?? []
  const grown = (name: string, reading: Reading) => {
    const key = keyOf(name, reading)
    return Math.max(0, (totals.get(key) ?? 0) - (before.get(key) ?? 0))
  }
  const sum = (name: string, wanted: Reading['labels'] = {}) =>
    of(name)
      .filter(({ labels }) => Object.entries(wanted).every(([label, value]) => labels[label] === value))
      .reduce((total, reading) => total + grown(name, reading), 0)
  const figures: Figures = {
    ...NO_FIGURES,
    received: sum(RECEIVED),
    stored: sum(STORED, { kind: 'point' }),
    failedBatches: sum(FAILED),
    rejections: {},
  }
  for (const reading of of(REJECTED)) {
    const count = grown(REJECTED, reading)
    const reason = String(reading.labels.reason)
    if (count > 0) figures.rejections[reason] = (figures.rejections[reason] ?? 0) + count
  }
  for (const [figure, name] of Object.entries(DELAYS)) {
    const buckets = of(name).filter(({ labels }) => 'le' in labels)
    // The buckets of a histogram are cumulative.
    const upTo = buckets.map(reading => grown(name, reading))
    figures[figure as keyof typeof DELAYS] = upTo.map((count, index) => count - (upTo[index - 1] ?? 0))
  }
  const hasJobs = of(HAS_JOBS).length > 0
  for (const [figure, { name, isSum }] of Object.entries(GAUGES)) {
    const values = of(name).flatMap(({ value }) => (Number.isFinite(value) ? value : []))
    const isNone = figure.startsWith('jobs') && hasJobs && values.length === 0
    if (isNone) figures[figure as keyof typeof GAUGES] = 0
    if (values.length === 0) continue
    figures[figure as keyof typeof GAUGES] = isSum
      ? values.reduce((total, value) => total + value, 0)
      : Math.max(...values)
  }
  for (const { value } of of(UNSTORED)) figures.waitingSeconds = Math.max(figures.waitingSeconds ?? 0, value)
  return figures
}
