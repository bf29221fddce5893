import type { Database } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import { isDuplicate, isTransient } from '../../db/errors.ts'
import type { ReferencedDevice } from '../../db/queries/device-references.ts'
import { keepUnknown, type UnknownReference } from '../../db/queries/unknown-references.ts'
import { type ConnectionCredential, createDeviceKey } from '../identity/authenticate.ts'

/** Keeps what comes from references that no device has, or creates their devices. */
export interface Unknowns {
  /** Resolves, when it is kept, to the devices of those that have one after all, by the folded reference. */
  keep(
    connection: ConnectionCredential,
    references: readonly UnknownReference[],
  ): Promise<ReadonlyMap<string, ReferencedDevice>>
}

/**
 * The references of one transaction. Nobody else has a turn at the embedded database meanwhile: 100 new references with
 * a point each take about 15 ms.
 */
const TOGETHER = 100
const ATTEMPTS = 5

export function createUnknowns(db: Database): Unknowns {
  // One transaction at a time, so that unknown references of many connections hold up neither points nor requests.
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work, work)
    last = done.catch(() => {})
    return done
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
    async keep(connection, references) {
      const known = new Map<string, ReferencedDevice>()
      for (let from = 0; from < references.length; from += TOGETHER) {
        const some = references.slice(from, from + TOGETHER)
        const found = await inTurn(() => keepSome(connection, some))
        for (const [folded, device] of found) known.set(folded, device)
      }
      return known
    },
  }
}
