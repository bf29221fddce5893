/**
 * The memory for request bodies that arrive and are processed. A body takes memory only as its bytes arrive: an
 * announced length takes none. An owner is a root of organizations (fair/roots.ts), or an address where nobody is signed
 * in. An owner may use up to half of the memory that the others leave, so the next owner finds room as well.
 *
 * When the memory is full, bodies that arrive too slowly are cut off, the slowest first. Otherwise a sender could fill
 * the memory with bodies that never end, for the 30 s in which a body must arrive.
 */
export interface BodyRoom {
  /** Reserves a place for a body that begins to arrive. `cutOff` is called when another body needs its memory. */
  enter(owner: string, cutOff: () => void): BodyPlace
}

export interface BodyPlace {
  /** Adds a piece that has arrived. Returns whether there is room for it; if not, all that this body holds is released. */
  add(bytes: number): boolean
  /**
   * Adds bytes that the server makes of the body. Returns whether there is room for them; if not, all that this body
   * holds is released.
   */
  grow(bytes: number): boolean
  /** No more of the body arrives, so it can no longer be too slow. */
  complete(): void
  giveBack(): void
}

interface Held {
  owner: string
  bytes: number
  cutOff: () => void
  /** Until then the body counts as fast enough. */
  paidUntil: number
}

/** The overhead of each piece as a Buffer of Node: 480 bytes, measured with 500,000 pieces of one byte. */
const PIECE_BYTES = 512

export function createBodyRoom({
  maxBytes,
  bytesPerS,
  graceMs,
}: {
  maxBytes: number
  /** A body that arrives more slowly than this makes room for others. */
  bytesPerS: number
  /** How long a body may send nothing, at first and after it was faster. */
  graceMs: number
}): BodyRoom {
  const bytesOf = new Map<string, number>()
  const arriving = new Set<Held>()
  let together = 0

  const fits = (owner: string, bytes: number) =>
    (bytesOf.get(owner) ?? 0) + bytes <= maxBytes - together - bytes

  function giveBack(held: Held): void {
    arriving.delete(held)
    together -= held.bytes
    const left = (bytesOf.get(held.owner) ?? 0) - held.bytes
    if (left > 0) bytesOf.set(held.owner, left)
    else bytesOf.delete(held.owner)
    held.bytes = 0
  }

  /** Cuts off bodies that are too slow until there is room for another, or until none is too slow. */
  function makeRoom(needed: Held, bytes: number): boolean {
    const now = performance.now()
    const slow = [...arriving].filter(held => held !== needed && held.paidUntil < now)
    for (const held of slow.sort((one, other) => one.paidUntil - other.paidUntil)) {
      giveBack(held)
      held.cutOff()
      if (fits(needed.owner, bytes)) return true
    }
    return false
  }

  return {
    enter(owner, cutOff) {
      const held: Held = { owner, bytes: 0, cutOff, paidUntil: performance.now() + graceMs }
      const grow = (bytes: number) => {
        if (!fits(owner, bytes) && !makeRoom(held, bytes)) {
          // Frees its bytes for other bodies. Otherwise all of them might be cut off half way.
          giveBack(held)
          return false
        }
        together += bytes
        held.bytes += bytes
        bytesOf.set(owner, (bytesOf.get(owner) ?? 0) + bytes)
        return true
      }
      return {
        add(bytes) {
          const now = performance.now()
          held.paidUntil = Math.min(Math.max(held.paidUntil, now) + (bytes / bytesPerS) * 1000, now + graceMs)
          // Until its first byte, a body holds no memory that another could use.
          arriving.add(held)
          return grow(bytes + PIECE_BYTES)
        },
        grow,
        complete: () => void arriving.delete(held),
        giveBack: () => giveBack(held),
      }
    },
  }
}
