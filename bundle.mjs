import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'

// Bundles the server, and each of the threads that it starts, into one file below dist/server with all that it imports: to find and
// load a thousand modules took a start 0.6 s of its 1.3 s of processor. A file needs no other, so that a server that runs
// while somebody builds never finds half of the new ones. Products that are up to date are left alone.
const OUTPUT = 'dist/server'
const FLOORS = ['src', 'ingest', 'stream', 'db', 'fair']
/** They find files of their own beside themselves: WebAssembly, and a library for this machine. */
const EXTERNAL = [/^@electric-sql\//, /^@node-rs\//]
const ENTRY = /^src\/main\.ts$|(^|[/-])worker\.ts$/

const sources = FLOORS.filter(existsSync).flatMap(floor =>
  readdirSync(floor, { recursive: true, encoding: 'utf8' })
    .map(name => join(floor, name))
    .filter(path => path.endsWith('.ts')),
)
const entries = sources.filter(path => ENTRY.test(path))
const nameOf = entry => join(OUTPUT, entry.replace(/\.ts$/, '.js'))

const hash = createHash('sha256')
for (const path of [...sources.sort(), 'package-lock.json', 'tsconfig.json', import.meta.filename])
  hash.update(`\0${path}\0`).update(readFileSync(path))
const inputs = hash.digest('hex')
const stamp = join(OUTPUT, '.inputs')
const isUpToDate =
  entries.map(nameOf).every(existsSync) && existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs

if (!isUpToDate) {
  // Two builds may run at once.
  const draft = `${OUTPUT}.${process.pid}`
  for (const entry of entries) {
    const bundle = await rolldown({
      input: entry,
      platform: 'node',
      external: EXTERNAL,
      // A library that exceljs contains has a way to read from Amazon's storage, which it takes if it is there.
      checks: { unresolvedImport: false },
    })
    const name = nameOf(entry)
    await bundle.write({ file: join(draft, name), format: 'esm', sourcemap: true, codeSplitting: false })
    await bundle.close()
    mkdirSync(dirname(name), { recursive: true })
    for (const suffix of ['.map', '']) renameSync(join(draft, `${name}${suffix}`), `${name}${suffix}`)
  }
  writeFileSync(stamp, inputs)
  rmSync(draft, { recursive: true, force: true })
}

// A build without the repository, as in an image, is told the commit.
function readCommit() {
  if (process.env.COMMIT) return process.env.COMMIT
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const release = join(OUTPUT, `release.json.${process.pid}`)
writeFileSync(release, JSON.stringify({ version, commit: readCommit() }))
renameSync(release, join(OUTPUT, 'release.json'))
