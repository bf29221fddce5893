import { DARK, LIGHT, layers } from '@protomaps/basemaps'
import type { ExpressionSpecification, LayerSpecification, SymbolLayerSpecification } from 'maplibre-gl'
import type { MapColors } from './colors.ts'
import { arrowPicture, shieldPicture } from './picture-names.ts'
import { readTheme, TONES } from './tones.ts'

/** Streets, buildings, water, green, and names in the page's language, drawn of vector tiles of the Protomaps schema. */
export function streetLayers(source: string, colors: MapColors): LayerSpecification[] {
  const { lang } = document.documentElement
  const theme = readTheme()
  const { pois: _icons, ...base } = theme === 'dark' ? DARK : LIGHT
  const { land: earth, water } = colors
  // MapLibre draws text in fonts of the page. It reads weight and style from the first name of a list.
  const fonts = { regular: 'Inter', bold: 'Medium,Inter', italic: 'Italic,Inter' }
  const flavor = { ...base, ...TONES[theme], ...fonts, background: earth, earth, water }
  return (layers(source, flavor, { lang: lang || 'en' }) as LayerSpecification[])
    .filter(({ id }) => id !== 'background')
    .flatMap(splitByKind)
    .map(layer => withOwnIcons(layer, colors))
}

/**
 * A layer for each colour, instead of one whose colour depends on the kind: MapLibre changes a plain colour in its next frame, and
 * reads all tiles again for another one. Another theme is there at once.
 */
function splitByKind(layer: LayerSpecification): LayerSpecification[] {
  const color = layer.type === 'fill' ? layer.paint?.['fill-color'] : undefined
  if (layer.type !== 'fill' || !Array.isArray(color) || color[0] !== 'case') return [layer]
  const [, ...cases] = color as unknown[]
  return Array.from({ length: Math.floor(cases.length / 2) }, (_, index) => {
    const [condition, own] = cases.slice(index * 2) as [['in' | '==', unknown, string | string[][]], string]
    const kinds = [condition[2]].flat().at(-1) as string | string[]
    return {
      ...layer,
      id: `${layer.id}_${index}`,
      filter: ['in', 'kind', ...[kinds].flat()],
      paint: { ...layer.paint, 'fill-color': own },
    }
  })
}

/** From this zoom on a street is wide enough for an arrow in it. */
const ARROWS_FROM_ZOOM = 16
/** A highway has a line for each of its directions, and several in each tile. */
const SHIELD_APART_PX = 40

/** The icons of Protomaps are pictures of another server. Numbers of highways and arrows are drawn here, towns do without. */
function withOwnIcons(layer: LayerSpecification, colors: MapColors): LayerSpecification {
  if (layer.type !== 'symbol' || !layer.layout) return layer
  const tones = TONES[readTheme()]
  const layout = Object.fromEntries(
    Object.entries(layer.layout).filter(([name]) => !name.startsWith('icon-')),
  )
  const own = { ...layer, layout } as SymbolLayerSpecification
  if (layer.id === 'roads_oneway') {
    const icon = { 'icon-image': arrowPicture(tones.roads_label_minor), 'symbol-spacing': 140 }
    return { ...own, minzoom: ARROWS_FROM_ZOOM, layout: { ...layout, ...icon, 'icon-padding': 0 } }
  }
  if (layer.id === 'roads_shields') {
    const { 'text-field': _text, ...rest } = layout
    const picture = shieldPicture(tones.roads_label_major, colors.land) as ExpressionSpecification
    return {
      ...own,
      layout: {
        ...rest,
        'icon-image': picture,
        'icon-rotation-alignment': 'viewport',
        'icon-padding': SHIELD_APART_PX,
        'symbol-spacing': 320,
      },
    }
  }
  return own
}
