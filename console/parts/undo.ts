/** A sentence about a change that was just made, and the way back. */
export interface Undoable {
  text: string
  undo: () => Promise<unknown>
}

/**
 * An offer to undo. Its number tells it from another one with the same sentence. `failure` is the error of its undo, or of the
 * offer before, which it has replaced.
 */
export type Offer = Undoable & { number: number; failure?: Failed | undefined }
interface Failed {
  error: unknown
  /** The number of the offer. */
  of: number
}

const listeners = new Set<() => void>()
let current: Offer | null = null
let offers = 0

/** Offers to undo a change, in place of the change before. Null takes the offer away. */
export function offerUndo(next: Undoable | null): void {
  const isOwn = current?.failure?.of === current?.number
  show(next && { ...next, number: ++offers, failure: isOwn ? current?.failure : undefined })
}

/** Tells that an undo failed, beside what is offered by now. */
export const tellFailure = (offer: Offer, error: unknown): void =>
  show({ ...(current ?? offer), failure: { error, of: offer.number } })

function show(offer: Offer | null): void {
  current = offer
  for (const listener of listeners) listener()
}

export const getUndoable = (): Offer | null => current

export function onUndoable(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
