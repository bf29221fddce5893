import type { LayerSpecification, Map as MapLibre } from 'maplibre-gl'
import { readMapColors } from '../../map/colors.ts'
import { hubPicture, namePicture } from '../../map/picture-names.ts'
import { HUB_PX } from '../../map/pictures.ts'
import { showLayer } from './trail-layer.ts'

interface Hub {
  name: string
  lat: number
  lng: number
}

/** Draws hubs as houses below everything that moves, each with its name where there is room. */
export function showHubs(map: MapLibre, hubs: readonly Hub[]): () => void {
  const describe = () => ({
    type: 'FeatureCollection' as const,
    features: hubs.map(({ name, lat, lng }) => ({
      type: 'Feature' as const,
      properties: { name },
      geometry: { type: 'Point' as const, coordinates: [lng, lat] },
    })),
  })
  const layer = showLayer(map, 'hubs', describe, () => {
    const { text } = readMapColors()
    return [
      {
        id: 'hub-names',
        type: 'symbol',
        source: 'hubs',
        minzoom: 8,
        layout: {
          'icon-image': namePicture(text) as never,
          'icon-anchor': 'top',
          'icon-offset': [0, HUB_PX / 2 + 1],
          'icon-padding': 1,
        },
      },
      {
        id: 'hubs',
        type: 'symbol',
        source: 'hubs',
        layout: {
          'icon-image': hubPicture(text),
          'icon-overlap': 'always',
          // Otherwise its house would block the place of a name.
          'icon-ignore-placement': true,
          // Small houses at low zoom, where a country may be full of them.
          'icon-size': ['interpolate', ['linear'], ['zoom'], 4, 0.5, 10, 1],
        },
      },
    ] satisfies LayerSpecification[]
  })
  return () => void layer.close()
}
