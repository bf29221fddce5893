import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { PATHS } from '../paths.ts'

const CONSOLE = resolve(import.meta.dirname, '..')

/** React Aria speaks thirty languages; we have texts in two, and it says its own sentences in those. */
const ownLanguages: Plugin = {
  name: 'own-languages',
  load(id) {
    const language = /\/react-(?:aria|stately)[^/]*\/.*\/intl\/(?:.*\/)?(\w\w)-\w\w\.m?js$/.exec(id)?.[1]
    if (language && language !== 'en' && language !== 'de') return 'export default {}'
  },
}

/** As much coarser is less than half a pixel where the coarse outlines are shown (console/map/basemap.ts), and 6 kB less. */
const COARSER = 6

/** The arcs of a topology in larger steps. Each place is rounded by itself: what met still meets. */
function coarsen(arcs: [number, number][][]): [number, number][][] {
  return arcs.map(arc => {
    let [x, y, lastX, lastY] = [0, 0, 0, 0]
    return arc.map(([dx, dy]) => {
      x += dx
      y += dy
      const [toX, toY] = [Math.round(x / COARSER), Math.round(y / COARSER)]
      const step: [number, number] = [toX - lastX, toY - lastY]
      lastX = toX
      lastY = toY
      return step
    })
  })
}

/** Of the world's countries we draw the outlines: their names and codes stay behind. */
const outlines: Plugin = {
  name: 'outlines',
  enforce: 'pre',
  load(id) {
    if (!/world-atlas\/countries-\w+\.json$/.test(id)) return
    const world = JSON.parse(readFileSync(id, 'utf8'))
    const geometries = world.objects.countries.geometries.map(
      ({ type, arcs }: { type: string; arcs: unknown }) => ({ type, arcs }),
    )
    if (id.includes('110m')) {
      world.arcs = coarsen(world.arcs)
      world.transform.scale = world.transform.scale.map((step: number) => step * COARSER)
    }
    return JSON.stringify({ ...world, objects: { countries: { type: 'GeometryCollection', geometries } } })
  },
}

/** Of MapLibre's controls we show who made the map: the others, 64 kB with the pictures of their buttons, stay behind. */
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
    this.emitFile({ type: 'asset', fileName: 'paths.json', source: JSON.stringify(PATHS) })
  },
}

export default defineConfig({
  root: CONSOLE,
  plugins: [react(), ownLanguages, outlines, mapStyles, addresses],
  build: {
    target: 'es2022',
    // A file of its own is kept forever; data: would be in the way of the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // MapLibre alone has 900 kB; what matters is compressed, and test/console/ measures it.
    chunkSizeWarningLimit: 1_200,
    rolldownOptions: {
      input: ['index', 'track', 'reference'].map(page => resolve(CONSOLE, `${page}.html`)),
    },
  },
  worker: { format: 'es' },
  // `npm run dev:console` with a server beside it.
  server: { proxy: { '/api': { target: 'http://127.0.0.1:3000', ws: true } } },
})
