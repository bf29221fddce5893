/** The amount that may be used at once, and how fast it is refilled. */
export interface Rate {
  atOnce: number
  perSecond: number
}

/** The budget of one socket. */
export interface Budget {
  /** Uses some of the budget. Returns whether there was enough. */
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
