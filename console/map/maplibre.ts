import 'maplibre-gl/dist/maplibre-gl.css'
import { type MapOptions, ScaleControl, setWorkerUrl } from 'maplibre-gl'
// A file of ours: the policy of the page allows no other worker.
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
import { fromRem } from '../parts/rem.ts'
import { createStyle } from './basemap.ts'
import type { MapColors } from './colors.ts'
import { PacedMap } from './paced-map.ts'
import { drawPictures } from './pictures.ts'

setWorkerUrl(workerUrl)

/** Where a map is looked at. */
export type View = Pick<MapOptions, 'center' | 'zoom'>

const WORLD: View = { center: [10, 25], zoom: 1.3 }

/** What MapLibre says by itself to a screen reader. */
export interface MapWords {
  canvas: string
  sources: string
}

/** A map that always has the north above, with its scale: everything that moves on it is drawn by ourselves. */
export async function openMap(
  container: HTMLElement,
  colors: MapColors,
  words: MapWords,
  view: View = WORLD,
) {
  const map = new PacedMap({
    container,
    style: await createStyle(colors),
    ...view,
    maxZoom: 19,
    maxPitch: 0,
    dragRotate: false,
    touchPitch: false,
    pitchWithRotate: false,
    attributionControl: { compact: true },
    fadeDuration: 0,
    locale: { 'Map.Title': words.canvas, 'AttributionControl.ToggleAttribution': words.sources },
  })
  // Of the round lengths up to it the shortest is half as long, which has to hold "1000 km".
  const scale = new ScaleControl({ maxWidth: fromRem(7.5) })
  map.addControl(scale, 'bottom-left')
  map.touchZoomRotate.disableRotation()
  map.keyboard.disableRotation()
  drawPictures(map)
  // What is added to a map is added to its style, which is there with a frame.
  if (!map.getStyle()) await map.once('style.load')
  return { map, scale }
}
