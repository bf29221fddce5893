const EARTH_RADIUS_M = 6_371_008.8
const RADIANS = Math.PI / 180

export interface Place {
  lat: number
  lng: number
}

/** On a sphere, as the server measures. */
export function distanceM(a: Place, b: Place): number {
  const north = Math.sin(((b.lat - a.lat) * RADIANS) / 2)
  const east = Math.sin(((b.lng - a.lng) * RADIANS) / 2)
  const half = north * north + Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * east * east
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(half)))
}

/** Degrees from one longitude to another, the shorter way round the world. */
export const shortWay = (degrees: number): number => degrees - Math.round(degrees / 360) * 360

export type Bounds = [[west: number, south: number], [east: number, north: number]]

/** What holds all of them, in degrees; null of none. */
export function boundsOf(places: Iterable<readonly [lng: number, lat: number]>): Bounds | null {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [lng, lat] of places) {
    west = Math.min(west, lng)
    east = Math.max(east, lng)
    south = Math.min(south, lat)
    north = Math.max(north, lat)
  }
  return west > east
    ? null
    : [
        [west, south],
        [east, north],
      ]
}
