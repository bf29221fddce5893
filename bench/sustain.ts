import { cpuOf, quietMoment } from './cpu.ts'
import type { LoadResult } from './load/window.ts'
import { count } from './report.ts'
import { type Checkout, type Server, startFieldline } from './server.ts'
import type { Tier } from './tiers.ts'

/** What a server keeps up with. */
export interface Sustained {
  /** Points acknowledged and stored a second. */
  rate: number
  /** Processor time of the server and the services behind it for a point, in microseconds. */
  cpuMicroseconds: number
  /** How long storing took after the last was acknowledged: not sustained unless it is counted in the rate, as it is. */
  lateSeconds: number
  load: LoadResult
}

export interface Work {
  /** What the server needs before it is loaded. */
  before?(server: Server): Promise<void>
  load(server: Server): Promise<LoadResult>
  /** When everything is stored; its processor time counts. */
  after?(server: Server): Promise<void>
}

/** Loads a server on a fresh database, then ends it and counts what is stored. Throws where that is not what was acknowledged. */
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
