import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect } from 'react'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { boundsOf } from '../../../map/geometry.ts'
import { coveredOf, paddingOf } from '../../../map/room.ts'
import { hideFences, showFences } from './fences-layer.ts'
import type { Fence } from './queries.ts'

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
  const [[west, south], [east, north]] = bounds
  // Its panel may be on its way.
  const { right, bottom } = coveredOf(map, true)
  const { clientWidth, clientHeight } = map.getContainer()
  const from = map.unproject([0, 0])
  const to = map.unproject([clientWidth - right, clientHeight - bottom])
  const isSeen = west >= from.lng && north <= from.lat && east <= to.lng && south >= to.lat
  const isSmall = east - west < (to.lng - from.lng) / 50
  if (isSeen && !isSmall) return
  map.fitBounds(bounds, { padding: paddingOf(map, true), maxZoom: MAX_ZOOM, duration: 500 })
}
