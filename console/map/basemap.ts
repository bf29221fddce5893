import type { StyleSpecification } from 'maplibre-gl'
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
    const { streetLayers } = await import('./streets.ts')
    style.layers.push(...streetLayers(STREETS, colors))
  } else {
    style.sources[STREETS] = { type: 'raster', tileSize: 256, ...source }
    style.layers.push({ id: STREETS, type: 'raster', source: STREETS })
  }
  return style
}

/** The zoom at which a quarter of a tile is as wide as the area: below it the tiles would be a patch on the outlines. */
const zoomOf = (across: number) => Math.floor(Math.log2(WORLD_DEGREES / across)) - 2
