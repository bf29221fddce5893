export interface Rate {
  /** The number of tokens in a full bucket. */
  capacity: number
  perSecond: number
}

/** A token bucket: it begins full, and refills steadily. Times are of `performance.now()`. */
export class TokenBucket {
  readonly #rate: Rate
  #tokens: number
  #at: number

  constructor(rate: Rate, now = performance.now()) {
    this.#rate = rate
    this.#tokens = rate.capacity
    this.#at = now
  }

  /** The seconds until the bucket has this number of tokens; 0 if it has them now. */
  secondsUntil(tokens: number, now = performance.now()): number {
    this.#refill(now)
    return Math.max(0, (tokens - this.#tokens) / this.#rate.perSecond)
  }

  /** Takes this number of tokens. Takes none and returns false if the bucket has fewer. */
  take(tokens = 1, now = performance.now()): boolean {
    this.#refill(now)
    if (this.#tokens < tokens) return false
    this.#tokens -= tokens
    return true
  }

  #refill(now: number): void {
    const { capacity, perSecond } = this.#rate
    this.#tokens = Math.min(capacity, this.#tokens + ((now - this.#at) / 1000) * perSecond)
    this.#at = now
  }
}
