import type { FenceShape } from '../../db/schema/geofences.ts'
import { distanceM, EARTH_RADIUS_M, type Place, turn } from '../geometry.ts'

/**
 * A geofence's shape, prepared to test whether it contains a place: a circle on the sphere, or a polygon whose edges
 * are straight on a map in degrees, like those of GeoJSON. An edge goes the shorter way round the world, so the
 * longitudes of a polygon that crosses the antimeridian continue beyond 180.
 */
export interface PreparedShape {
  /** In degrees; the east may be beyond 180. The shape contains no place outside the box. */
  box: Box
  contains(place: Place): boolean
  /** The distance to the border in metres, from either side; exact near the border. */
  borderM(place: Place): number
}

export interface Box {
  west: number
  south: number
  east: number
  north: number
}

const DEGREES = 180 / Math.PI
const METRES_PER_DEGREE = EARTH_RADIUS_M / DEGREES

export function prepareShape(shape: FenceShape): PreparedShape {
  if (shape.type === 'polygon') return preparePolygon(shape.coordinates)
  const { center, radius } = shape
  return {
    box: boxOfCircle(center, radius),
    contains: place => distanceM(center, place) <= radius,
    borderM: place => Math.abs(distanceM(center, place) - radius),
  }
}

function boxOfCircle(center: Place, radius: number): Box {
  const angle = radius / EARTH_RADIUS_M
  // A little more than exact, to make up for rounding.
  const high = angle * DEGREES * (1 + 1e-9)
  const box = { south: center.lat - high, north: center.lat + high }
  if (box.north >= 90 || box.south <= -90) return { ...box, west: -180, east: 180 }
  const wide = Math.asin(Math.sin(angle) / Math.cos(center.lat / DEGREES)) * DEGREES * (1 + 1e-9)
  return { ...box, ...fromWest(center.lng - wide, center.lng + wide) }
}

function preparePolygon(coordinates: readonly (readonly [number, number])[]): PreparedShape {
  const lats = Float64Array.from(coordinates, ([, lat]) => lat)
  const unwrapped = unwrap(coordinates.map(([lng]) => lng))
  const box = {
    ...fromWest(Math.min(...unwrapped), Math.max(...unwrapped)),
    south: Math.min(...lats),
    north: Math.max(...lats),
  }
  const shift = box.west - Math.min(...unwrapped)
  const lngs = Float64Array.from(unwrapped, lng => lng + shift)
  return {
    box,
    contains({ lat, lng }) {
      const x = lng < box.west ? lng + 360 : lng
      let inside = false
      // Even-odd rule: counts the edges that a ray to the east crosses.
      for (let at = 0, before = lats.length - 1; at < lats.length; before = at++) {
        const south = lats[at] as number
        const north = lats[before] as number
        if (south > lat === north > lat) continue
        const west = lngs[at] as number
        if (x < west + ((lat - south) / (north - south)) * ((lngs[before] as number) - west)) inside = !inside
      }
      return inside
    },
    borderM({ lat, lng }) {
      const x = lng + 360 * Math.round(((box.west + box.east) / 2 - lng) / 360)
      const perLng = Math.cos(lat / DEGREES)
      let nearest = Number.POSITIVE_INFINITY
      for (let at = 1; at < lats.length; at++) {
        const fromX = ((lngs[at - 1] as number) - x) * perLng
        const fromY = (lats[at - 1] as number) - lat
        const wayX = ((lngs[at] as number) - (lngs[at - 1] as number)) * perLng
        const wayY = (lats[at] as number) - (lats[at - 1] as number)
        const length = wayX * wayX + wayY * wayY
        const along = length === 0 ? 0 : Math.min(1, Math.max(0, -(fromX * wayX + fromY * wayY) / length))
        const restX = fromX + along * wayX
        const restY = fromY + along * wayY
        nearest = Math.min(nearest, restX * restX + restY * restY)
      }
      return Math.sqrt(nearest) * METRES_PER_DEGREE
    },
  }
}

/** Longitudes of a path, each within 180 degrees of the one before it, so they may go beyond 180. */
export function unwrap(lngs: readonly number[]): number[] {
  const [first = 0] = lngs
  let at = first
  return lngs.map((lng, index) => {
    if (index > 0) at += turn(lng - (lngs[index - 1] as number))
    return at
  })
}

/** Shifts both so that the west lies in -180 to 180. */
function fromWest(west: number, east: number): { west: number; east: number } {
  if (east - west >= 360) return { west: -180, east: 180 }
  const shift = west < -180 ? 360 : west >= 180 ? -360 : 0
  return { west: west + shift, east: east + shift }
}

export const isInBox = ({ west, south, east, north }: Box, lat: number, lng: number): boolean =>
  lat >= south && lat <= north && ((lng >= west && lng <= east) || lng + 360 <= east)

/** A box that contains every place within so many metres of another box. */
export function widenBox(box: Box, metres: number): Box {
  if (metres === 0) return box
  const high = (metres / METRES_PER_DEGREE) * (1 + 1e-9)
  const [south, north] = [box.south - high, box.north + high]
  const cosine = Math.cos(Math.max(Math.abs(south), Math.abs(north)) / DEGREES)
  if (south <= -90 || north >= 90 || high >= 180 * cosine) return { south, north, west: -180, east: 180 }
  return { south, north, ...fromWest(box.west - high / cosine, box.east + high / cosine) }
}

/** Whether a place is more than so many metres away from a box. May be false for some that are. */
export function isBeyond({ west, south, east, north }: Box, { lat, lng }: Place, metres: number): boolean {
  if (Math.max(south - lat, lat - north) * METRES_PER_DEGREE > metres) return true
  if ((lng >= west && lng <= east) || lng + 360 <= east) return false
  const aside = Math.min(Math.abs(turn(lng - west)), Math.abs(turn(lng - turn(east))), 90)
  // The way to a meridian is at least so long.
  return Math.cos(lat / DEGREES) * Math.sin(aside / DEGREES) * EARTH_RADIUS_M > metres
}
