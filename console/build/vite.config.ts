import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { packArcs } from '../map/arcs.ts'
import { ADDRESSES } from '../paths.ts'
import { mapLibrary } from './map-library.ts'
import { typeface } from './typeface.ts'

const CONSOLE = resolve(import.meta.dirname, '..')

/** React Aria has texts in thirty languages. The console has two, so only those are bundled. */
const ownLanguages: Plugin = {
  name: 'own-languages',
  load(id) {
    const language = /\/react-(?:aria|stately)[^/]*\/.*\/intl\/(?:.*\/)?(\w\w)-\w\w\.m?js$/.exec(id)?.[1]
    if (language && language !== 'en' && language !== 'de') return 'export default {}'
  },
}

/**
 * The steps of the outlines are rounded to this: less than half a pixel where the coarse outlines are shown (console/map/world.ts),
 * and 0.8 km of the fine ones, which are no truer than that.
 */
const COARSER: Record<string, number> = { '110m': 32, '50m': 2 }

type Arc = [number, number][]

/** Rounds the arcs of a topology to larger steps. Each point is rounded by itself, so arcs that met still meet. */
function coarsen(arcs: Arc[], by: number): Arc[] {
  return arcs.map(arc => {
    let [x, y, lastX, lastY] = [0, 0, 0, 0]
    return arc.map(([dx, dy]) => {
      x += dx
      y += dy
      const [toX, toY] = [Math.round(x / by), Math.round(y / by)]
      const step: [number, number] = [toX - lastX, toY - lastY]
      lastX = toX
      lastY = toY
      return step
    })
  })
}

/** Only the outlines of the countries are drawn: their names and codes are left out. The arcs are packed (console/map/arcs.ts). */
const outlines: Plugin = {
  name: 'outlines',
  enforce: 'pre',
  load(id) {
    const detail = /world-atlas\/countries-(\w+)\.json$/.exec(id)?.[1]
    if (!detail) return
    const by = COARSER[detail] ?? 1
    const world = JSON.parse(readFileSync(id, 'utf8'))
    const geometries = world.objects.countries.geometries.map(
      ({ type, arcs }: { type: string; arcs: unknown }) => ({ type, arcs }),
    )
    world.transform.scale = world.transform.scale.map((step: number) => step * by)
    return JSON.stringify({
      ...world,
      arcs: packArcs(coarsen(world.arcs, by)),
      objects: { countries: { type: 'GeometryCollection', geometries } },
    })
  },
}

/** Only MapLibre's attribution control is used: the styles of the others, 64 kB with their images, are left out. */
const UNUSED_CONTROL =
  /[^{}]*maplibregl-(?:ctrl-(?:icon|logo|scale)|popup|marker|user-location|cooperative)[^{}]*\{[^{}]*\}/g
const mapStyles: Plugin = {
  name: 'map-styles',
  enforce: 'pre',
  load(id) {
    if (!/maplibre-gl\/dist\/maplibre-gl\.css$/.test(id)) return
    return readFileSync(id, 'utf8').replace(UNUSED_CONTROL, '')
  },
}

/** The addresses at which the server sends the console (src/resources/console/routes.ts). */
const addresses: Plugin = {
  name: 'addresses',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'paths.json', source: JSON.stringify(ADDRESSES) })
  },
}

export default defineConfig({
  root: CONSOLE,
  plugins: [react(), ownLanguages, outlines, mapStyles, mapLibrary(), typeface(), addresses],
  build: {
    target: 'es2022',
    // A separate file is cached forever, and the page's policy forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // MapLibre alone has 900 kB. The compressed size matters, which test/console/ measures.
    chunkSizeWarningLimit: 1_200,
    rolldownOptions: {
      input: ['index', 'track', 'reference'].map(page => resolve(CONSOLE, `${page}.html`)),
      output: {
        codeSplitting: {
          // The queries of the first load in one file. Otherwise dialogs that use only a part of them cut it into three.
          groups: [
            {
              name: 'query',
              test: /@tanstack\/(?:query-core|react-query)\//,
              tags: ['$initial'],
              includeDependenciesRecursively: false,
            },
            // The modules that only the console's first load has, in one file: a dozen small ones are 4 kB larger. No file
            // that the page of a tracking link loads may be in it (parts/rem.ts).
            {
              name: 'frame',
              test: /\/console\/(?:api\/(?:client|failure|lists|workspace|renewal)\.|parts\/(?!icon|logo|rem\.)|live\/(?:live|fleet|changes|connection|socket)\.|map\/(?:areas|geometry|labels|picture-names|pictures|center-around|use-map)\.|shell\/|pages\/)/,
              tags: ['$initial'],
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  // For `npm run dev:console` with a server beside it.
  server: { proxy: { '/api': { target: 'http://127.0.0.1:3000', ws: true } } },
})
