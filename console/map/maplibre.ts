import 'maplibre-gl/dist/maplibre-gl.css'
import { type MapOptions, prewarm, ScaleControl, setWorkerUrl } from 'maplibre-gl'
// The worker is a file of our own, as the page's policy allows no other worker.
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
import { fromRem } from '../parts/rem.ts'
import { createStyle } from './basemap.ts'
import type { MapColors } from './colors.ts'
import { PacedMap } from './paced-map.ts'
import { drawPictures } from './pictures.ts'
import { authorizeTiles, retryTiles } from './tile-requests.ts'
import { loadTypeface } from './typeface.ts'

setWorkerUrl(workerUrl)

export { prewarm }

/** The center and zoom of a map. */
export type View = Pick<MapOptions, 'center' | 'zoom'>

const WORLD: View = { center: [10, 25], zoom: 1.3 }

/** The texts of MapLibre for screen readers. */
export interface MapWords {
  canvas: string
  sources: string
}

/**
 * Opens a map with a scale and north at the top. Everything that moves on it is drawn by ourselves. `linkToken` is the token of the
 * tracking link that opens its tiles, instead of the session.
 */
export async function openMap(
  container: HTMLElement,
  colors: MapColors,
  words: MapWords,
  view: View = WORLD,
  linkToken?: string,
) {
  const [style] = await Promise.all([createStyle(colors), loadTypeface()])
  const map = new PacedMap({
    container,
    style,
    ...view,
    maxZoom: 19,
    maxPitch: 0,
    dragRotate: false,
    touchPitch: false,
    pitchWithRotate: false,
    transformRequest: authorizeTiles(linkToken),
    attributionControl: { compact: true },
    fadeDuration: 0,
    locale: { 'Map.Title': words.canvas, 'AttributionControl.ToggleAttribution': words.sources },
  })
  // The scale shows a round length. The shortest bar is half of this width and has to hold "1000 km".
  const scale = new ScaleControl({ maxWidth: fromRem(7.5) })
  map.addControl(scale, 'bottom-left')
  map.touchZoomRotate.disableRotation()
  map.keyboard.disableRotation()
  drawPictures(map)
  retryTiles(map)
  // Layers are added to the style, which exists after the first frame.
  if (!map.getStyle()) await map.once('style.load')
  return { map, scale }
}
