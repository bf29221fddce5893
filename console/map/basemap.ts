import type { StyleSpecification } from 'maplibre-gl'
import { coversWorld, firstZoomOf, OWNERS, readBasemapSetting, TILE_PATH } from './basemap-setting.ts'
import type { MapColors } from './colors.ts'
import { addWorld } from './world.ts'

const ATTRIBUTION = OWNERS.map(
  ({ name, href }) => `<a href="${href}" target="_blank" rel="noreferrer">${name}</a>`,
).join(' · ')
/** The source of the tiles. */
export const STREETS = 'streets'

/** The style of the base map, in the page's colours: the outlines of the world, and above them the tiles where there are some. */
export async function createStyle(colors: MapColors): Promise<StyleSpecification> {
  const setting = readBasemapSetting()
  const style: StyleSpecification = {
    version: 8,
    sources: {},
    layers: [{ id: 'blank', type: 'background', paint: { 'background-color': colors.blank } }],
  }
  if (!setting || !coversWorld(setting)) await addWorld(style, colors)
  if (!setting) return style
  const { vector, maxZoom, bounds, version } = setting
  const source = {
    tiles: [`${location.origin}${TILE_PATH}{z}/{x}/{y}?v=${version}`],
    minzoom: firstZoomOf(setting),
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
