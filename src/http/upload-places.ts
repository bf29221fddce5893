import { rootOf } from '../../fair/roots.ts'

/**
 * Places for files that arrive, each of which takes minutes. Whoever sends hardly anything keeps its place for as long as
 * nobody else wants it, and makes room for the next: a few connections that send a byte now and then would keep everybody's
 * files out otherwise.
 *
 * Where others want it than its own account, what is fast enough rises with the time that a place has been held: after
 * `aheadMs` it is twice as much, then three times. So a small file arrives on any line and a large one on a fast one, and
 * nobody holds a place for long with little: 17 KiB/s for a minute, 256 KiB/s for ten. What an account has used up of that it
 * has not in its next place either, until as much time has gone by: another connection is no other sender.
 *
 * And however fast it is, an account with several places gives one up to a colleague who has none, and a root of
 * organizations (fair/roots.ts) to another one. A root has up to half of the places that the others leave.
 */
export interface UploadPlaces {
  /**
   * A place for who sends, or null where there is none; its account and its organization have a share of them. `end` is called
   * when another has the place.
   */
  take(by: Sender, end: () => void): UploadPlace | null
}

export interface UploadPlace {
  /** So much has arrived. */
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
  /** Since when it counts as held. */
  begun: number
  /** Until when it is fast enough, where its own account wants the place, or others do. */
  paidUntil: { own: number; others: number }
}

/** What an account has used up in the places that it had, at a time: from then on it has as much more as time goes by. */
interface Used {
  at: number
  aheadMs: number
  heldMs: number
}

/** Accounts of which it is known what they have used up; those that gave a place back last. */
const MAX_REMEMBERED = 1_000

export function createUploadPlaces({
  max,
  maxPerOrganization,
  maxPerAccount,
  bytesPerS,
  aheadMs,
}: {
  max: number
  maxPerOrganization: number
  maxPerAccount: number
  /** Whoever sends less makes room for others, at first. */
  bytesPerS: number
  /** For how long it may send nothing, at first and when it was faster before; it owes as much at the most. */
  aheadMs: number
}): UploadPlaces {
  const all = new Set<Held>()
  const used = new Map<string, Used>()

  function usedBy(accountId: string, now: number): Used {
    const { at, ...before } = used.get(accountId) ?? { at: now, aheadMs, heldMs: 0 }
    return {
      at: now,
      aheadMs: Math.min(before.aheadMs + now - at, aheadMs),
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
      aheadMs: Math.max(Math.min(before.aheadMs, held.paidUntil.others - now), -aheadMs),
      heldMs: Math.max(before.heldMs, now - held.begun),
    })
    const [oldest] = used.keys()
    if (used.size > MAX_REMEMBERED && oldest !== undefined) used.delete(oldest)
  }

  /**
   * Makes room among some places, if there is none: by the slowest of who has several where the newcomer has none, else by the
   * slowest that is too slow.
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
      // Where all are taken one of somebody else's may yet make room.
      const share = all.size < max ? Math.max(maxPerOrganization, max - all.size) : max
      if (!hasRoom(ofRoot, share, 'others', newcomer, 'accountId')) return null
      if (!hasRoom([...all], max, 'others', newcomer, 'root')) return null
      const now = performance.now()
      const before = usedBy(accountId, now)
      const begun = now - before.heldMs
      const paidUntil = { own: now + aheadMs, others: now + before.aheadMs }
      const held = { accountId, organizationId, root, end, begun, paidUntil }
      all.add(held)
      return {
        add(bytes) {
          const now = performance.now()
          const paid = (until: number, times: number) =>
            Math.min(Math.max(until, now - aheadMs) + (bytes / bytesPerS / times) * 1000, now + aheadMs)
          paidUntil.own = paid(paidUntil.own, 1)
          paidUntil.others = paid(paidUntil.others, 1 + (now - begun) / aheadMs)
        },
        giveBack: () => giveBack(held),
      }
    },
  }
}
