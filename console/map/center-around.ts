import type { LngLat, Map as MapLibre } from 'maplibre-gl'
import { toLngLat, toX, toY } from './mercator.ts'

/** The center with which a place stays where it is on the screen when the zoom changes. */
export function centerAround(
  map: Pick<MapLibre, 'getCenter' | 'getZoom'>,
  [lng, lat]: readonly [lng: number, lat: number],
  zoom: number,
): LngLat {
  const center = map.getCenter()
  const [x, y] = [toX(lng), toY(lat)]
  let east = toX(center.lng) - x
  east -= Math.round(east)
  const share = 2 ** (map.getZoom() - zoom)
  const [eastward, northward] = toLngLat(x + east * share, y + (toY(center.lat) - y) * share)
  // Its class comes with MapLibre, which is loaded with the map.
  return Object.assign(map.getCenter(), { lng: eastward, lat: northward })
}
