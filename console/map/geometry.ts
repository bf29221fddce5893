const EARTH_RADIUS_M = 6_371_008.8
const RADIANS = Math.PI / 180

export interface Place {
  lat: number
  lng: number
}

/** The distance on a sphere, as the server measures it. */
export function distanceM(a: Place, b: Place): number {
  const north = Math.sin(((b.lat - a.lat) * RADIANS) / 2)
  const east = Math.sin(((b.lng - a.lng) * RADIANS) / 2)
  const half = north * north + Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * east * east
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(half)))
}

/** A difference of longitudes, the shorter way round the world. */
export const shortWay = (degrees: number): number => degrees - Math.round(degrees / 360) * 360

export type Bounds = [[west: number, south: number], [east: number, north: number]]

/** The bounds of places in degrees; null without places. */
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

/** The narrowest bounds of places. They cross the 180th meridian, to an east beyond 180, where that is narrower. */
export const boundsAround = (places: readonly (readonly [lng: number, lat: number])[]): Bounds | null =>
  boundsAroundWays(places.map(place => [place]))

/** The same for lines, none of which is cut: their longitudes continue beyond 180 at the meridian. */
export function boundsAroundWays(
  ways: readonly (readonly (readonly [lng: number, lat: number])[])[],
): Bounds | null {
  const bounds = boundsOf(ways.flat())
  if (!bounds) return null
  const [[, south], [, north]] = bounds
  const spans = ways
    .flatMap(way => {
      const [[from], [to]] = boundsOf(way) ?? [[NaN], [NaN]]
      // Each line on the copy of the world on which it begins.
      const turn = Math.ceil((from - 180) / 360) * 360
      return Number.isNaN(from) ? [] : [{ west: from - turn, east: to - turn }]
    })
    .sort((one, other) => one.west - other.west)
  let west = spans[0]?.west ?? 0
  let east = spans.reduce((most, span) => Math.max(most, span.east), west)
  // The bounds leave out the widest gap between the lines.
  let widest = west + 360 - east
  let reached = east - 360
  for (const span of spans) {
    if (span !== spans[0] && span.west - reached > widest) {
      widest = span.west - reached
      west = span.west
      east = reached + 360
    }
    reached = Math.max(reached, span.east)
  }
  return [
    [west, south],
    [east, north],
  ]
}
