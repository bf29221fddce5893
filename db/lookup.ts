import { rootOf } from '../fair/roots.ts'
import { BusyError } from '../fair/semaphore.ts'
import { currentDemand, withDemand } from './demand.ts'

/** The maximum of keys in one statement, which takes some milliseconds. */
const MAX_TOGETHER = 500
/** The maximum for one address or organization; looking up as many takes four statements. */
const MAX_WAITING = 2_000

interface Asking<Row> {
  key: string
  signal: AbortSignal | undefined
  resolve: (found: Row | null) => void
  reject: (error: unknown) => void
}

/**
 * Batches lookups: those that arrive while a statement runs go into the next one. 10,000 devices that came back at once
 * were connected after 4.4 s instead of 12.8 (embedded database, no limit on connections).
 *
 * A statement takes one key of each address or organization in turn, so that a large number of requests from one delays
 * no other. Each result was read after its request. Rejects with a BusyError if too many of the same owner wait.
 */
export function createLookup<Row>(
  list: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): (key: string) => Promise<Row | null> {
  /** The waiting lookups of each owner; the owner whose turn it is comes first. */
  const lanes = new Map<string | undefined, Asking<Row>[]>()
  let running = false

  function takeNext(): Asking<Row>[] {
    const taken: Asking<Row>[] = []
    // An owner that is put back at the end is visited again.
    for (const [owner, lane] of lanes) {
      if (taken.length === MAX_TOGETHER) break
      const asking = lane.shift()
      lanes.delete(owner)
      if (lane.length > 0) lanes.set(owner, lane)
      if (asking?.signal?.aborted) asking.reject(asking.signal.reason)
      else if (asking) taken.push(asking)
    }
    return taken
  }

  async function run(): Promise<void> {
    running = true
    while (lanes.size > 0) {
      const now = takeNext()
      if (now.length === 0) continue
      try {
        const found = await list([...new Set(now.map(({ key }) => key))])
        for (const { key, resolve } of now) resolve(found.get(key) ?? null)
      } catch (error) {
        for (const { reject } of now) reject(error)
      }
    }
    running = false
  }

  return key =>
    new Promise((resolve, reject) => {
      const { signal, owner: name } = currentDemand()
      const owner = name && rootOf(name)
      const lane = lanes.get(owner) ?? []
      if (owner !== undefined && lane.length >= MAX_WAITING) {
        return reject(new BusyError('Too many wait to be signed in from there'))
      }
      lane.push({ key, signal, resolve, reject })
      lanes.set(owner, lane)
      // Without an owner's signal: otherwise it would be cancelled when one of the callers disconnects.
      if (!running) void withDemand({ lane: 'signIn' }, run)
    })
}
