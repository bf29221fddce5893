import type { Feature, FeatureCollection } from 'geojson'
import type { LayerSpecification, Map as MapLibre } from 'maplibre-gl'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { readMapColors } from '../../../map/colors.ts'
import { namePicture } from '../../../map/picture-names.ts'
import { showLayer } from '../trail-layer.ts'
import { FENCE_LAYER } from './layer-name.ts'

/** A circle of 64 corners stays round. */
const ROUND = 0.05

interface Named {
  _id: string
  name: string
  shape: Shape
}

interface Shown {
  fences: readonly Named[]
  /** Those whose name a hub shows. */
  unnamed: ReadonlySet<string>
  selected: string | null
  /** The drawn area filter. */
  area: Shape | null
}

/** Draws geofences below everything that moves, each with its name where there is room. */
export function showFences(map: MapLibre, { fences, unnamed, selected, area }: Shown): () => void {
  const describe = (): FeatureCollection => ({
    type: 'FeatureCollection',
    features: [
      ...fences.flatMap(({ _id, name, shape }) => {
        const properties = { id: _id, name, kind: _id === selected ? 'selected' : 'fence' }
        const ring = ringOf(shape)
        const isNamed = _id === selected || !unnamed.has(_id)
        return [toFeature(ring, properties), ...(isNamed ? [toLabel(ring, properties)] : [])]
      }),
      ...(area ? [toFeature(ringOf(area), { id: '', name: '', kind: 'area' })] : []),
    ],
  })
  const byKind = (fence: number, chosen: number) =>
    ['match', ['get', 'kind'], 'fence', fence, chosen] as never
  const layers = () => {
    const { fence, trail } = readMapColors()
    const color = ['match', ['get', 'kind'], 'area', trail, fence] as never
    const name = {
      'icon-image': namePicture(fence),
      'icon-anchor': 'bottom',
      'icon-padding': 4,
    }
    const isName = ['==', ['geometry-type'], 'Point'] as never
    const isSelected = ['==', ['get', 'kind'], 'selected'] as never
    return [
      {
        id: FENCE_LAYER,
        type: 'fill',
        source: 'fences',
        filter: ['==', ['geometry-type'], 'Polygon'],
        paint: { 'fill-color': color, 'fill-opacity': byKind(0.1, 0.2) },
      },
      {
        id: 'fence-lines',
        type: 'line',
        source: 'fences',
        filter: ['==', ['geometry-type'], 'Polygon'],
        layout: { 'line-join': 'round' },
        paint: { 'line-color': color, 'line-width': byKind(1.5, 3) },
      },
      {
        id: 'fence-names',
        type: 'symbol',
        source: 'fences',
        filter: ['all', isName, ['!', isSelected]],
        layout: name as never,
      },
      {
        // MapLibre places the symbols of the last layer first, so other names make room for the selected fence's name.
        id: 'fence-name-selected',
        type: 'symbol',
        source: 'fences',
        filter: ['all', isName, isSelected],
        layout: { ...name, 'icon-overlap': 'always' } as never,
      },
    ] satisfies LayerSpecification[]
  }
  const layer = showLayer(map, 'fences', describe, layers, ROUND)
  return () => layer.close()
}

/** Removes them from the map. */
export function hideFences(map: MapLibre): void {
  showFences(map, { fences: [], unnamed: new Set(), selected: null, area: null })()
}

const toFeature = (ring: [number, number][], properties: Record<string, string>): Feature => ({
  type: 'Feature',
  properties,
  geometry: { type: 'Polygon', coordinates: [ring] },
})

/** Above the northern corner, where it covers no subject in the middle. */
const toLabel = (ring: [number, number][], properties: Record<string, string>): Feature => ({
  type: 'Feature',
  properties,
  geometry: { type: 'Point', coordinates: ring.reduce((top, corner) => (corner[1] > top[1] ? corner : top)) },
})
