import type { Map as MapLibre } from 'maplibre-gl'
import { createCamera } from '../map/camera.ts'
import { boundsAround } from '../map/geometry.ts'
import { toLngLat } from '../map/mercator.ts'
import { paddingOf } from '../map/room.ts'
import type { Fleet } from './fleet.ts'

/** Closer than that there is nothing around who stands alone. */
const MAX_ZOOM = 15

/** Goes to where all of the fleet is seen that is shown. Of nobody the map stays where it is: false. */
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
