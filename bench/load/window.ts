import { setTimeout as sleep } from 'node:timers/promises'
import { Latencies, type LatencySummary } from './latencies.ts'

/** The result of a load generator. */
export interface LoadResult {
  /** Points acknowledged in the window, and its length in seconds. */
  acknowledged: number
  seconds: number
  /** All acknowledged points, also outside of the window. */
  total: number
  /** From sending to acknowledgement, in the window. */
  latency: LatencySummary
  /** Processor time of the generator itself in the window. */
  cpuSeconds: number
}

/** How long messages in flight at the end may take. */
const DRAIN_MS = 60_000

/** Counts acknowledgements in a window after a warm-up; then it requests the end and waits for the rest. */
export class Window {
  readonly #latencies = new Latencies()
  #total = 0
  #open = false
  /** Set when the generator must send nothing more. */
  stopping = false

  acknowledged(points: number, milliseconds: number): void {
    this.#total += points
    if (this.#open) this.#latencies.record(milliseconds, points)
  }

  async run(options: {
    warmUpSeconds: number
    seconds: number
    inFlight: () => number
  }): Promise<LoadResult> {
    await sleep(options.warmUpSeconds * 1000)
    const before = { at: performance.now(), total: this.#total, cpu: process.cpuUsage() }
    this.#open = true
    await sleep(options.seconds * 1000)
    this.#open = false
    const cpu = process.cpuUsage(before.cpu)
    const seconds = (performance.now() - before.at) / 1000
    const acknowledged = this.#total - before.total
    this.stopping = true
    const deadline = performance.now() + DRAIN_MS
    while (options.inFlight() > 0) {
      if (performance.now() > deadline) throw new Error(`${options.inFlight()} points are not acknowledged`)
      await sleep(10)
    }
    const cpuSeconds = (cpu.user + cpu.system) / 1e6
    return { acknowledged, seconds, total: this.#total, latency: this.#latencies.summary(), cpuSeconds }
  }
}
