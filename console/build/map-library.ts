import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Plugin, transformWithOxc } from 'vite'

const require = createRequire(import.meta.url)
const PACKAGE = require.resolve('maplibre-gl/package.json')
const SOURCE = join(dirname(PACKAGE), 'src')
const WORKER = 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
const WORKER_URL = '\0maplibre-worker-url'

/** MapLibre's classes declare fields that its base classes have set: its own build has `useDefineForClassFields: false`. */
const AS_MAPLIBRE = {
  target: 'es2021',
  typescript: { removeClassFieldsWithoutInitializer: true },
  assumptions: { setPublicClassFields: true },
  sourcemap: false,
}

/**
 * Bundles MapLibre from the source in its package. Its own bundles hold two copies of what the page and the worker share: together
 * 355 kB compressed. In this build both load one file: 262 kB, without the controls that are not used.
 */
export function mapLibrary(): Plugin {
  let worker: string
  return {
    name: 'map-library',
    apply: 'build',
    enforce: 'pre',
    buildStart() {
      worker = this.emitFile({
        type: 'chunk',
        id: join(SOURCE, 'source/worker.ts'),
        name: 'maplibre-gl-worker',
        preserveSignature: false,
      })
    },
    resolveId(id) {
      if (id === 'maplibre-gl') return join(SOURCE, 'index.ts')
      if (id === WORKER) return WORKER_URL
    },
    async load(id) {
      if (id === WORKER_URL) return `export default import.meta.ROLLUP_FILE_URL_${worker}`
      // MapLibre reads only the version of its package.
      if (id === PACKAGE) return JSON.stringify({ version: require(PACKAGE).version })
      if (!id.startsWith(SOURCE) || !id.endsWith('.ts')) return
      const { code } = await transformWithOxc(readFileSync(id, 'utf8'), id, AS_MAPLIBRE)
      return { code, moduleType: 'js' }
    },
  }
}
