import { rootOf } from '../../fair/roots.ts'

/**
 * Places for files that arrive; each file takes minutes. A slow sender keeps its place as long as nobody else wants it,
 * and then loses it to the next one. Otherwise a few connections that send a byte now and then would keep everybody's
 * files out.
 *
 * When another account wants a place, the required speed rises with the time that the place has been held: after
 * `graceMs` it is twice `bytesPerS`, then three times. So a small file arrives on any line and a large one on a fast
 * line, and nobody holds a place for long with little data: 17 KiB/s for a minute, 256 KiB/s for ten. The grace that an
 * account has used up is missing in its next place as well, until as much time has passed: opening a new connection
 * gains nothing.
 *
 * However fast it is, an account with several places loses one to a colleague who has none, and a root of organizations
 * (fair/roots.ts) loses one to another root. A root may use up to half of the places that the others leave.
 */
export interface UploadPlaces {
  /**
   * A place for a sender, or null if there is none; its account and its organization each have a maximum. `end` is
   * called when another sender takes the place.
   */
  take(by: Sender, end: () => void): UploadPlace | null
}

export interface UploadPlace {
  /** Counts bytes that have arrived. */
  add(bytes: number): void
  giveBack(): void
}

interface Sender {
  accountId: string
  organizationId: string
}

interface Held extends Sender {
  root: string
  end: () => void
  /** The start of the time for which it counts as held. */
  begun: number
  /** Until then it is fast enough, if its own account wants the place, or if others do. */
  paidUntil: { own: number; others: number }
}

/** The grace and time that an account had used up in its places at a moment; they recover as time passes. */
interface Used {
  at: number
  graceMs: number
  heldMs: number
}

/** Remembered accounts; those that gave a place back last. */
const MAX_REMEMBERED = 1_000

export function createUploadPlaces({
  max,
  maxPerOrganization,
  maxPerAccount,
  bytesPerS,
  graceMs,
}: {
  max: number
  maxPerOrganization: number
  maxPerAccount: number
  /** A sender that is slower than this makes room for others, at first. */
  bytesPerS: number
  /** How long a sender may send nothing, at first and after it was faster. It can fall behind by as much at most. */
  graceMs: number
}): UploadPlaces {
  const all = new Set<Held>()
  const used = new Map<string, Used>()

  function usedBy(accountId: string, now: number): Used {
    const { at, ...before } = used.get(accountId) ?? { at: now, graceMs, heldMs: 0 }
    return {
      at: now,
      graceMs: Math.min(before.graceMs + now - at, graceMs),
      heldMs: Math.max(before.heldMs - (now - at), 0),
    }
  }

  function giveBack(held: Held): void {
    if (!all.delete(held)) return
    const now = performance.now()
    const before = usedBy(held.accountId, now)
    used.delete(held.accountId)
    used.set(held.accountId, {
      at: now,
      graceMs: Math.max(Math.min(before.graceMs, held.paidUntil.others - now), -graceMs),
      heldMs: Math.max(before.heldMs, now - held.begun),
    })
    const [oldest] = used.keys()
    if (used.size > MAX_REMEMBERED && oldest !== undefined) used.delete(oldest)
  }

  /**
   * Makes room among some places if they are full: takes the slowest place of an owner with several if the newcomer has
   * none, else the slowest place that is too slow.
   */
  function hasRoom(
    held: Held[],
    share: number,
    among: 'own' | 'others',
    newcomer: Sender & { root: string },
    owner: 'accountId' | 'root',
  ): boolean {
    if (held.length < share) return true
    const counts = new Map<string, number>()
    for (const one of held) counts.set(one[owner], (counts.get(one[owner]) ?? 0) + 1)
    const several = counts.has(newcomer[owner]) ? [] : held.filter(one => (counts.get(one[owner]) ?? 0) > 1)
    const slowest = (several.length > 0 ? several : held).reduce((one, other) =>
      other.paidUntil[among] < one.paidUntil[among] ? other : one,
    )
    if (several.length === 0 && slowest.paidUntil[among] > performance.now()) return false
    giveBack(slowest)
    slowest.end()
    return true
  }

  return {
    take(by, end) {
      const { accountId, organizationId } = by
      const root = rootOf(organizationId)
      const newcomer = { ...by, root }
      const where = (matches: (held: Held) => boolean) => [...all].filter(matches)
      const own = where(held => held.accountId === accountId)
      if (!hasRoom(own, maxPerAccount, 'own', newcomer, 'accountId')) return null
      const ofOrganization = where(held => held.organizationId === organizationId)
      if (!hasRoom(ofOrganization, maxPerOrganization, 'others', newcomer, 'accountId')) return null
      const ofRoot = where(held => held.root === root)
      // If all places are taken, one of another owner may still become free.
      const share = all.size < max ? Math.max(maxPerOrganization, max - all.size) : max
      if (!hasRoom(ofRoot, share, 'others', newcomer, 'accountId')) return null
      if (!hasRoom([...all], max, 'others', newcomer, 'root')) return null
      const now = performance.now()
      const before = usedBy(accountId, now)
      const begun = now - before.heldMs
      const paidUntil = { own: now + graceMs, others: now + before.graceMs }
      const held = { accountId, organizationId, root, end, begun, paidUntil }
      all.add(held)
      return {
        add(bytes) {
          const now = performance.now()
          const paid = (until: number, times: number) =>
            Math.min(Math.max(until, now - graceMs) + (bytes / bytesPerS / times) * 1000, now + graceMs)
          paidUntil.own = paid(paidUntil.own, 1)
          paidUntil.others = paid(paidUntil.others, 1 + (now - begun) / graceMs)
        },
        giveBack: () => giveBack(held),
      }
    },
  }
}
