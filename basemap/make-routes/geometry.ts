/** Metres east and south of the corner of the tiles' world, at the scale of the town. */
export interface Spot {
  x: number
  y: number
}

export interface Segment {
  a: Spot
  b: Spot
}

export const distance = (a: Spot, b: Spot) => Math.hypot(b.x - a.x, b.y - a.y)

export const lengthOf = (spots: readonly Spot[]) =>
  spots.reduce((sum, spot, index) => sum + (index > 0 ? distance(spots[index - 1] as Spot, spot) : 0), 0)

/** The spot that lies a part of the way from `a` to `b`. */
export const along = ({ a, b }: Segment, part: number): Spot => ({
  x: a.x + (b.x - a.x) * part,
  y: a.y + (b.y - a.y) * part,
})

/** The angle between the direction of one segment and that of the next, from 0 to 180 degrees. */
export function turnBetween(one: Segment, next: Segment): number {
  const direction = ({ a, b }: Segment) => (Math.atan2(b.y - a.y, b.x - a.x) * 180) / Math.PI
  return Math.abs(((direction(next) - direction(one) + 540) % 360) - 180)
}

/** The part of the segment, from 0 to 1, that is nearest to a spot. */
export function partNearest({ x, y }: Spot, { a, b }: Segment): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const part = ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1)
  return Math.min(Math.max(part, 0), 1)
}

/** The parts of two segments, from 0 to 1, at which they cross; null if they do not. */
export function findCrossing(one: Segment, other: Segment): [number, number] | null {
  const [ux, uy] = [one.b.x - one.a.x, one.b.y - one.a.y]
  const [vx, vy] = [other.b.x - other.a.x, other.b.y - other.a.y]
  const cross = ux * vy - uy * vx
  if (cross === 0) return null
  const [dx, dy] = [other.a.x - one.a.x, other.a.y - one.a.y]
  const parts: [number, number] = [(dx * vy - dy * vx) / cross, (dx * uy - dy * ux) / cross]
  return parts.every(part => part >= 0 && part <= 1) ? parts : null
}
