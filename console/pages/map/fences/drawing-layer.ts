import type { Feature, FeatureCollection } from 'geojson'
import type { LayerSpecification, Map as MapLibre } from 'maplibre-gl'
import { readMapColors } from '../../../map/colors.ts'
import { showLayer } from '../trail-layer.ts'
import type { Corner } from './handles.ts'

/** Kinds beside those of handles: `chosen` is the selected corner, `first` the corner that closes the polygon. */
export type PointKind = 'corner' | 'edge' | 'radius' | 'whole' | 'chosen' | 'first'

export interface Drawn {
  ring: readonly Corner[]
  points: readonly { kind: PointKind; place: Corner }[]
  /** Whether the values in the form do not form a shape. */
  isStale?: boolean
}

/** Draws the shape and its handles in the colours of the theme. */
export function showDrawing(map: MapLibre, drawn: () => Drawn) {
  const describe = (): FeatureCollection => {
    const { ring, points, isStale } = drawn()
    return {
      type: 'FeatureCollection',
      features: [
        ...(ring.length > 1 ? [toArea(ring, isStale ? 'stale' : 'area')] : []),
        ...points.map(
          ({ kind, place }): Feature => ({
            type: 'Feature',
            properties: { kind },
            geometry: { type: 'Point', coordinates: place },
          }),
        ),
      ],
    }
  }
  const layers = () => {
    const { fence, labels } = readMapColors()
    const { surface } = labels
    const isFilled = ['in', ['get', 'kind'], ['literal', ['whole', 'edge', 'chosen']]]
    return [
      {
        id: 'drawing',
        type: 'fill',
        source: 'drawing',
        filter: ['==', ['get', 'kind'], 'area'],
        paint: { 'fill-color': fence, 'fill-opacity': 0.2 },
      },
      {
        id: 'drawing-lines',
        type: 'line',
        source: 'drawing',
        filter: ['==', ['get', 'kind'], 'area'],
        layout: { 'line-join': 'round' },
        paint: { 'line-color': fence, 'line-width': 3 },
      },
      {
        id: 'drawing-stale',
        type: 'line',
        source: 'drawing',
        filter: ['==', ['get', 'kind'], 'stale'],
        paint: { 'line-color': fence, 'line-width': 2, 'line-dasharray': [2, 2] },
      },
      {
        id: 'drawing-handles',
        type: 'circle',
        source: 'drawing',
        filter: ['==', ['geometry-type'], 'Point'],
        paint: {
          'circle-radius': ['match', ['get', 'kind'], 'edge', 4, 'whole', 8, 6] as never,
          'circle-color': ['case', isFilled, fence, surface] as never,
          'circle-stroke-color': ['case', isFilled, surface, fence] as never,
          'circle-stroke-width': 2,
        },
      },
    ] satisfies LayerSpecification[]
  }
  return showLayer(map, 'drawing', describe, layers, 0)
}

const toArea = (ring: readonly Corner[], kind: string): Feature => ({
  type: 'Feature',
  properties: { kind },
  geometry: { type: 'Polygon', coordinates: [[...ring, ring[0] as Corner]] },
})
