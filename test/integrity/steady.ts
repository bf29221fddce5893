import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { residentMiB } from '../services/processes.ts'
import { signIn } from '../support/client.ts'
import { pause } from '../support/wait.ts'
import { checkHistories, type Report } from './checker.ts'
import { countAcknowledged, startPublishers } from './publisher.ts'
import type { Deployment } from './rounds.ts'

export interface SteadyOptions {
  minutes: number
  devices: number
  /** Points a second of all devices; unset, half of the rate that they reach in a first minute. */
  rate?: number
  log?: (line: string) => void
}

/** A measurement that hours of even load must not change. */
export interface Gauge {
  name: string
  /** `acknowledged` is the number of points so far. */
  read(acknowledged: number): number | Promise<number>
  /** The upper bound at the end for a given value at the beginning. */
  bound(first: number): number
}

export interface SteadyRow {
  what: string
  first: number
  last: number
  growth: number
  atMost: number
  kept: boolean
}

const LOOK_MS = 5_000
const MAXIMUM_OVER_MS = 30_000
const MIB = 1024 * 1024

/**
 * Devices publish evenly, at half of the maximum rate. The median of each gauge over the first quarter of the time is
 * compared with its median over the last quarter. At the end every acknowledged point is looked for.
 */
export async function runSteadyOn(
  deployment: Deployment,
  gauges: readonly Gauge[],
  options: SteadyOptions,
): Promise<{ rows: SteadyRow[]; report: Report }> {
  const { log = () => {} } = options
  const owner = await signIn(deployment)
  const delays: number[] = []
  const publishers = await startPublishers(owner, () => deployment.mqttPort, options.devices, {
    onAcknowledged: ms => delays.push(ms),
  })
  const rate = options.rate ?? (await measureMaximum(() => countAcknowledged(publishers))) / 2
  log(`${Math.round(rate)} points a second`)
  // Under load a writer is always a little behind, so the publishers pause first.
  for (const publisher of publishers) publisher.pace(0)
  await deployment.settle()
  for (const publisher of publishers) publisher.pace(rate / publishers.length)

  const all: Gauge[] = [
    ...deployment.processes().flatMap(process => gaugesOfProcess(process)),
    ...gauges,
    // The bound leaves room for the delays of a busy machine.
    { name: 'acknowledged after, median, ms', read: () => at(delays, 0.5), bound: first => first * 1.5 + 5 },
    {
      name: 'acknowledged after, 99 of 100, ms',
      read: () => at(delays, 0.99),
      bound: first => first * 2 + 50,
    },
  ]
  // The gauges of bytes a point count from here.
  for (const gauge of all) await gauge.read(countAcknowledged(publishers))
  const seen = all.map((): number[] => [])
  const counts: { at: number; acknowledged: number }[] = []
  const end = Date.now() + options.minutes * 60_000
  while (Date.now() < end) {
    delays.length = 0
    await pause(LOOK_MS)
    const acknowledged = countAcknowledged(publishers)
    counts.push({ at: Date.now(), acknowledged })
    delays.sort((one, other) => one - other)
    for (const [index, gauge] of all.entries()) seen[index]?.push(await gauge.read(acknowledged))
  }
  const rows = all.map((gauge, index) => toRow(gauge, seen[index] as number[]))
  rows.push(toRateRow(counts, rate))

  await Promise.all(publishers.map(publisher => publisher.finish()))
  await deployment.settle()
  const report = await checkHistories(owner, publishers)
  await deployment.stop()
  return { rows, report }
}

async function measureMaximum(count: () => number): Promise<number> {
  await pause(MAXIMUM_OVER_MS)
  const [begun, before] = [performance.now(), count()]
  await pause(MAXIMUM_OVER_MS)
  return ((count() - before) * 1000) / (performance.now() - begun)
}

function toRow({ name, bound }: Gauge, values: readonly number[]): SteadyRow {
  const quarter = Math.max(1, Math.floor(values.length / 4))
  const [first, last] = [median(values.slice(0, quarter)), median(values.slice(-quarter))]
  return toResult(name, first, last, bound(first), last <= bound(first))
}

/** The rate that was taken: if something piles up, it falls under an even load. */
function toRateRow(counts: readonly { at: number; acknowledged: number }[], rate: number): SteadyRow {
  const quarter = Math.max(1, Math.floor(counts.length / 4))
  const rateOver = (part: typeof counts) => {
    const [begin, end] = [part[0], part.at(-1)]
    if (!begin || !end || begin === end) return rate
    return ((end.acknowledged - begin.acknowledged) * 1000) / (end.at - begin.at)
  }
  const [first, last] = [rateOver(counts.slice(0, quarter + 1)), rateOver(counts.slice(-quarter - 1))]
  return toResult('points a second', first, last, Number.POSITIVE_INFINITY, last >= rate * 0.9)
}

const toResult = (what: string, first: number, last: number, atMost: number, kept: boolean): SteadyRow => {
  const round = (value: number) => Math.round(value * 10) / 10
  return {
    what,
    first: round(first),
    last: round(last),
    growth: round(last - first),
    atMost: round(atMost),
    kept,
  }
}

const median = (values: readonly number[]) =>
  at(
    [...values].sort((one, other) => one - other),
    0.5,
  )

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? 0

/** A heap grows until its next collection. */
function gaugesOfProcess({ name, pid }: { name: string; pid: number }): Gauge[] {
  return [
    { name: `${name}: memory, MiB`, read: () => residentMiB(pid), bound: first => first * 1.15 + 50 },
    {
      name: `${name}: open files`,
      read: () => readdirSync(`/proc/${pid}/fd`).length,
      bound: first => first + 20,
    },
  ]
}

/** Stored bytes a point. The total grows with the points, but a point must not take more and more. Files grow in steps. */
function perPoint(name: string, readBytes: () => number | Promise<number>): Gauge {
  let begun: { bytes: number; acknowledged: number } | undefined
  return {
    name: `${name}: bytes a point`,
    async read(acknowledged) {
      const bytes = await readBytes()
      begun ??= { bytes, acknowledged }
      return (bytes - begun.bytes) / Math.max(1, acknowledged - begun.acknowledged)
    },
    bound: first => first * 1.5,
  }
}

/** A checkpoint comes every 64 MiB (db/drivers/pglite-upkeep.ts), and PostgreSQL keeps 80 MiB to overwrite. */
const EMBEDDED_LOG_MIB = 256

export function gaugesOfEmbedded(dataDir: string): Gauge[] {
  const directory = join(dataDir, 'postgres')
  return [
    {
      name: 'write-ahead log, MiB',
      read: () => bytesIn(join(directory, 'pg_wal')) / MIB,
      bound: first => Math.max(first * 1.1, EMBEDDED_LOG_MIB),
    },
    perPoint('the database', () => bytesIn(join(directory, 'base'))),
  ]
}

/** `max_wal_size`, and the log that a running checkpoint adds. */
const POSTGRES_LOG_MIB = 1536

export function gaugesOfPostgres(url: string): Gauge[] {
  // Opens a connection for each reading: a permanent one would end when its server is killed.
  async function read(text: string): Promise<number> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return Number((await client.query(text)).rows[0].value)
    } finally {
      await client.end()
    }
  }
  return [
    {
      // Autovacuum starts at a fifth of a table that is updated in place.
      name: 'dead rows',
      read: () => read('SELECT coalesce(sum(n_dead_tup), 0) AS value FROM pg_stat_user_tables'),
      bound: first => first * 2 + 20_000,
    },
    {
      name: 'write-ahead log, MiB',
      read: async () => (await read('SELECT sum(size) AS value FROM pg_ls_waldir()')) / MIB,
      bound: first => Math.max(first * 1.1, POSTGRES_LOG_MIB),
    },
    {
      // A new week may begin during the run.
      name: 'partitions',
      read: () => read('SELECT count(*) AS value FROM pg_inherits'),
      bound: first => first + 2,
    },
    {
      name: 'sessions',
      read: () => read('SELECT count(*) AS value FROM pg_stat_activity'),
      bound: first => first + 5,
    },
    perPoint('the database', () => read('SELECT pg_database_size(current_database()) AS value')),
  ]
}

export const gaugesOfKafka = (folder: string): Gauge[] => [perPoint('Kafka', () => bytesIn(folder))]

/** The disk space of its files. Some of it is allocated and not written yet. */
function bytesIn(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    // A file may be deleted while the list is read.
    bytes += (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) * 512
  }
  return bytes
}
