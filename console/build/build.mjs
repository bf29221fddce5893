import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

// Bundles the pages into dist/console, and writes the OpenAPI document and its types from the server that was just compiled. Products
// that are up to date are left alone, so that `npm start` costs nothing. Each file is complete before it gets its place, and a page
// comes after the files that it names: several builds may run at once, and a server that starts meanwhile finds the old pages or the
// new ones.
const ROOT = resolve(import.meta.dirname, '../..')
const OUTPUT = join(ROOT, 'dist/console')
const DOCUMENT = join(ROOT, 'dist/openapi.json')
const TYPES = join(ROOT, 'console/api/interface.d.ts')
/** Smaller files fit into one packet uncompressed. */
const COMPRESSED_FROM = 1_000
const COMPRESSIBLE = /\.(js|css|html|svg|json|txt)$/

const filesIn = folder =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.endsWith('.d.ts') && !entry.name.endsWith('.map'))
    .map(entry => join(entry.parentPath, entry.name))
    .sort()

function digest(files) {
  const hash = createHash('sha256').update(process.version)
  for (const file of files) hash.update(file.slice(ROOT.length)).update(readFileSync(file))
  return hash.digest('hex')
}

async function unlessUpToDate(products, stamp, files, make) {
  const now = digest(files)
  if ([...products, stamp].every(existsSync) && readFileSync(stamp, 'utf8') === now) return
  await make()
  mkdirSync(resolve(stamp, '..'), { recursive: true })
  writeFileSync(stamp, now)
}

async function describeInterface() {
  const { readDocument, writeTypes } = await import('./interface.mjs')
  const document = await readDocument(ROOT)
  const partial = `${TYPES}.${process.pid}`
  writeFileSync(partial, writeTypes(document))
  renameSync(partial, TYPES)
  const written = `${DOCUMENT}.${process.pid}`
  writeFileSync(written, JSON.stringify(document))
  compress(written)
  for (const suffix of ['.br', '.gz', '']) renameSync(`${written}${suffix}`, `${DOCUMENT}${suffix}`)
}

/** Writes the compressed versions beside the file. */
function compress(path) {
  const bytes = readFileSync(path)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}

async function bundle() {
  // Tests build too, with another NODE_ENV, in which React would be bundled for development.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  const partial = join(ROOT, `dist/console.${process.pid}`)
  await build({
    configFile: join(ROOT, 'console/build/vite.config.ts'),
    logLevel: 'error',
    build: { outDir: partial, emptyOutDir: true },
  })
  for (const file of readdirSync(partial, { recursive: true, encoding: 'utf8' })) {
    if (!COMPRESSIBLE.test(file)) continue
    const path = join(partial, file)
    if (statSync(path).size >= COMPRESSED_FROM) compress(path)
  }
  // Pages come last, after the files that they name. Files of older builds are deleted.
  const made = listFiles(partial).sort((one, other) => isPage(one) - isPage(other))
  for (const file of made) {
    mkdirSync(join(OUTPUT, dirname(file)), { recursive: true })
    renameSync(join(partial, file), join(OUTPUT, file))
  }
  for (const file of listFiles(OUTPUT)) if (!made.includes(file)) rmSync(join(OUTPUT, file), { force: true })
  rmSync(partial, { recursive: true, force: true })
}

const isPage = file => (file.endsWith('.html') ? 1 : 0)
const listFiles = folder =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))

const floors = ['dist/src', 'dist/ingest', 'dist/stream', 'dist/db']
const compiled = floors.flatMap(filesIn).filter(file => file.endsWith('.js'))
await unlessUpToDate(
  [DOCUMENT, TYPES],
  join(ROOT, 'dist/.interface'),
  [...compiled, join(import.meta.dirname, 'interface.mjs')],
  describeInterface,
)
await unlessUpToDate(
  [join(OUTPUT, 'index.html')],
  join(OUTPUT, '.inputs'),
  [...filesIn('console'), join(ROOT, 'package-lock.json'), join(ROOT, 'package.json')],
  bundle,
)
