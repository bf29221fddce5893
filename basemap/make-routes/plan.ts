import TinyQueue from 'tinyqueue'
import { distance, type Spot, turnBetween } from './geometry.ts'
import type { Edge, Graph } from './graph.ts'
import type { RoadKind } from './roads.ts'

/** Edges in the order in which they are driven. The last one leads to the first. Customers are halfway along some of them. */
export interface Route {
  edges: readonly Edge[]
  customers: ReadonlySet<number>
}

/** m/s, used only to choose the way. */
const SPEED: Readonly<Record<RoadKind, number>> = { m: 25, t: 15, p: 11, s: 10, c: 9, r: 7, l: 9 }
const CUSTOMERS = 8
/** The customers of most routes live in one part of the town. Every fifth route crosses the whole town. */
const NEAR_M = 1_500
const FAR_M = 6_000
const SHORTEST_CUSTOMER_EDGE_M = 50
/** A sharper turn is a U-turn, for example from one carriageway to the other. */
const SHARPEST_DEGREES = 150
/** A way that other routes use already counts as longer, so that the routes together cover the town. */
const SHARED = 0.3

/** Plans closed routes, the first ones far from each other. */
export function planRoutes(graph: Graph, count: number, random: () => number): Route[] {
  const uses = new Map<Edge, number>()
  const customers = graph.leaving
    .flat()
    .filter(
      ({ kind, level, metres }) =>
        level === 'ground' && !['m', 't', 'l'].includes(kind) && metres > SHORTEST_CUSTOMER_EDGE_M,
    )
  const routes: Route[] = []
  for (const home of spread(graph, count)) {
    const radiusM = routes.length % 5 === 1 ? FAR_M : NEAR_M
    const near = customers.filter(({ spots }) => distance(spots[0] as Spot, home) < radiusM)
    let route: Route | null = null
    while (!route) route = connect(graph, pickRound(near, home, random), uses)
    for (const edge of route.edges) uses.set(edge, (uses.get(edge) ?? 0) + 1)
    routes.push(route)
  }
  return routes
}

/** Nodes that are far from each other: each is the one that is furthest from all before it. */
function spread({ nodes, leaving }: Graph, count: number): Spot[] {
  const used = nodes.filter((_, node) => leaving[node]?.length)
  const furthest = used.map(() => Number.POSITIVE_INFINITY)
  const chosen: Spot[] = []
  while (chosen.length < count) {
    const next = used[furthest.indexOf(Math.max(...furthest))] as Spot
    chosen.push(next)
    used.forEach((spot, index) => {
      furthest[index] = Math.min(furthest[index] as number, distance(spot, next))
    })
  }
  return chosen
}

/** Customers around a place, in the order of a clock. */
function pickRound(near: readonly Edge[], home: Spot, random: () => number): Edge[] {
  const picked = Array.from({ length: CUSTOMERS }, () => near[Math.floor(random() * near.length)] as Edge)
  const angle = ({ spots: [spot] }: Edge) => Math.atan2((spot as Spot).y - home.y, (spot as Spot).x - home.x)
  return [...new Set(picked)].sort((a, b) => angle(a) - angle(b))
}

/** Drives from customer to customer and back to the first one; null where that needs a U-turn. */
function connect(graph: Graph, stops: readonly Edge[], uses: ReadonlyMap<Edge, number>): Route | null {
  const edges: Edge[] = []
  const customers = new Set<number>()
  for (const [index, stop] of stops.entries()) {
    const next = stops[(index + 1) % stops.length] as Edge
    const way = findWay(graph, stop, next, uses)
    if (!way) return null
    customers.add(edges.length)
    edges.push(stop, ...way)
  }
  const turnsRound = edges.some((edge, index) => {
    const [a, b] = (edges.at(index - 1) as Edge).spots.slice(-2) as [Spot, Spot]
    const [from, to] = edge.spots as [Spot, Spot]
    return turnBetween({ a, b }, { a: from, b: to }) > SHARPEST_DEGREES
  })
  return turnsRound ? null : { edges, customers }
}

/** The fastest way from the end of one edge to the beginning of another (Dijkstra), without a U-turn at either. */
function findWay({ leaving }: Graph, start: Edge, goal: Edge, uses: ReadonlyMap<Edge, number>) {
  if (start.reverse === goal) return null
  const best = new Map<number, { seconds: number; by: Edge | null }>([[start.to, { seconds: 0, by: null }]])
  const queue = new TinyQueue([{ node: start.to, seconds: 0 }], (a, b) => a.seconds - b.seconds)
  for (let place = queue.pop(); place && place.node !== goal.from; place = queue.pop()) {
    for (const edge of leaving[place.node] ?? []) {
      if (edge === start.reverse || edge === goal.reverse) continue
      const seconds =
        place.seconds + (edge.metres / SPEED[edge.kind]) * (1 + SHARED * Math.min(uses.get(edge) ?? 0, 10))
      if (seconds >= (best.get(edge.to)?.seconds ?? Number.POSITIVE_INFINITY)) continue
      best.set(edge.to, { seconds, by: edge })
      queue.push({ node: edge.to, seconds })
    }
  }
  const way: Edge[] = []
  let node = goal.from
  while (node !== start.to) {
    const by = best.get(node)?.by
    if (!by) return null
    way.unshift(by)
    node = by.from
  }
  return way
}
