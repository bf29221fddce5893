import { along, distance, type Spot } from './geometry.ts'
import type { Edge, Graph } from './graph.ts'
import type { Route } from './plan.ts'

/**
 * A closed route as a line of the file. The letter of a spot tells what is there: `c` a customer, `x` a crossing where the vehicle
 * waits, `.` nothing. The letter of the road that leads from it to the next one is a capital in a tunnel.
 */
interface Line {
  /** In 1/100,000 degree; all but the first are differences from the one before. */
  lng: number[]
  lat: number[]
  spots: string
  roads: string
}

/** The share of crossings at which a vehicle has to wait. */
const RED = 0.3
/** Not closer than this to each other. */
const BETWEEN_STOPS_M = 70
/** Closer spots are one, since their direction is lost in the rounding. */
const SHORTEST_M = 3

/** Writes a route, beginning at its first customer. */
export function writeRoute(
  route: Route,
  graph: Graph,
  toDegrees: (spot: Spot) => { lng: number; lat: number },
  random: () => number,
): Line {
  const places: { spot: Spot; letter: string; road: string }[] = []
  let sinceStopM = 0
  const add = (spot: Spot, letter: string, edge: Edge) => {
    const last = places.at(-1)
    const metres = last ? distance(last.spot, spot) : SHORTEST_M
    if (letter === '.' && metres < SHORTEST_M) return
    sinceStopM = letter === '.' ? sinceStopM + metres : 0
    places.push({ spot, letter, road: edge.level === 'tunnel' ? edge.kind.toUpperCase() : edge.kind })
  }
  for (const { edge, spots, isFromCustomer } of cutAtCustomers(route)) {
    const waits = () => isCrossing(graph, edge) && sinceStopM > BETWEEN_STOPS_M && random() < RED
    for (const [index, spot] of spots.slice(0, -1).entries()) {
      add(spot, index > 0 ? '.' : isFromCustomer ? 'c' : waits() ? 'x' : '.', edge)
    }
  }
  const rounded = places
    .map(({ spot }) => toDegrees(spot))
    .map(({ lng, lat }) => ({ lng: Math.round(lng * 1e5), lat: Math.round(lat * 1e5) }))
  const differences = (key: 'lng' | 'lat') =>
    rounded.map((place, index) => place[key] - (rounded[index - 1]?.[key] ?? 0))
  return {
    lng: differences('lng'),
    lat: differences('lat'),
    spots: places.map(({ letter }) => letter).join(''),
    roads: places.map(({ road }) => road).join(''),
  }
}

/** The pieces of a route, from its first customer on: whole edges, and the halves of those with a customer. */
function cutAtCustomers({ edges, customers }: Route) {
  const pieces = edges.flatMap((edge, index) => {
    if (!customers.has(index)) return [{ edge, spots: edge.spots, isFromCustomer: false }]
    const [before, after] = halve(edge)
    return [
      { edge, spots: before, isFromCustomer: false },
      { edge, spots: after, isFromCustomer: true },
    ]
  })
  // A route begins with the edge of a customer.
  return [...pieces.slice(1), ...pieces.slice(0, 1)]
}

/** Whether other roads begin where the edge begins, and the vehicle can be made to wait there. */
function isCrossing({ leaving }: Graph, { from, kind, level }: Edge): boolean {
  return !['m', 'l'].includes(kind) && level === 'ground' && (leaving[from]?.length ?? 0) > 2
}

/** The spots of both halves of an edge; the one in the middle belongs to both. */
function halve({ spots, metres }: Edge): [Spot[], Spot[]] {
  let left = metres / 2
  for (let index = 1; index < spots.length; index++) {
    const [a, b] = [spots[index - 1] as Spot, spots[index] as Spot]
    const length = distance(a, b)
    if (length >= left) {
      const middle = along({ a, b }, left / length)
      return [
        [...spots.slice(0, index), middle],
        [middle, ...spots.slice(index)],
      ]
    }
    left -= length
  }
  throw new Error('The edge is shorter than its half.')
}
