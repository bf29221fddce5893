import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect } from 'react'
import type { Shape } from '../../../map/areas.ts'
import { useHubs } from '../subject-queries.ts'
import type { Fence } from './fence-queries.ts'
import { hideFences, showFences } from './fences-layer.ts'
import { namedByHubs } from './named-by-hubs.ts'
import { goToFence } from './view.ts'

interface Props {
  map: MapLibre
  fences: readonly Fence[]
  opened: Fence | undefined
  area: Shape | null
}

/** Draws geofences on the map, and moves to the open one if it is not visible. */
export default function Fences({ map, fences, opened, area }: Props) {
  const selected = opened?._id ?? null
  const { data: hubs } = useHubs()
  useEffect(() => {
    const unnamed = namedByHubs(fences, hubs ?? [])
    return showFences(map, { fences, unnamed, selected, area })
  }, [map, fences, hubs, selected, area])
  useEffect(() => () => hideFences(map), [map])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another one is gone to, the same one in another shape is not
  useEffect(() => {
    if (opened) goToFence(map, opened.shape)
  }, [map, selected])
  return null
}
