import type { Database } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import { isDuplicate, isTransient } from '../../db/errors.ts'
import type { ReferencedDevice } from '../../db/queries/device-references.ts'
import { keepUnknown, type UnknownReference } from '../../db/queries/unknown-references.ts'
import { createSemaphore } from '../../fair/semaphore.ts'
import { type ConnectionCredential, createDeviceKey } from '../identity/authenticate.ts'

/** Keeps what comes from references that no device has, or creates their devices. */
export interface Unknowns {
  /** Resolves, when it is kept, to the devices of those that have one after all, by the folded reference. */
  keep(
    connection: ConnectionCredential,
    references: readonly UnknownReference[],
    sender: { readonly ended: boolean },
  ): Promise<ReadonlyMap<string, ReferencedDevice>>
}

/**
 * The references of one transaction. Nobody else has a turn at the embedded database meanwhile: 100 new references with
 * a point each take about 15 ms.
 */
const TOGETHER = 100
const ATTEMPTS = 5
/** Messages of an organization that wait for their turn; each holds its payload. */
const MAX_WAITING = 200
const WAIT_MS = 60_000

export function createUnknowns(db: Database): Unknowns {
  // One transaction at a time, so that unknown references of many connections hold up neither points nor requests.
  // Organizations take turns, and one whose line is full is told to send again.
  const turns = createSemaphore({ max: 1, maxPerRoot: 1, maxWaiting: MAX_WAITING, waitMs: WAIT_MS })

  async function inTurn<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const end = await turns.acquire(owner)
    try {
      return await work()
    } finally {
      end()
    }
  }

  async function keepSome(
    { id: connectionId, organizationId }: ConnectionCredential,
    some: readonly UnknownReference[],
  ): Promise<ReadonlyMap<string, ReferencedDevice>> {
    for (let attempt = 1; ; attempt++) {
      try {
        const known = await withDemand({ lane: 'background', owner: organizationId }, () =>
          db.tenant(organizationId, tx =>
            keepUnknown(tx, { organizationId, connectionId }, some, () => createDeviceKey().hash),
          ),
        )
        if (known === null) throw new Error('The connection is gone')
        return known
      } catch (error) {
        // Another process has given a device one of the references at the same moment.
        if (attempt === ATTEMPTS || !(isDuplicate(error) || isTransient(error))) throw error
      }
    }
  }

  return {
    async keep(connection, references, sender) {
      const known = new Map<string, ReferencedDevice>()
      for (let from = 0; from < references.length; from += TOGETHER) {
        const some = references.slice(from, from + TOGETHER)
        const found = await inTurn(connection.organizationId, async () => {
          // Nobody waits for the answer any more.
          if (sender.ended) throw new Error('The sender has gone')
          return keepSome(connection, some)
        })
        for (const [folded, device] of found) known.set(folded, device)
      }
      return known
    },
  }
}
