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
}

export interface Box {
  west: number
  south: number
  east: number
  north: number
}

const DEGREES = 180 / Math.PI

export function prepareShape(shape: FenceShape): PreparedShape {
  if (shape.type === 'polygon') return preparePolygon(shape.coordinates)
  const { center, radius } = shape
  return { box: boxOfCircle(center, radius), contains: place => distanceM(center, place) <= radius }
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
