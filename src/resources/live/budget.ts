/** What may be used at once, and how it comes back. */
export interface Rate {
  atOnce: number
  perSecond: number
}

/** A budget of one socket. */
export interface Budget {
  /** Uses some of it. Returns whether there was enough. */
  use(amount: number): boolean
}

export function createBudget({ atOnce, perSecond }: Rate): Budget {
  let left = atOnce
  let at = performance.now()
  return {
    use(amount) {
      const now = performance.now()
      left = Math.min(atOnce, left + ((now - at) / 1000) * perSecond) - amount
      at = now
      return left >= 0
    },
  }
}
