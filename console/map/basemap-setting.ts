/** The server's tiles, whatever `BASEMAP` names. */
export const TILE_PATH = '/api/v3/tiles/'

/** The tiles of the basemap as the server describes them in the page (src/basemap/tiles.ts). */
export interface BasemapSetting {
  /** Vector tiles of the Protomaps schema; else images. */
  vector: boolean
  minZoom: number
  maxZoom: number
  /** West, south, east and north. */
  bounds: readonly [number, number, number, number]
  /** Differs where the tiles do. */
  version: string
}

const note = () => document.querySelector<HTMLMetaElement>('meta[name="basemap"]')
const listeners = new Set<() => void>()

/** Null where the server knows no tiles: the map shows the outlines of the world alone. */
export function readBasemapSetting(): BasemapSetting | null {
  const content = note()?.content ?? ''
  return content.startsWith('{') ? (JSON.parse(content) as BasemapSetting) : null
}

/** Notes that the server has another basemap now, and calls the listeners. */
export function changeBasemapSetting(setting: BasemapSetting | null): void {
  const meta = note()
  if (meta) meta.content = JSON.stringify(setting)
  for (const listener of listeners) listener()
}

export function onBasemapSetting(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Whether the tiles are there for a place. */
export const hasTilesAt = (
  setting: BasemapSetting | null,
  { lat, lng }: { lat: number; lng: number },
): boolean => {
  const [west, south, east, north] = setting?.bounds ?? [0, 0, 0, 0]
  return lng >= west && lng <= east && lat >= south && lat <= north
}

const WORLD_DEGREES = 360

/** Whether the tiles are those of the whole world. */
export const coversWorld = ({ bounds: [west, , east] }: BasemapSetting): boolean =>
  east - west > WORLD_DEGREES - 1

/**
 * The zoom from which on tiles are shown: a quarter of a tile is as wide as their area. Below it they would be a patch on the
 * outlines of the world.
 */
export function firstZoomOf(setting: BasemapSetting): number {
  const [west, , east] = setting.bounds
  const first = coversWorld(setting) ? 0 : Math.floor(Math.log2(WORLD_DEGREES / (east - west))) - 2
  return Math.max(setting.minZoom, first)
}

/** The attribution that every map of these tiles has to show. */
export const OWNERS = [
  { name: '© OpenStreetMap contributors', href: 'https://www.openstreetmap.org/copyright' },
  { name: 'Protomaps', href: 'https://protomaps.com' },
] as const
