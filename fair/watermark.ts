/**
 * Whether a waiting amount is too much to accept more: above `max`, and once it was above, until half of `max` is free again.
 * Without the distance between the two marks, reading would stop and go on with every item.
 */
export const isOver = (wasOver: boolean, amount: number, max: number): boolean =>
  amount > (wasOver ? max / 2 : max)
