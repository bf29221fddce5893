/** A sentence about a change that was just made, and the way back. */
export interface Undoable {
  text: string
  undo: () => Promise<unknown>
}

/**
 * An offer to undo. Its number tells it from another one with the same sentence. `failure` is the error of the last undo, which may
 * be that of an earlier offer.
 */
export type Offer = Undoable & { number: number; failure?: unknown }

const listeners = new Set<() => void>()
let current: Offer | null = null
let offers = 0

/** Offers to undo a change, in place of the change before. Null takes the offer away. */
export function offerUndo(next: Undoable | null): void {
  show(next && { ...next, number: ++offers, failure: current?.failure })
}

/** Tells that an undo failed, beside what is offered by now. */
export const tellFailure = (offer: Offer, failure: unknown): void => show({ ...(current ?? offer), failure })

function show(offer: Offer | null): void {
  current = offer
  for (const listener of listeners) listener()
}

export const getUndoable = (): Offer | null => current

export function onUndoable(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
