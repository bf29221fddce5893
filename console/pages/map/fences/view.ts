import type { Map as MapLibre } from 'maplibre-gl'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { boundsOf, distanceM, shortWay } from '../../../map/geometry.ts'
import { coveredOf, paddingOf } from '../../../map/room.ts'

const MAX_ZOOM = 16
/** A new circle's radius as a share of the smaller side of the view. */
const SHARE = 5
const MAX_RADIUS_M = 500_000

type Places = readonly (readonly [lng: number, lat: number])[]

/**
 * Moves the map to an area if these places of it are out of view, or if it is too small to be seen. Its panel may open later.
 */
export function goToFence(map: MapLibre, shape: Shape, places: Places = ringOf(shape)): void {
  const [bounds, wanted] = [boundsOf(ringOf(shape)), boundsOf(places)]
  if (!bounds || !wanted) return
  const { from, to } = freeOf(map)
  // On the copy of the world that is in view.
  const turn = Math.round(((from.lng + to.lng) / 2 - (bounds[0][0] + bounds[1][0]) / 2) / 360) * 360
  const [[west, south], [east, north]] = wanted
  const isSeen = west + turn >= from.lng && north <= from.lat && east + turn <= to.lng && south >= to.lat
  const isSmall = bounds[1][0] - bounds[0][0] < (to.lng - from.lng) / 50
  if (isSeen && !isSmall) return
  map.fitBounds(bounds, { padding: paddingOf(map, true), maxZoom: MAX_ZOOM, duration: 500 })
}

/** A circle in the middle of the view, for people who do not draw. */
export function circleInView(map: MapLibre): Extract<Shape, { type: 'circle' }> {
  const { size, middle } = freeOf(map)
  const { lat, lng } = map.unproject(middle)
  const edge = map.unproject([middle[0], middle[1] - size / SHARE])
  const radius = Number(distanceM({ lat, lng }, edge).toPrecision(1))
  return {
    type: 'circle',
    center: { lat, lng: shortWay(lng) },
    radius: Math.min(MAX_RADIUS_M, Math.max(1, radius)),
  }
}

/** The part of a map beside an open panel. */
function freeOf(map: MapLibre) {
  const { right, bottom } = coveredOf(map, true)
  const { clientWidth, clientHeight } = map.getContainer()
  const [width, height] = [clientWidth - right, clientHeight - bottom]
  const middle: [number, number] = [width / 2, height / 2]
  return {
    from: map.unproject([0, 0]),
    to: map.unproject([width, height]),
    size: Math.min(width, height),
    middle,
  }
}
