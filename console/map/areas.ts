import { distanceM, type Place, shortWay } from './geometry.ts'

/** An area as the API has it: metres on a sphere, or a ring whose edges are straight in degrees. */
export type Shape =
  | { type: 'circle'; center: Place; radius: number }
  | { type: 'polygon'; coordinates: [lng: number, lat: number][] }

const CIRCLE_CORNERS = 64
const RADIANS = Math.PI / 180
const METRES_PER_DEGREE = 111_195

/** The closed ring of an area, without a jump at the 180th meridian. */
export function ringOf(shape: Shape): [number, number][] {
  if (shape.type === 'circle') return circleRing(shape.center, shape.radius)
  let lng = shape.coordinates[0]?.[0] ?? 0
  const ring = shape.coordinates.map(([nextLng, lat]): [number, number] => {
    lng += shortWay(nextLng - lng)
    return [lng, lat]
  })
  const [first, last] = [ring[0], ring.at(-1)]
  if (first && last && (first[0] !== last[0] || first[1] !== last[1])) ring.push([...first])
  return ring
}

/** The points at a distance from the center in all directions, on the sphere. */
function circleRing({ lat, lng }: Place, radius: number): [number, number][] {
  const away = (radius / METRES_PER_DEGREE) * RADIANS
  const from = lat * RADIANS
  const ring = [...Array(CIRCLE_CORNERS).keys()].map((corner): [number, number] => {
    const direction = (corner / CIRCLE_CORNERS) * 2 * Math.PI
    const to = Math.asin(
      Math.sin(from) * Math.cos(away) + Math.cos(from) * Math.sin(away) * Math.cos(direction),
    )
    const turned = Math.atan2(
      Math.sin(direction) * Math.sin(away) * Math.cos(from),
      Math.cos(away) - Math.sin(from) * Math.sin(to),
    )
    return [lng + turned / RADIANS, to / RADIANS]
  })
  return [...ring, ring[0] as [number, number]]
}

/** Makes a test whether a place lies inside of an area. */
export function createInside(shape: Shape): (place: Place) => boolean {
  if (shape.type === 'circle') return place => distanceM(shape.center, place) <= shape.radius
  const ring = ringOf(shape)
  const lngs = ring.map(([lng]) => lng)
  const west = Math.min(...lngs)
  return ({ lat, lng }) => {
    // The longitude on the ring's copy of the world.
    const x = lng + Math.ceil((west - lng) / 360) * 360
    let inside = false
    for (let at = 1; at < ring.length; at++) {
      const [ax, ay] = ring[at - 1] as [number, number]
      const [bx, by] = ring[at] as [number, number]
      if (ay > lat !== by > lat && x < ax + ((bx - ax) * (lat - ay)) / (by - ay)) inside = !inside
    }
    return inside
  }
}

/** Finds two edges of a polygon that meet and are not neighbours. Returns the corners at which they begin, counted from 0. */
export function findCrossing(shape: Shape): [one: number, other: number] | null {
  if (shape.type === 'circle') return null
  const ring = ringOf(shape)
  const edges = ring.length - 1
  const at = (index: number) => ring[index] as [number, number]
  for (let one = 0; one < edges; one++)
    for (let other = one + 2; other < edges; other++) {
      // The last edge ends where the first begins.
      if (one === 0 && other === edges - 1) continue
      if (meet(at(one), at(one + 1), at(other), at(other + 1))) return [one, other]
    }
  return null
}

type Corner = readonly [x: number, y: number]

function meet(a: Corner, b: Corner, c: Corner, d: Corner): boolean {
  if (Math.max(a[0], b[0]) < Math.min(c[0], d[0]) || Math.max(c[0], d[0]) < Math.min(a[0], b[0])) return false
  if (Math.max(a[1], b[1]) < Math.min(c[1], d[1]) || Math.max(c[1], d[1]) < Math.min(a[1], b[1])) return false
  return sideOf(a, b, c) * sideOf(a, b, d) <= 0 && sideOf(c, d, a) * sideOf(c, d, b) <= 0
}

/** The side of the line from a to b on which c lies; 0 on the line. */
const sideOf = (a: Corner, b: Corner, c: Corner): number =>
  Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

/** To the metre: enough for a shape that is drawn by hand. */
const DIGITS = 5

/** A ring in an address: `13.37,52.51;13.38,52.51;13.38,52.52`. */
export const writeRing = (ring: readonly [number, number][]): string =>
  ring.map(([lng, lat]) => `${lng.toFixed(DIGITS)},${lat.toFixed(DIGITS)}`).join(';')

export function readRing(text: string): [number, number][] | null {
  const ring = text.split(';').map(corner => corner.split(',').map(Number))
  const isRing =
    ring.length >= 3 &&
    ring.every(corner => corner.length === 2 && corner.every(value => Number.isFinite(value)))
  return isRing ? (ring as [number, number][]) : null
}
