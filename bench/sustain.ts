import { cpuOf, quietMoment } from './cpu.ts'
import type { LoadResult } from './load/window.ts'
import { count } from './report.ts'
import { type Checkout, type Server, startFieldline } from './server.ts'
import type { Tier } from './tiers.ts'

/** The load that a server sustains. */
export interface Sustained {
  /** Points acknowledged and stored per second. */
  rate: number
  /** Processor time of the server and its services for each point, in microseconds. */
  cpuMicroseconds: number
  /** How long storing continued after the last acknowledgement; the rate includes this time. */
  lateSeconds: number
  load: LoadResult
}

export interface Work {
  /** Prepares the server before the load. */
  before?(server: Server): Promise<void>
  load(server: Server): Promise<LoadResult>
  /** Called when everything is stored; its processor time counts. */
  after?(server: Server): Promise<void>
}

/**
 * Loads a server on a fresh database, then ends it and counts the stored points. Throws if they differ from the
 * acknowledged ones.
 */
export async function sustain(
  tier: Tier,
  options: Checkout & { patienceSeconds: number },
  { before, load, after }: Work,
): Promise<Sustained> {
  const store = await tier.fresh()
  try {
    const server = await startFieldline(options, store)
    await before?.(server)
    await quietMoment(options.patienceSeconds)
    const cpuSeconds = () => cpuOf(server.pids) + store.servicesCpu()
    const cpuBefore = cpuSeconds()
    const result = await load(server)
    const loaded = performance.now()
    await server.stored()
    const lateSeconds = (performance.now() - loaded) / 1000
    await after?.(server)
    const cpuMicroseconds = ((cpuSeconds() - cpuBefore) / result.total) * 1e6
    await server.stop()
    const stored = await store.countPoints()
    if (stored !== result.total)
      throw new Error(`${count(result.total)} points were acknowledged and ${count(stored)} are stored`)
    const rate = result.acknowledged / (result.seconds + lateSeconds)
    return { rate, cpuMicroseconds, lateSeconds, load: result }
  } finally {
    await store.remove()
  }
}
