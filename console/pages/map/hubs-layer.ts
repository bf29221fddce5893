import type { Map as MapLibre } from 'maplibre-gl'
import { readPalette } from '../../map/palette.ts'
import { showLayer } from './trail-layer.ts'

/** Hubs as rings that stand still below what moves. */
export function showHubs(map: MapLibre, hubs: readonly { lat: number; lng: number }[]): () => void {
  const describe = () => ({
    type: 'FeatureCollection' as const,
    features: hubs.map(({ lat, lng }) => ({
      type: 'Feature' as const,
      properties: {},
      geometry: { type: 'Point' as const, coordinates: [lng, lat] },
    })),
  })
  const layer = showLayer(map, 'hubs', describe, () => {
    const { labels } = readPalette()
    return {
      id: 'hubs',
      type: 'circle',
      source: 'hubs',
      paint: {
        'circle-radius': 5,
        'circle-color': labels.surface,
        'circle-stroke-width': 2,
        'circle-stroke-color': labels.text,
      },
    }
  })
  return () => void layer.close()
}
