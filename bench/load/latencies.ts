/** Latencies in buckets that grow by 5 %, so that recording one costs an addition. */
const FIRST_MS = 0.01
const GROWTH = Math.log(1.05)
const BUCKETS = 400

export interface LatencySummary {
  /** Milliseconds, to 5 %. */
  p50: number
  p99: number
  max: number
}

export class Latencies {
  readonly #counts = new Float64Array(BUCKETS)
  #total = 0
  #max = 0

  record(milliseconds: number, count = 1): void {
    const bucket = milliseconds <= FIRST_MS ? 0 : (Math.log(milliseconds / FIRST_MS) / GROWTH) | 0
    const index = bucket < BUCKETS ? bucket : BUCKETS - 1
    this.#counts[index] = (this.#counts[index] as number) + count
    this.#total += count
    if (milliseconds > this.#max) this.#max = milliseconds
  }

  summary(): LatencySummary {
    return { p50: this.#quantile(0.5), p99: this.#quantile(0.99), max: this.#max }
  }

  #quantile(share: number): number {
    let seen = 0
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count
      if (seen >= share * this.#total) return FIRST_MS * Math.exp((bucket + 1) * GROWTH)
    }
    return 0
  }
}
