/**
 * Places for files that arrive, each of which takes minutes. Whoever sends hardly anything keeps its place for as long as
 * nobody else wants it, and makes room for the next: a few connections that send a byte now and then would keep everybody's
 * files out otherwise.
 */
export interface UploadPlaces {
  /**
   * A place for who sends, or null where there is none; each of the owners has a share of them. `end` is called when another
   * has the place.
   */
  take(owners: readonly string[], end: () => void): UploadPlace | null
}

export interface UploadPlace {
  /** So much has arrived. */
  add(bytes: number): void
  giveBack(): void
}

interface Held {
  owners: readonly string[]
  end: () => void
  /** Until when it is fast enough. */
  paidUntil: number
}

export function createUploadPlaces({
  max,
  maxPerOwner,
  bytesPerS,
  aheadMs,
}: {
  max: number
  maxPerOwner: number
  /** Whoever sends less makes room for others. */
  bytesPerS: number
  /** For how long it may send nothing, at first and when it was faster before. */
  aheadMs: number
}): UploadPlaces {
  const all = new Set<Held>()

  /** Makes room among some places, if there is none, by those that are too slow. */
  function hasRoom(held: Held[], share: number): boolean {
    if (held.length < share) return true
    const slowest = held.reduce((one, other) => (other.paidUntil < one.paidUntil ? other : one))
    if (slowest.paidUntil > performance.now()) return false
    all.delete(slowest)
    slowest.end()
    return true
  }

  return {
    take(owners, end) {
      for (const owner of owners) {
        const own = [...all].filter(held => held.owners.includes(owner))
        if (!hasRoom(own, maxPerOwner)) return null
      }
      if (!hasRoom([...all], max)) return null
      const held = { owners, end, paidUntil: performance.now() + aheadMs }
      all.add(held)
      return {
        add(bytes) {
          const now = performance.now()
          const paid = Math.max(held.paidUntil, now) + (bytes / bytesPerS) * 1000
          held.paidUntil = Math.min(paid, now + aheadMs)
        },
        giveBack: () => all.delete(held),
      }
    },
  }
}
