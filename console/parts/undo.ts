/** A sentence about a change that was just made, and the way back. */
export interface Undoable {
  text: string
  undo: () => Promise<unknown>
}

const listeners = new Set<() => void>()
let current: Undoable | null = null

/** Offers to undo a change, in place of the change before. Null takes the offer away. */
export function offerUndo(next: Undoable | null): void {
  current = next
  for (const listener of listeners) listener()
}

export const getUndoable = (): Undoable | null => current

export function onUndoable(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
