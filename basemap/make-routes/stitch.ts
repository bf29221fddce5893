import { distance, type Spot, turnBetween } from './geometry.ts'
import type { Piece, Road } from './roads.ts'

/** Two tiles round the same place differently. */
const SAME_WITHIN_M = 2
const SAME_DIRECTION_DEGREES = 60

/** Joins the pieces of roads that tiles have cut. Only pieces that are alike are joined, so that a bridge keeps its level. */
export function stitch(pieces: readonly Piece[]): Road[] {
  const alike = new Map<string, Piece[]>()
  for (const piece of pieces) {
    const { kind, isOneWay, level } = piece.road
    const key = JSON.stringify([piece.name, kind, isOneWay, level])
    alike.set(key, [...(alike.get(key) ?? []), piece])
  }
  return [...alike.values()].flatMap(stitchAlike)
}

function stitchAlike(pieces: Piece[]): Road[] {
  const roads: Road[] = []
  for (let whole = pieces.pop(); whole; whole = pieces.pop()) {
    for (let index = 0; index < pieces.length; ) {
      const joined = join(whole, pieces[index] as Piece)
      if (!joined) index++
      else {
        whole = joined
        pieces.splice(index, 1)
        index = 0
      }
    }
    roads.push(whole.road)
  }
  return roads
}

/** Joins two pieces at a border; null if neither continues the other. */
function join(one: Piece, other: Piece): Piece | null {
  if (continues(one, other)) return append(one, other)
  if (continues(other, one)) return append(other, one)
  if (one.road.isOneWay) return null
  const turned = turn(other)
  if (continues(one, turned)) return append(one, turned)
  if (continues(turned, one)) return append(turned, one)
  return null
}

function continues(before: Piece, after: Piece): boolean {
  if (!before.isCut.end || !after.isCut.start) return false
  const [from, end] = before.road.spots.slice(-2) as [Spot, Spot]
  const [start, to] = after.road.spots as [Spot, Spot]
  const degrees = turnBetween({ a: from, b: end }, { a: start, b: to })
  return distance(end, start) < SAME_WITHIN_M && degrees < SAME_DIRECTION_DEGREES
}

const append = (before: Piece, after: Piece): Piece => ({
  ...before,
  road: { ...before.road, spots: [...before.road.spots, ...after.road.spots.slice(1)] },
  isCut: { start: before.isCut.start, end: after.isCut.end },
})

const turn = ({ road, isCut, name }: Piece): Piece => ({
  name,
  road: { ...road, spots: road.spots.toReversed() },
  isCut: { start: isCut.end, end: isCut.start },
})
