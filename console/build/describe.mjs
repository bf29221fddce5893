import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compress, filesIn, ROOT, unlessUpToDate } from './products.mjs'

// Writes the OpenAPI document of the routes, and its types for the console and for the client in clients/typescript, which is compiled
// then. It comes first in a build: the commands in src/commands are compiled against that client.
const DOCUMENT = join(ROOT, 'dist/openapi.json')
const CLIENT = join(ROOT, 'clients/typescript')
const BASE = '/api/v3'
const TYPES = [join(ROOT, 'console/api/interface.d.ts'), join(CLIENT, 'src/interface.ts')]

function replace(file, text, suffixes = []) {
  const partial = `${file}.${process.pid}`
  writeFileSync(partial, text)
  if (suffixes.length > 0) compress(partial)
  for (const suffix of [...suffixes, '']) renameSync(`${partial}${suffix}`, `${file}${suffix}`)
}

async function describeInterface() {
  // The routes are read from their sources: nothing is compiled yet.
  const { register } = await import('tsx/esm/api')
  const unregister = register()
  const { readDocument, writeTypes } = await import('./interface.mjs')
  const document = await readDocument(ROOT)
  await unregister()
  mkdirSync(join(ROOT, 'dist'), { recursive: true })
  replace(TYPES[0], writeTypes(document))
  replace(TYPES[1], writeTypes({ ...document, paths: belowBase(document.paths) }))
  replace(DOCUMENT, JSON.stringify(document), ['.br', '.gz'])
}

/** The operations below /api/v3, by the rest of their paths. */
const belowBase = paths =>
  Object.fromEntries(
    Object.entries(paths)
      .filter(([path]) => path.startsWith(`${BASE}/`))
      .map(([path, methods]) => [path.slice(BASE.length), methods]),
  )

function compileClient() {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', CLIENT], { stdio: 'inherit' })
}

const sources = ['src', 'ingest', 'stream', 'db', 'fair']
  .flatMap(filesIn)
  .filter(file => file.endsWith('.ts'))
await unlessUpToDate(
  [DOCUMENT, ...TYPES],
  join(ROOT, 'dist/.interface'),
  [
    ...sources,
    import.meta.filename,
    join(import.meta.dirname, 'interface.mjs'),
    join(ROOT, 'package-lock.json'),
  ],
  describeInterface,
)
await unlessUpToDate(
  [join(CLIENT, 'dist/index.js'), join(CLIENT, 'dist/index.d.ts')],
  join(CLIENT, 'dist/.inputs'),
  [
    ...filesIn('clients/typescript/src'),
    join(CLIENT, 'package.json'),
    join(CLIENT, 'tsconfig.json'),
    join(ROOT, 'tsconfig.json'),
  ],
  compileClient,
)
