import { DARK, LIGHT, layers } from '@protomaps/basemaps'
import type { LayerSpecification } from 'maplibre-gl'
import type { MapColors } from './colors.ts'
import { readTheme, TONES } from './tones.ts'

/** Streets, buildings, water, green, and names in the page's language, drawn of vector tiles of the Protomaps schema. */
export function streetLayers(source: string, colors: MapColors): LayerSpecification[] {
  const { lang } = document.documentElement
  const theme = readTheme()
  const { pois: _icons, ...base } = theme === 'dark' ? DARK : LIGHT
  const { land: earth, water } = colors
  // MapLibre draws text in fonts of the browser. It reads the weight from the first name.
  const fonts = { regular: 'system-ui', bold: 'Noto Sans Medium', italic: 'Noto Sans Italic' }
  const flavor = { ...base, ...TONES[theme], ...fonts, background: earth, earth, water }
  return (layers(source, flavor, { lang: lang || 'en' }) as LayerSpecification[])
    .filter(({ id }) => id !== 'background' && id !== 'roads_oneway')
    .map(withoutIcons)
}

/** The icons of Protomaps are pictures of another server. The numbers of roads and the names of towns do without. */
function withoutIcons(layer: LayerSpecification): LayerSpecification {
  if (layer.type !== 'symbol' || !layer.layout) return layer
  const layout = Object.entries(layer.layout).filter(([name]) => !name.startsWith('icon-'))
  return { ...layer, layout: Object.fromEntries(layout) } as LayerSpecification
}
