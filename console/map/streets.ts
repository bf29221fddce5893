import { DARK, type Flavor, LIGHT, layers } from '@protomaps/basemaps'
import type { LayerSpecification } from 'maplibre-gl'
import type { MapColors } from './colors.ts'

/** The colours of Protomaps, toned so that what moves is what one sees. */
const TONES: Record<'light' | 'dark', Partial<Flavor>> = {
  light: {
    park_a: '#e3ebdd',
    park_b: '#d3e3cb',
    wood_a: '#e3ebdd',
    wood_b: '#d6e4cf',
    scrub_a: '#e6ebdd',
    scrub_b: '#dde7d3',
    industrial: '#eeedec',
    hospital: '#f3e9e6',
    school: '#f1ede2',
    zoo: '#e0e8dc',
    pedestrian: '#f0ede5',
    beach: '#f1ecd8',
    buildings: '#d8d3c8',
    minor_casing: '#dcd8cd',
    minor_service_casing: '#e2dfd5',
    link_casing: '#d3cbb8',
    major_casing_early: '#d3cbb8',
    major_casing_late: '#d3cbb8',
    highway_casing_early: '#d9bf94',
    highway_casing_late: '#d9bf94',
    minor_a: '#ffffff',
    minor_b: '#ffffff',
    major: '#fffdf6',
    link: '#fbeed3',
    highway: '#fbe3b4',
    bridges_highway: '#fbe3b4',
    bridges_highway_casing: '#d9bf94',
    other: '#ece8de',
    railway: '#bdbab2',
    roads_label_minor: '#6a665c',
    roads_label_major: '#545045',
    roads_label_minor_halo: '#ffffff',
    roads_label_major_halo: '#ffffff',
    subplace_label: '#6f6b60',
    city_label: '#3f3c35',
    address_label: '#8a867b',
    ocean_label: '#6685a0',
  },
  dark: {
    park_a: '#18231d',
    park_b: '#1a281f',
    wood_a: '#18231d',
    wood_b: '#18241c',
    scrub_a: '#1a221d',
    scrub_b: '#1a231d',
    industrial: '#1b1f24',
    hospital: '#231d1f',
    school: '#201f1c',
    pedestrian: '#1e2126',
    beach: '#24231d',
    buildings: '#2a2f36',
    minor_casing: '#15181b',
    minor_service_casing: '#15181b',
    link_casing: '#14171a',
    major_casing_early: '#14171a',
    major_casing_late: '#14171a',
    highway_casing_early: '#14171a',
    highway_casing_late: '#14171a',
    minor_service: '#282d33',
    minor_a: '#2f353c',
    minor_b: '#2f353c',
    link: '#3f444b',
    major: '#3b424a',
    highway: '#4d4a43',
    bridges_highway: '#4d4a43',
    other: '#24292e',
    railway: '#3a4048',
    roads_label_minor: '#98a0a9',
    roads_label_major: '#b3bac2',
    roads_label_minor_halo: '#14171a',
    roads_label_major_halo: '#14171a',
    subplace_label: '#8f97a0',
    subplace_label_halo: '#14171a',
    city_label: '#c8ced5',
    city_label_halo: '#14171a',
    address_label: '#767e87',
    address_label_halo: '#14171a',
    ocean_label: '#5f7d96',
  },
}

/** Streets, buildings, water, green, and names in the page's language, drawn of vector tiles of the Protomaps schema. */
export function streetLayers(source: string, colors: MapColors): LayerSpecification[] {
  const { lang, dataset } = document.documentElement
  const theme = dataset.theme === 'dark' ? 'dark' : 'light'
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
