import type { Feature, FeatureCollection } from 'geojson'
import type { LayerSpecification, Map as MapLibre } from 'maplibre-gl'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { shorten } from '../../../map/labels.ts'
import { readPalette } from '../../../map/palette.ts'
import { fromRem } from '../../../parts/rem.ts'
import { showLayer } from '../trail-layer.ts'
import { FENCE_LAYER } from './layer-name.ts'

/** Between the colour and the name of which there is a picture: another theme has others. */
const NAME_OF = ' fence '
const FONT_REM = 0.6875
const PADDING_PX = 4
const RATIO = 2
/** A circle of 64 corners stays one. */
const ROUND = 0.05

interface Named {
  _id: string
  name: string
  shape: Shape
}

interface Shown {
  fences: readonly Named[]
  selected: string | null
  /** What was drawn to select who is inside. */
  area: Shape | null
}

/** Geofences below what moves, each with its name where there is room. */
export function showFences(map: MapLibre, { fences, selected, area }: Shown): () => void {
  const describe = (): FeatureCollection => ({
    type: 'FeatureCollection',
    features: [
      ...fences.flatMap(({ _id, name, shape }) => {
        const properties = { id: _id, name, kind: _id === selected ? 'selected' : 'fence' }
        const ring = ringOf(shape)
        return [toFeature(ring, properties), toLabel(ring, properties)]
      }),
      ...(area ? [toFeature(ringOf(area), { id: '', name: '', kind: 'area' })] : []),
    ],
  })
  const byKind = (fence: number, chosen: number) =>
    ['match', ['get', 'kind'], 'fence', fence, chosen] as never
  // The map has no letters of its own: a name is drawn when the map asks for it.
  let pen: Pen | undefined
  map.setMissingStyleImageResolver(id => {
    const at = id.indexOf(NAME_OF)
    if (at === -1) return
    const color = id.slice(0, at)
    // To read the style sheets takes as long as to draw.
    if (pen?.color !== color) pen = takePen(color)
    map.addImage(id, drawName(id.slice(at + NAME_OF.length), pen), { pixelRatio: RATIO })
  })
  const layers = () => {
    const { fence, trail } = readPalette()
    const color = ['match', ['get', 'kind'], 'area', trail, fence] as never
    const name = {
      'icon-image': ['concat', fence, NAME_OF, ['get', 'name']],
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
        // Who comes last is placed first: the others yield to it.
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

/** Takes them off the map again. */
export function hideFences(map: MapLibre): void {
  showFences(map, { fences: [], selected: null, area: null })()
  map.setMissingStyleImageResolver(null)
}

const toFeature = (ring: [number, number][], properties: Record<string, string>): Feature => ({
  type: 'Feature',
  properties,
  geometry: { type: 'Polygon', coordinates: [ring] },
})

/** Above its northern corner, where nobody stands in the middle of it. */
const toLabel = (ring: [number, number][], properties: Record<string, string>): Feature => ({
  type: 'Feature',
  properties,
  geometry: { type: 'Point', coordinates: ring.reduce((top, corner) => (corner[1] > top[1] ? corner : top)) },
})

interface Pen {
  color: string
  halo: string
  fontPx: number
  font: string
}

function takePen(color: string): Pen {
  const fontPx = fromRem(FONT_REM)
  const font = `600 ${fontPx * RATIO}px ${getComputedStyle(document.body).fontFamily}`
  return { color, halo: readPalette().labels.halo, fontPx, font }
}

function drawName(name: string, { color, halo, fontPx, font }: Pen): ImageData {
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D
  context.font = font
  const said = shorten(context, name, RATIO)
  canvas.width = Math.ceil(context.measureText(said).width) + 2 * PADDING_PX * RATIO
  canvas.height = (fontPx + 2 * PADDING_PX) * RATIO
  // Another size has made it a new canvas.
  context.font = font
  context.textBaseline = 'middle'
  context.lineJoin = 'round'
  context.lineWidth = 3 * RATIO
  context.strokeStyle = halo
  context.strokeText(said, PADDING_PX * RATIO, canvas.height / 2)
  context.fillStyle = color
  context.fillText(said, PADDING_PX * RATIO, canvas.height / 2)
  return context.getImageData(0, 0, canvas.width, canvas.height)
}
