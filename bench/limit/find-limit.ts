import { quietMoment } from '../cpu.ts'
import { inProcess } from '../load/run-process.ts'
import { count, progress } from '../report.ts'
import type { Tier } from '../tiers.ts'
import { FORMS, type LimitOrder, type LimitResult } from './statements.ts'

/** How the fastest statement of a tier is run. */
export type Way = Pick<LimitOrder, 'form' | 'connections' | 'rows'>

/** The speed of the tier's database without a service around it. */
export interface Limit {
  /** Rows per second. */
  rate: number
  /** Processor time of the database and of the sender of the rows, in microseconds. */
  cpuMicroseconds: number
}

const ROWS = [2_000, 8_000]
const TRIAL_SECONDS = 2

/** Tries the statements, batch sizes and numbers of connections, and returns the fastest way. */
export async function findLimit(tier: Tier, patienceSeconds: number): Promise<Way> {
  let best: { way: Way; rate: number } | undefined
  const connections = tier.name === 'embedded' ? [1] : [1, 2, 4]
  const ways = FORMS.flatMap(form =>
    connections.flatMap(number => ROWS.map(rows => ({ form, connections: number, rows }))),
  )
  for (const way of ways) {
    await quietMoment(patienceSeconds)
    const { rate } = await measureLimit(tier, way, { warmUpSeconds: 1, seconds: TRIAL_SECONDS })
    progress(`${describeWay(way)}: ${count(rate)} rows/s`)
    if (!best || rate > best.rate) best = { way, rate }
  }
  return (best as { way: Way }).way
}

/** Throws if the table does not hold all inserted rows. */
export async function measureLimit(
  tier: Tier,
  way: Way,
  times: { warmUpSeconds: number; seconds: number },
): Promise<Limit> {
  const store = await tier.fresh()
  try {
    const module = tier.name === 'embedded' ? 'pglite.ts' : 'postgres.ts'
    const order: LimitOrder = { url: store.url, directory: store.directory, ...way, ...times }
    const before = store.servicesCpu()
    const result = await inProcess<LimitResult>(new URL(module, import.meta.url), order)
    const cpuSeconds = store.servicesCpu() - before + result.cpuSeconds
    const stored = await store.countPoints()
    if (stored !== result.total)
      throw new Error(`${result.total} rows were inserted and ${stored} are stored`)
    return { rate: result.rows / result.seconds, cpuMicroseconds: (cpuSeconds / result.total) * 1e6 }
  } finally {
    await store.remove()
  }
}

export function describeWay({ form, connections, rows }: Way): string {
  return `${form}, ${connections === 1 ? 'one connection' : `${connections} connections`}, ${rows} rows`
}
