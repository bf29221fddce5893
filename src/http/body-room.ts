/**
 * The memory for bodies that arrive and are worked on. A body takes room as its bytes arrive: a promise, such as its length,
 * takes none. An owner, which is a root of organizations (fair/roots.ts) or an address where nobody is signed in, has up to half of
 * the room that the others leave, so the next owner finds room as well.
 *
 * Where there is no room, bodies that arrive too slowly are cut off, the slowest first. A sender that fills the room with bodies
 * that never end would keep it for the 30 s that a body has to arrive.
 */
export interface BodyRoom {
  /** A place for a body that begins to arrive. `cutOff` is called when another body needs its room. */
  enter(owner: string, cutOff: () => void): BodyPlace
}

export interface BodyPlace {
  /** Adds a piece that has arrived. Returns whether there is room for it; if not, the place is given back. */
  add(bytes: number): boolean
  /** Adds bytes that the server makes of the body. Returns whether there is room for them; if not, the place is given back. */
  grow(bytes: number): boolean
  /** The body arrives no more, whole or not: it cannot be too slow. */
  complete(): void
  giveBack(): void
}

interface Held {
  owner: string
  bytes: number
  cutOff: () => void
  /** Until when the body is fast enough. */
  paidUntil: number
}

/** A piece takes so many bytes beside its own, as a buffer of Node: 480, measured with 500,000 pieces of one byte. */
const PIECE_BYTES = 512

export function createBodyRoom({
  maxBytes,
  bytesPerS,
  aheadMs,
}: {
  maxBytes: number
  /** A body that arrives more slowly makes room for others. */
  bytesPerS: number
  /** For how long a body may send nothing, at first and after it was faster. */
  aheadMs: number
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
      const held: Held = { owner, bytes: 0, cutOff, paidUntil: performance.now() + aheadMs }
      const grow = (bytes: number) => {
        if (!fits(owner, bytes) && !makeRoom(held, bytes)) {
          // Its bytes make room for other bodies, which might all be cut off half way otherwise.
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
          held.paidUntil = Math.min(Math.max(held.paidUntil, now) + (bytes / bytesPerS) * 1000, now + aheadMs)
          // A body of which nothing has arrived holds nothing that another could use.
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
