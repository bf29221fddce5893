import { unwrap } from '../../../stream/fences/shapes.ts'
import { EARTH_RADIUS_M } from '../../../stream/geometry.ts'

type Vertex = [lng: number, lat: number]

/** Less is a slip of the hand. */
const MIN_AREA_M2 = 1
const METRES_PER_DEGREE = (EARTH_RADIUS_M * Math.PI) / 180

/** A ring as it is kept, closed and without repetitions; or what is wrong with it, in a sentence. */
export function closeRing(given: readonly Vertex[]): Vertex[] | string {
  const vertices = given.filter(([lng, lat], index) => {
    const before = given[index - 1]
    return !before || lng !== before[0] || lat !== before[1]
  })
  const [first, last] = [vertices[0], vertices.at(-1)]
  if (!first || !last) return 'A polygon has at least 3 different vertices.'
  if (vertices.length > 1 && first[0] === last[0] && first[1] === last[1]) vertices.pop()
  if (vertices.length < 3) return 'A polygon has at least 3 different vertices.'
  const ring: Vertex[] = [...vertices, first]
  return faultOf(ring) ?? ring
}

function faultOf(ring: readonly Vertex[]): string | null {
  const lngs = ring.map(([lng]) => lng)
  if (lngs.some((lng, index) => index > 0 && Math.abs(lng - (lngs[index - 1] as number)) === 180))
    return 'An edge spans half the world, so that it is not clear which half: put a vertex in between.'
  const points = unwrap(lngs).map((x, index) => ({ x, y: (ring[index] as Vertex)[1] }))
  const [first, last] = [points[0] as Point, points.at(-1) as Point]
  const xs = points.map(({ x }) => x)
  if (Math.abs(first.x - last.x) > 1 || Math.max(...xs) - Math.min(...xs) >= 360)
    return 'A polygon may not go around the world or a pole: its edges take the shorter way.'
  // To the last bit, whatever counting on has rounded.
  points[points.length - 1] = first
  return (
    findCrossing(points) ?? (areaM2(points) < MIN_AREA_M2 ? 'A polygon has an area of at least 1 m².' : null)
  )
}

interface Point {
  x: number
  y: number
}

/** In words where two edges cross or touch; of neighbours, where one goes back along the other. */
function findCrossing(points: readonly Point[]): string | null {
  const edges = points.length - 1
  const at = (index: number) => points[index] as Point
  for (let one = 0; one < edges; one++) {
    const [a, b] = [at(one), at(one + 1)]
    const c = at(((one + 1) % edges) + 1)
    if (sideOf(a, b, c) === 0 && (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) < 0)
      return `The polygon turns back on itself at vertex ${((one + 1) % edges) + 1}.`
    for (let other = one + 2; other < edges; other++) {
      // The last edge ends where the first begins.
      if (one === 0 && other === edges - 1) continue
      if (meet(a, b, at(other), at(other + 1)))
        return `The polygon crosses itself: the edges from vertex ${one + 1} and vertex ${other + 1} meet.`
    }
  }
  return null
}

function meet(a: Point, b: Point, c: Point, d: Point): boolean {
  if (Math.max(a.x, b.x) < Math.min(c.x, d.x) || Math.max(c.x, d.x) < Math.min(a.x, b.x)) return false
  if (Math.max(a.y, b.y) < Math.min(c.y, d.y) || Math.max(c.y, d.y) < Math.min(a.y, b.y)) return false
  return sideOf(a, b, c) * sideOf(a, b, d) <= 0 && sideOf(c, d, a) * sideOf(c, d, b) <= 0
}

/** On which side of the line from a to b c is; 0 on it. */
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
