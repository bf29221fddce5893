import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * On whose behalf statements run, so that what is slow hurts only who asked for it. It follows the flow of whoever asks
 * (a request, a job) to the connections, without every query having to pass it on.
 */
export interface Demand {
  lane: Lane
  /** Who shares the lane fairly with others: an organization, or an address where nobody is signed in. */
  owner?: string | undefined
  /** Ends the statement that runs, and takes back what waits. */
  signal?: AbortSignal | undefined
}

/**
 * Connections apart from each other: checking credentials, the usual requests, heavy reads (lists, searches, the
 * history), and jobs. The writer has its own beside them.
 */
export type Lane = 'signIn' | 'requests' | 'reading' | 'background'

const current = new AsyncLocalStorage<Demand>()

/** Runs `work`, and all that it starts, on behalf of `demand`. */
export function withDemand<T>(demand: Demand, work: () => T): T {
  return current.run(demand, work)
}

export function currentDemand(): Demand {
  return current.getStore() ?? { lane: 'requests' }
}
