import { rootOf } from '../../db/roots.ts'
import { MAX_CREDENTIAL_ENTRIES, MAX_TENANT_ENTRIES } from './limits.ts'

/** What of one credential waits for the log, over all its connections, those that have closed among them. */
export interface Tenant {
  /** Whether so much waits of it, or of its organization, that no more of it is read; it stays so until half has gone. */
  readonly over: boolean
  /** Entries begin to wait or, negative, have ceased to. */
  add(entries: number): void
  /** Calls `wake` once when what is over has become less. */
  wait(wake: () => void): void
}

export interface Tenants {
  of(publisher: { id: string; organizationId: string }): Tenant
}

/**
 * The log has room for so much in all: one root of organizations that fills it would hold up every other, and one credential
 * the others of its organization.
 */
export function createTenants(): Tenants {
  const roots = createShares(MAX_TENANT_ENTRIES)
  const credentials = createShares(MAX_CREDENTIAL_ENTRIES)
  return {
    of({ id, organizationId }) {
      const root = rootOf(organizationId)
      return {
        get over() {
          return credentials.isOver(id) || roots.isOver(root)
        },
        add(entries) {
          roots.add(root, entries)
          credentials.add(id, entries)
        },
        wait(wake) {
          if (credentials.isOver(id)) credentials.wait(id, wake)
          else roots.wait(root, wake)
        },
      }
    },
  }
}

interface Share {
  entries: number
  over: boolean
  waiting: (() => void)[]
}

/** Of each of them up to `max` entries may wait. Only those of which something waits are remembered. */
function createShares(max: number) {
  const shares = new Map<string, Share>()
  return {
    isOver: (id: string) => shares.get(id)?.over ?? false,

    add(id: string, change: number): void {
      const share = shares.get(id) ?? { entries: 0, over: false, waiting: [] }
      share.entries += change
      if (share.entries > 0) shares.set(id, share)
      else shares.delete(id)
      share.over = share.entries > (share.over ? max / 2 : max)
      if (!share.over) for (const wake of share.waiting.splice(0)) wake()
    },

    wait(id: string, wake: () => void): void {
      shares.get(id)?.waiting.push(wake)
    },
  }
}
