import type { Map as MapLibre, RequestTransformFunction } from 'maplibre-gl'
import { getSession } from '../session.ts'
import { TILE_PATH } from './basemap-setting.ts'

/** As long as the server leaves alone the other server that holds the tiles. */
const AGAIN_AFTER_MS = 5_000

/** Tiles are for whoever is signed in, or holds a tracking link. */
export const authorizeTiles =
  (linkToken?: string): RequestTransformFunction =>
  url => {
    if (!new URL(url, location.href).pathname.startsWith(TILE_PATH)) return undefined
    if (linkToken !== undefined) return { url: `${url}&token=${encodeURIComponent(linkToken)}` }
    const token = getSession()?.token
    return token ? { url, headers: { authorization: `Bearer ${token}` } } : { url }
  }

/** Asks again for tiles that failed, some time later: a tile that failed stays empty otherwise. */
export function retryTiles(map: MapLibre): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  map.on('error', event => {
    const { error, sourceId } = event as unknown as { error: Error; sourceId?: string }
    if (sourceId === undefined) return console.error(error)
    timer ??= setTimeout(() => {
      timer = undefined
      if (map.getSource(sourceId)) map.refreshTiles(sourceId)
    }, AGAIN_AFTER_MS)
  })
  map.on('remove', () => clearTimeout(timer))
}
