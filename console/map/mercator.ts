/** Web Mercator with the world as a square of 1: x grows to the east, y to the south. */
export const MAX_LAT = 85.051129
const RADIANS = Math.PI / 180

export const toX = (lng: number): number => lng / 360 + 0.5

export function toY(lat: number): number {
  const sine = Math.sin(Math.max(-MAX_LAT, Math.min(MAX_LAT, lat)) * RADIANS)
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)
}

export const toLng = (x: number): number => (x - 0.5) * 360

export const toLat = (y: number): number => Math.atan(Math.sinh((0.5 - y) * 2 * Math.PI)) / RADIANS

/** The copy of a place that is nearest to another one, as the world repeats beyond its edge. */
export const nearX = (x: number, other: number): number => x - Math.round(x - other)

/** The width of the world at zoom 0 in MapLibre. */
export const TILE_PX = 512

export const toLngLat = (x: number, y: number): [number, number] => [toLng(x), toLat(y)]
