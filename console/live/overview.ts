import type { Map as MapLibre } from 'maplibre-gl'
import { createCamera } from '../map/camera.ts'
import { boundsAround } from '../map/geometry.ts'
import { toLngLat } from '../map/mercator.ts'
import { paddingOf } from '../map/room.ts'
import type { Fleet } from './fleet.ts'
import { leaveOutStrays } from './strays.ts'

/** Closer than this, a single subject would have nothing around it. */
const MAX_ZOOM = 15

/**
 * Moves the map so that every shown subject is visible; the first view leaves out strays, and does not glide by itself. Returns false, and
 * moves nothing, when there is no subject.
 */
export function createOverview(map: MapLibre, fleet: Fleet) {
  const travel = createCamera(map, false)
  return (
    isShown: (slot: number) => boolean,
    { isFirst = false, glides = !isFirst }: { isFirst?: boolean; glides?: boolean } = {},
  ): boolean => {
    const { x, y } = fleet.columns
    const shown = [...fleet.ids.keys()].filter(isShown)
    const slots = isFirst ? leaveOutStrays(shown, x, y) : shown
    const bounds = boundsAround(slots.map(slot => toLngLat(x[slot] as number, y[slot] as number)))
    if (!bounds) return false
    const target = map.cameraForBounds(bounds, { padding: paddingOf(map), maxZoom: MAX_ZOOM })
    if (target) travel(target, glides)
    return true
  }
}
