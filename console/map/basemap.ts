import type { LayerSpecification, StyleSpecification } from 'maplibre-gl'
import { readBasemapSetting } from './basemap-setting.ts'
import type { MapColors } from './colors.ts'
import { TILE_URL } from './tile-requests.ts'
import { addWorld } from './world.ts'

const ATTRIBUTION =
  '<a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noreferrer">© OpenStreetMap</a>'
/** The source of the tiles. */
export const STREETS = 'streets'
const WORLD_DEGREES = 360

/** The style of the base map, in the page's colours: the outlines of the world, and above them the tiles where there are some. */
export async function createStyle(colors: MapColors): Promise<StyleSpecification> {
  const setting = readBasemapSetting()
  const style: StyleSpecification = {
    version: 8,
    sources: {},
    layers: [{ id: 'blank', type: 'background', paint: { 'background-color': colors.blank } }],
  }
  const across = setting ? setting.bounds[2] - setting.bounds[0] : 0
  const coversWorld = across > WORLD_DEGREES - 1
  if (!coversWorld) await addWorld(style, colors)
  if (!setting) return style
  const { vector, minZoom, maxZoom, bounds, version } = setting
  const source = {
    tiles: [`${location.origin}${TILE_URL}?v=${version}`],
    minzoom: Math.max(minZoom, coversWorld ? 0 : zoomOf(across)),
    maxzoom: maxZoom,
    bounds: [...bounds] as [number, number, number, number],
    attribution: ATTRIBUTION,
  }
  if (vector) {
    style.sources[STREETS] = { type: 'vector', ...source }
    style.layers.push(...vectorLayers(colors))
  } else {
    style.sources[STREETS] = { type: 'raster', tileSize: 256, ...source }
    style.layers.push({ id: STREETS, type: 'raster', source: STREETS })
  }
  return style
}

/** The zoom at which a quarter of a tile is as wide as the area: below it the tiles would be a patch on the outlines. */
const zoomOf = (across: number) => Math.floor(Math.log2(WORLD_DEGREES / across)) - 2

/** The layers of Protomaps files that are needed for orientation, in calm colours. */
function vectorLayers(colors: MapColors): LayerSpecification[] {
  const fill = (id: string, layer: string, color: string): LayerSpecification => ({
    id,
    type: 'fill',
    source: STREETS,
    'source-layer': layer,
    filter: ['==', ['geometry-type'], 'Polygon'],
    paint: { 'fill-color': color, 'fill-antialias': false },
  })
  return [
    fill('earth', 'earth', colors.land),
    fill('lakes', 'water', colors.water),
    {
      id: 'roads',
      type: 'line',
      source: STREETS,
      'source-layer': 'roads',
      paint: {
        'line-color': colors.road,
        'line-width': [
          'interpolate',
          ['exponential', 1.5],
          ['zoom'],
          6,
          ['match', ['get', 'kind'], 'highway', 0.8, 'major_road', 0.4, 0],
          12,
          ['match', ['get', 'kind'], 'highway', 3, 'major_road', 1.6, 0.5],
          18,
          ['match', ['get', 'kind'], 'highway', 18, 'major_road', 12, 'path', 1.5, 7],
        ],
      },
    },
    {
      id: 'borders',
      type: 'line',
      source: STREETS,
      'source-layer': 'boundaries',
      paint: { 'line-color': colors.border, 'line-width': 1, 'line-dasharray': [3, 2] },
    },
  ]
}
