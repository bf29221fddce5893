import type { Database } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import {
  foldReference,
  listDevicesByReference,
  type ReferencedDevice,
} from '../../db/queries/device-references.ts'

/**
 * The devices of an organization by their references. A reference that was found is remembered for a few seconds, so
 * that points of a busy connection wait for no query, and forgotten at once when a device of the organization changes
 * in this process's view.
 */
export interface References {
  /** By the folded reference; what no device has is left out. */
  find(organizationId: string, references: readonly string[]): Promise<ReadonlyMap<string, ReferencedDevice>>
  close(): void
}

/** A device that loses its reference gets points of it for as long. */
const KEPT_MS = 5_000
/** Each takes about 300 bytes. */
const MAX_KEPT = 100_000

export function createReferences(db: Database): References {
  let recent = new Map<string, ReferencedDevice>()
  let former: typeof recent = new Map()
  const turn = () => {
    former = recent
    recent = new Map()
  }
  const forget = () => {
    former = new Map()
    recent = new Map()
  }
  const timer = setInterval(turn, KEPT_MS / 2)
  const stopListening = db.onChange(({ kind }) => {
    if (kind === 'device' || kind === 'organization' || kind === 'resync') forget()
  })
  return {
    async find(organizationId, references) {
      const found = new Map<string, ReferencedDevice>()
      const asked = new Set<string>()
      for (const reference of references) {
        const folded = foldReference(reference)
        const key = `${organizationId} ${folded}`
        const device = recent.get(key) ?? former.get(key)
        if (device) found.set(folded, device)
        else asked.add(folded)
      }
      if (asked.size === 0) return found
      // Without the sender's signal: one that hangs up must not end the query of the others.
      const read = await withDemand({ lane: 'reading', owner: organizationId }, () =>
        db.tenant(organizationId, tx => listDevicesByReference(tx, organizationId, [...asked])),
      )
      for (const [folded, device] of read) {
        found.set(folded, device)
        if (recent.size >= MAX_KEPT) turn()
        recent.set(`${organizationId} ${folded}`, device)
      }
      return found
    },
    close() {
      clearInterval(timer)
      stopListening()
    },
  }
}
