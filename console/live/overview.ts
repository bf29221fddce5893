import type { Map as MapLibre } from 'maplibre-gl'
import { createCamera } from '../map/camera.ts'
import { boundsAround } from '../map/geometry.ts'
import { toLngLat } from '../map/mercator.ts'
import { paddingOf } from '../map/room.ts'
import type { Fleet } from './fleet.ts'

/** Closer than this, a single subject would have nothing around it. */
const MAX_ZOOM = 15

/** Moves the map so that every shown subject is visible. Returns false, and moves nothing, when there is none. */
export function createOverview(map: MapLibre, fleet: Fleet) {
  const travel = createCamera(map, false)
  return (isShown: (slot: number) => boolean, glides = true): boolean => {
    const { x, y } = fleet.columns
    const slots = [...fleet.ids.keys()].filter(isShown)
    const bounds = boundsAround(slots.map(slot => toLngLat(x[slot] as number, y[slot] as number)))
    if (!bounds) return false
    const target = map.cameraForBounds(bounds, { padding: paddingOf(map), maxZoom: MAX_ZOOM })
    if (target) travel(target, glides)
    return true
  }
}
