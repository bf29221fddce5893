import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect } from 'react'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { boundsOf } from '../../../map/geometry.ts'
import { hideFences, showFences } from './fences-layer.ts'
import type { Fence } from './queries.ts'

const PADDING_PX = 80
/** As in the style sheets. */
const PHONE_PX = 720
const PANEL_PX = 312
const MAX_ZOOM = 16

interface Props {
  map: MapLibre
  fences: readonly Fence[]
  opened: Fence | undefined
  area: Shape | null
}

/** Geofences on the map; the one that is opened is gone to where it is not seen. */
export default function Fences({ map, fences, opened, area }: Props) {
  const selected = opened?._id ?? null
  useEffect(() => showFences(map, { fences, selected, area }), [map, fences, selected, area])
  useEffect(() => () => hideFences(map), [map])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another one is gone to, the same one in another shape is not
  useEffect(() => {
    if (opened) goToFence(map, opened.shape)
  }, [map, selected])
  return null
}

function goToFence(map: MapLibre, shape: Shape): void {
  const bounds = boundsOf(ringOf(shape))
  if (!bounds) return
  const seen = map.getBounds()
  const [[west, south], [east, north]] = bounds
  const isSmall = east - west < (seen.getEast() - seen.getWest()) / 50
  if (seen.contains([west, south]) && seen.contains([east, north]) && !isSmall) return
  const isPhone = window.innerWidth <= PHONE_PX
  const around = Math.min(PADDING_PX, window.innerWidth / 8)
  const padding = {
    top: around,
    left: around,
    right: around + (isPhone ? 0 : PANEL_PX),
    bottom: around + (isPhone ? map.getContainer().clientHeight / 2 : 0),
  }
  map.fitBounds(bounds, { padding, maxZoom: MAX_ZOOM, duration: 500 })
}
