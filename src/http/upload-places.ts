/**
 * Places for files that arrive, each of which takes minutes. Whoever sends hardly anything keeps its place for as long as
 * nobody else wants it, and makes room for the next: a few connections that send a byte now and then would keep everybody's
 * files out otherwise.
 *
 * Where others want it than its own account, what is fast enough rises with the time that a place has been held: after
 * `aheadMs` it is twice as much, then three times. So a small file arrives on any line and a large one on a fast one, and
 * nobody holds a place for long with little: 17 KiB/s for a minute, 256 KiB/s for ten.
 */
export interface UploadPlaces {
  /**
   * A place for who sends, or null where there is none; its account and its organization have a share of them. `end` is called
   * when another has the place.
   */
  take(by: { accountId: string; organizationId: string }, end: () => void): UploadPlace | null
}

export interface UploadPlace {
  /** So much has arrived. */
  add(bytes: number): void
  giveBack(): void
}

interface Held {
  accountId: string
  organizationId: string
  end: () => void
  /** Until when it is fast enough, where its own account wants the place, or others do. */
  paidUntil: { own: number; others: number }
}

export function createUploadPlaces({
  max,
  maxPerOwner,
  bytesPerS,
  aheadMs,
}: {
  max: number
  maxPerOwner: number
  /** Whoever sends less makes room for others, at first. */
  bytesPerS: number
  /** For how long it may send nothing, at first and when it was faster before; it owes as much at the most. */
  aheadMs: number
}): UploadPlaces {
  const all = new Set<Held>()

  /** Makes room among some places, if there is none, by the slowest that is too slow. */
  function hasRoom(matches: (held: Held) => boolean, share: number, among: 'own' | 'others'): boolean {
    const held = [...all].filter(matches)
    if (held.length < share) return true
    const slowest = held.reduce((one, other) => (other.paidUntil[among] < one.paidUntil[among] ? other : one))
    if (slowest.paidUntil[among] > performance.now()) return false
    all.delete(slowest)
    slowest.end()
    return true
  }

  return {
    take({ accountId, organizationId }, end) {
      if (!hasRoom(held => held.accountId === accountId, maxPerOwner, 'own')) return null
      if (!hasRoom(held => held.organizationId === organizationId, maxPerOwner, 'others')) return null
      if (!hasRoom(() => true, max, 'others')) return null
      const begun = performance.now()
      const paidUntil = { own: begun + aheadMs, others: begun + aheadMs }
      const held = { accountId, organizationId, end, paidUntil }
      all.add(held)
      return {
        add(bytes) {
          const now = performance.now()
          const paid = (until: number, times: number) =>
            Math.min(Math.max(until, now - aheadMs) + (bytes / bytesPerS / times) * 1000, now + aheadMs)
          paidUntil.own = paid(paidUntil.own, 1)
          paidUntil.others = paid(paidUntil.others, 1 + (now - begun) / aheadMs)
        },
        giveBack: () => all.delete(held),
      }
    },
  }
}
