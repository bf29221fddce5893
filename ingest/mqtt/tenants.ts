import { rootOf } from '../../fair/roots.ts'
import { isOver } from '../../fair/watermark.ts'
import { MAX_CREDENTIAL_ENTRIES, MAX_TENANT_ENTRIES } from './limits.ts'

/** Counts the entries of one credential that wait for the log, over all its connections, including closed ones. */
export interface Tenant {
  /** Whether too many entries of it or its organization wait to read more. It stays true until half of them are stored. */
  readonly over: boolean
  /** Counts entries that begin to wait or, with a negative number, that stop waiting. */
  add(entries: number): void
  /** Calls `wake` once, when the exceeded limit is no longer exceeded. */
  wait(wake: () => void): void
}

export interface Tenants {
  of(publisher: { id: string; organizationId: string }): Tenant
}

/**
 * The log has limited room. Without shares one root of organizations could fill it and block all others, and one
 * credential could block the others of its organization.
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

/** Allows up to `max` waiting entries for each id. Only ids with waiting entries are remembered. */
function createShares(max: number) {
  const shares = new Map<string, Share>()
  return {
    isOver: (id: string) => shares.get(id)?.over ?? false,

    add(id: string, change: number): void {
      const share = shares.get(id) ?? { entries: 0, over: false, waiting: [] }
      share.entries += change
      if (share.entries > 0) shares.set(id, share)
      else shares.delete(id)
      share.over = isOver(share.over, share.entries, max)
      if (!share.over) for (const wake of share.waiting.splice(0)) wake()
    },

    wait(id: string, wake: () => void): void {
      shares.get(id)?.waiting.push(wake)
    },
  }
}
