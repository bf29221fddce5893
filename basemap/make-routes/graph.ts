import { along, distance, findCrossing, lengthOf, partNearest, type Segment, type Spot } from './geometry.ts'
import type { Road, RoadKind } from './roads.ts'

/** A way from one crossing to the next, in one direction. */
export interface Edge {
  from: number
  to: number
  spots: readonly Spot[]
  metres: number
  kind: RoadKind
  level: Road['level']
  /** The same way in the other direction; null if it is one-way. */
  reverse: Edge | null
}

export interface Graph {
  nodes: readonly Spot[]
  /** The edges that leave each node. */
  leaving: readonly (readonly Edge[])[]
}

/** A place on a road, in numbers of its spots: 2.5 lies halfway between the spots 2 and 3. */
interface Cut {
  at: number
  spot: Spot
}
interface Stretch extends Segment {
  road: number
  index: number
}

/**
 * Tiles round their lines to 0.5 m and simplify them by about as much, so a crossing is found where lines come this close. Carriageways
 * of one road are further apart.
 */
const MEETING_WITHIN_M = 3
const CELL_M = 40

/**
 * Builds the graph of the roads. Roads meet where the end of one lies on another of the same level, where two ends lie together,
 * and where two cross on the ground. They do not meet where one passes over the other, and a motorway is left by its exits alone.
 */
export function buildGraph(roads: readonly Road[]): Graph {
  const cuts = findCuts(roads)
  const nodes: Spot[] = []
  const findNode = createFinder(nodes)
  const edges: Edge[] = []
  roads.forEach((road, index) => {
    const sorted = (cuts[index] as Cut[]).sort((a, b) => a.at - b.at)
    for (let next = 1; next < sorted.length; next++) {
      const [start, end] = [sorted[next - 1] as Cut, sorted[next] as Cut]
      const [from, to] = [findNode(start.spot), findNode(end.spot)]
      const between = road.spots.slice(Math.floor(start.at) + 1, Math.ceil(end.at))
      if (from === to) continue
      const spots = [nodes[from] as Spot, ...between, nodes[to] as Spot]
      const { kind, level } = road
      const edge: Edge = { from, to, spots, metres: lengthOf(spots), kind, level, reverse: null }
      edges.push(edge)
      if (road.isOneWay) continue
      edge.reverse = { ...edge, from: to, to: from, spots: spots.toReversed(), reverse: edge }
      edges.push(edge.reverse)
    }
  })
  return keepRoundTrips(nodes, edges)
}

function findCuts(roads: readonly Road[]): Cut[][] {
  const near = indexSegments(roads)
  const cuts: Cut[][] = roads.map(({ spots }) => [
    { at: 0, spot: spots[0] as Spot },
    { at: spots.length - 1, spot: spots.at(-1) as Spot },
  ])
  const cut = (segment: Stretch, part: number) => {
    cuts[segment.road]?.push({ at: segment.index + part, spot: along(segment, part) })
  }
  roads.forEach((road, number) => {
    road.spots.forEach((spot, index) => {
      const isEnd = index === 0 || index === road.spots.length - 1
      for (const other of near(spot, spot)) {
        const otherRoad = roads[other.road] as Road
        if (other.road === number || otherRoad.level !== road.level) continue
        // Roads may also meet in a spot of both, without an end.
        if (!isEnd && !crossesOnGround(road, otherRoad)) continue
        const part = partNearest(spot, other)
        const metres = distance(spot, along(other, part))
        if (metres > (isEnd ? MEETING_WITHIN_M : 1)) continue
        cut(other, part)
        if (!isEnd) cuts[number]?.push({ at: index, spot })
      }
      const to = road.spots[index + 1]
      if (!to) return
      const own = { road: number, index, a: spot, b: to }
      for (const other of near(spot, to)) {
        if (other.road <= number || !crossesOnGround(road, roads[other.road] as Road)) continue
        const parts = findCrossing(own, other)
        if (!parts) continue
        cut(own, parts[0])
        cut(other, parts[1])
      }
    })
  })
  return cuts
}

const crossesOnGround = (a: Road, b: Road) =>
  a.level === 'ground' && b.level === 'ground' && a.kind !== 'm' && b.kind !== 'm'

/** A function that finds the segments whose cells touch a box. */
function indexSegments(roads: readonly Road[]): (a: Spot, b: Spot) => Set<Stretch> {
  const cells = new Map<string, Stretch[]>()
  const cellsOf = (a: Spot, b: Spot) => {
    const names: string[] = []
    const cell = (metres: number) => Math.floor(metres / CELL_M)
    const margin = MEETING_WITHIN_M
    for (let x = cell(Math.min(a.x, b.x) - margin); x <= cell(Math.max(a.x, b.x) + margin); x++) {
      for (let y = cell(Math.min(a.y, b.y) - margin); y <= cell(Math.max(a.y, b.y) + margin); y++) {
        names.push(`${x} ${y}`)
      }
    }
    return names
  }
  roads.forEach(({ spots }, road) => {
    for (let index = 0; index + 1 < spots.length; index++) {
      const segment = { road, index, a: spots[index] as Spot, b: spots[index + 1] as Spot }
      for (const name of cellsOf(segment.a, segment.b)) {
        const cell = cells.get(name)
        if (cell) cell.push(segment)
        else cells.set(name, [segment])
      }
    }
  })
  return (a, b) => new Set(cellsOf(a, b).flatMap(name => cells.get(name) ?? []))
}

/** A function that finds the node at a spot, or adds one. */
function createFinder(nodes: Spot[]): (spot: Spot) => number {
  const cells = new Map<string, number[]>()
  const cell = (metres: number) => Math.floor(metres / MEETING_WITHIN_M)
  return spot => {
    const [x, y] = [cell(spot.x), cell(spot.y)]
    for (let east = x - 1; east <= x + 1; east++) {
      for (let south = y - 1; south <= y + 1; south++) {
        const found = cells
          .get(`${east} ${south}`)
          ?.find(node => distance(nodes[node] as Spot, spot) <= MEETING_WITHIN_M)
        if (found !== undefined) return found
      }
    }
    const name = `${x} ${y}`
    cells.set(name, [...(cells.get(name) ?? []), nodes.length])
    return nodes.push(spot) - 1
  }
}

/** Keeps the edges on which a vehicle can always drive on and come back, without turning round in a dead end. */
function keepRoundTrips(nodes: readonly Spot[], edges: readonly Edge[]): Graph {
  let kept = edges
  for (;;) {
    const [leaving, arriving] = [group(nodes, kept, 'from'), group(nodes, kept, 'to')]
    const town = findTown(leaving, arriving)
    const isDeadEnd = (node: number) => new Set(leaving[node]?.map(({ to }) => to)).size < 2
    const rest = kept.filter(
      ({ from, to, reverse }) => town.has(from) && town.has(to) && !(reverse && isDeadEnd(to)),
    )
    if (rest.length === kept.length) return { nodes, leaving }
    const still = new Set(rest)
    for (const edge of rest) if (edge.reverse && !still.has(edge.reverse)) edge.reverse = null
    kept = rest
  }
}

function group(nodes: readonly Spot[], edges: readonly Edge[], end: 'from' | 'to'): Edge[][] {
  const groups: Edge[][] = nodes.map(() => [])
  for (const edge of edges) groups[edge[end]]?.push(edge)
  return groups
}

/** The nodes between all of which one can drive, where they are most of the town. */
function findTown(leaving: readonly Edge[][], arriving: readonly Edge[][]): Set<number> {
  const used = leaving.filter(edges => edges.length > 0).length
  for (const [node, edges] of leaving.entries()) {
    if (edges.length === 0) continue
    const behind = reach(arriving, 'from', node)
    const town = new Set([...reach(leaving, 'to', node)].filter(other => behind.has(other)))
    if (town.size > used / 2) return town
  }
  throw new Error('The roads do not form one town.')
}

function reach(groups: readonly Edge[][], end: 'from' | 'to', start: number): Set<number> {
  const reached = new Set([start])
  // A Set is walked in the order of insertion, including what is added meanwhile.
  for (const node of reached) for (const edge of groups[node] ?? []) reached.add(edge[end])
  return reached
}
