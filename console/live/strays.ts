/** Fewer subjects than this have no common place that one of them could be far from. */
const FEWEST = 5
/** This share of the subjects decides how far the fleet reaches. */
const MOST = 0.9
/** A stray is further from the fleet's middle than this many times its reach. */
const FAR = 4

const middleOf = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

/**
 * The slots without the few that are far from all others: a tracker on its way home by post, or one that is still at its
 * factory. `x` and `y` are shares of the world's width.
 */
export function leaveOutStrays(
  slots: readonly number[],
  x: Float64Array,
  y: Float64Array,
): readonly number[] {
  if (slots.length < FEWEST) return slots
  const [first = 0] = slots
  /** The shorter way round the world from the first subject. */
  const east = (slot: number) => {
    const way = (x[slot] as number) - (x[first] as number)
    return way - Math.round(way)
  }
  const middleX = middleOf(slots.map(east))
  const middleY = middleOf(slots.map(slot => y[slot] as number))
  const distances = slots.map(slot => Math.hypot(east(slot) - middleX, (y[slot] as number) - middleY))
  const sorted = [...distances].sort((one, other) => one - other)
  const reach = sorted[Math.ceil(slots.length * MOST) - 1] ?? 0
  return slots.filter((_, index) => (distances[index] as number) <= reach * FAR)
}
