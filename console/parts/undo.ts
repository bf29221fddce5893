/** A sentence about a change that was just made, and the way back. */
export interface Undoable {
  text: string
  undo: () => Promise<unknown>
}

/** An offer to undo. Its number tells it from another one with the same sentence. */
export type Offer = Undoable & { number: number }

const listeners = new Set<() => void>()
let current: Offer | null = null
let offers = 0

/** Offers to undo a change, in place of the change before. Null takes the offer away. */
export function offerUndo(next: Undoable | null): void {
  current = next && { ...next, number: ++offers }
  for (const listener of listeners) listener()
}

export const getUndoable = (): Offer | null => current

export function onUndoable(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
