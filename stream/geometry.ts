export interface Place {
  lat: number
  lng: number
}

export const EARTH_RADIUS_M = 6_371_008.8
const RADIANS = Math.PI / 180

/** The great circle between two places, in metres. */
export function distanceM(a: Place, b: Place): number {
  const north = Math.sin(((b.lat - a.lat) * RADIANS) / 2)
  const east = Math.sin(((b.lng - a.lng) * RADIANS) / 2)
  const chord = north * north + Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * east * east
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(chord)))
}

/**
 * The distance in metres from a place to the straight line between two others, on a plane around that place. It is exact
 * near the place, and off by a few per cent at a hundred kilometres.
 */
export function distanceToWayM(place: Place, from: Place, to: Place): number {
  const perLng = RADIANS * EARTH_RADIUS_M * Math.cos(place.lat * RADIANS)
  const perLat = RADIANS * EARTH_RADIUS_M
  const fromX = turn(from.lng - place.lng) * perLng
  const fromY = (from.lat - place.lat) * perLat
  const wayX = turn(to.lng - from.lng) * perLng
  const wayY = (to.lat - from.lat) * perLat
  const length = wayX * wayX + wayY * wayY
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, -(fromX * wayX + fromY * wayY) / length))
  return Math.hypot(fromX + along * wayX, fromY + along * wayY)
}

/** Brings a longitude, or a difference of longitudes, into the range of -180 to 180 degrees. */
export const turn = (degrees: number) =>
  degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
