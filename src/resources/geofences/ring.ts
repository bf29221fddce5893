import { unwrap } from '../../../stream/fences/shapes.ts'
import { EARTH_RADIUS_M } from '../../../stream/geometry.ts'
import type { ErrorParams } from '../../http/envelope.ts'
import type { FieldCode } from '../../http/error-codes.ts'

type Vertex = [lng: number, lat: number]

interface Fault extends ErrorParams {
  code: FieldCode
  message: string
}

/** A smaller polygon is a mistake in drawing. */
const MIN_AREA_M2 = 1
const TOO_SMALL: Fault = {
  code: 'area-too-small',
  message: `A polygon has an area of at least ${MIN_AREA_M2} m².`,
  limit: MIN_AREA_M2,
}
const METRES_PER_DEGREE = (EARTH_RADIUS_M * Math.PI) / 180

const MIN_VERTICES = 3
const TOO_FEW: Fault = {
  code: 'too-few',
  message: `A polygon has at least ${MIN_VERTICES} different vertices.`,
  limit: MIN_VERTICES,
}

/** Returns the ring as it is stored, closed and without repeated vertices, or its fault. */
export function closeRing(given: readonly Vertex[]): Vertex[] | Fault {
  const vertices = given.filter(([lng, lat], index) => {
    const before = given[index - 1]
    return !before || lng !== before[0] || lat !== before[1]
  })
  const [first, last] = [vertices[0], vertices.at(-1)]
  if (!first || !last) return TOO_FEW
  if (vertices.length > 1 && first[0] === last[0] && first[1] === last[1]) vertices.pop()
  if (vertices.length < MIN_VERTICES) return TOO_FEW
  const ring: Vertex[] = [...vertices, first]
  return faultOf(ring) ?? ring
}

function faultOf(ring: readonly Vertex[]): Fault | null {
  const lngs = ring.map(([lng]) => lng)
  if (lngs.some((lng, index) => index > 0 && Math.abs(lng - (lngs[index - 1] as number)) === 180))
    return {
      code: 'ambiguous-edge',
      message: 'An edge spans half the world, so its direction is not clear: put a vertex in between.',
    }
  const points = unwrap(lngs).map((x, index) => ({ x, y: (ring[index] as Vertex)[1] }))
  const [first, last] = [points[0] as Point, points.at(-1) as Point]
  const xs = points.map(({ x }) => x)
  if (Math.abs(first.x - last.x) > 1 || Math.max(...xs) - Math.min(...xs) >= 360)
    return {
      code: 'area-too-wide',
      message: 'A polygon may not go around the world or a pole: its edges take the shorter way.',
    }
  // Unwrapping may have rounded the last point.
  points[points.length - 1] = first
  return findCrossing(points) ?? (areaM2(points) < MIN_AREA_M2 ? TOO_SMALL : null)
}

interface Point {
  x: number
  y: number
}

/** Finds two edges that cross or touch, or an edge that goes back along its neighbour. */
function findCrossing(points: readonly Point[]): Fault | null {
  const edges = points.length - 1
  const at = (index: number) => points[index] as Point
  for (let one = 0; one < edges; one++) {
    const [a, b] = [at(one), at(one + 1)]
    const c = at(((one + 1) % edges) + 1)
    if (sideOf(a, b, c) === 0 && (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) < 0)
      return reversedAt(((one + 1) % edges) + 1)
    for (let other = one + 2; other < edges; other++) {
      // The last edge ends where the first begins.
      if (one === 0 && other === edges - 1) continue
      if (meet(a, b, at(other), at(other + 1))) return crossedAt([one + 1, other + 1])
    }
  }
  return null
}

const reversedAt = (vertex: number): Fault => ({
  code: 'reversed-edge',
  message: `The polygon turns back on itself at vertex ${vertex}.`,
  vertices: [vertex],
})

const crossedAt = (vertices: [number, number]): Fault => ({
  code: 'crossed-edges',
  message: `The polygon crosses itself: the edges from vertex ${vertices.join(' and vertex ')} meet.`,
  vertices,
})

function meet(a: Point, b: Point, c: Point, d: Point): boolean {
  if (Math.max(a.x, b.x) < Math.min(c.x, d.x) || Math.max(c.x, d.x) < Math.min(a.x, b.x)) return false
  if (Math.max(a.y, b.y) < Math.min(c.y, d.y) || Math.max(c.y, d.y) < Math.min(a.y, b.y)) return false
  return sideOf(a, b, c) * sideOf(a, b, d) <= 0 && sideOf(c, d, a) * sideOf(c, d, b) <= 0
}

/** The side of the line from a to b on which c is: 1 or -1, and 0 on the line. */
const sideOf = (a: Point, b: Point, c: Point): number =>
  Math.sign((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x))

function areaM2(points: readonly Point[]): number {
  const origin = points[0] as Point
  let twice = 0
  for (let index = 1; index < points.length; index++) {
    const [a, b] = [points[index - 1] as Point, points[index] as Point]
    twice += (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y)
  }
  const highest = Math.max(...points.map(({ y }) => Math.abs(y)))
  const lowest = Math.min(...points.map(({ y }) => Math.abs(y)))
  const middle = ((highest + lowest) / 2) * (Math.PI / 180)
  return (Math.abs(twice) / 2) * METRES_PER_DEGREE ** 2 * Math.cos(middle)
}
