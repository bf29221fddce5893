import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The caller for whom statements run, so that slow ones affect only that caller. It follows the async context of a
 * request or job to the connections, so that no query has to pass it on.
 */
export interface Demand {
  lane: Lane
  /** The owner that takes turns with others in the lane: an organization, or an address where nobody is signed in. */
  owner?: string | undefined
  /** Cancels the running statement, and withdraws waiting ones. */
  signal?: AbortSignal | undefined
}

/**
 * Separate groups of connections: checking credentials, usual requests, heavy reads (lists, searches, the history), and
 * jobs. The writer has its own as well.
 */
export type Lane = 'signIn' | 'requests' | 'reading' | 'background'

const current = new AsyncLocalStorage<Demand>()

/** Runs `work`, and everything that it starts, for `demand`. */
export function withDemand<T>(demand: Demand, work: () => T): T {
  return current.run(demand, work)
}

export function currentDemand(): Demand {
  return current.getStore() ?? { lane: 'requests' }
}
