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

/** Null where the server knows no tiles: the map shows the outlines of the world alone. */
export function readBasemapSetting(): BasemapSetting | null {
  const content = document.querySelector<HTMLMetaElement>('meta[name="basemap"]')?.content ?? ''
  return content.startsWith('{') ? (JSON.parse(content) as BasemapSetting) : null
}

/** Whether the tiles are there for a place. */
export const hasTilesAt = (
  setting: BasemapSetting | null,
  { lat, lng }: { lat: number; lng: number },
): boolean => {
  const [west, south, east, north] = setting?.bounds ?? [0, 0, 0, 0]
  return lng >= west && lng <= east && lat >= south && lat <= north
}
