import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { compress, filesIn, ROOT, unlessUpToDate } from './products.mjs'

// Bundles the pages into dist/console. A page comes after the files that it names: a server that starts meanwhile finds the old pages
// or the new ones.
const OUTPUT = join(ROOT, 'dist/console')
/** Smaller files fit into one packet uncompressed. */
const COMPRESSED_FROM = 1_000
const COMPRESSIBLE = /\.(js|css|html|svg|json|txt)$/

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

await unlessUpToDate(
  [join(OUTPUT, 'index.html')],
  join(OUTPUT, '.inputs'),
  [...filesIn('console'), join(ROOT, 'package-lock.json'), join(ROOT, 'package.json')],
  bundle,
)
