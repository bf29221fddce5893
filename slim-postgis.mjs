import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'

// The archive of PostGIS that the embedded database unpacks into its memory at every start, without what it never uses:
// raster, topology, geocoder, the scripts that upgrade, and the projections of the world's surveyors. Of 8,500 reference
// systems, whose one statement took half of a first start, it keeps that of GPS and that of web maps; PROJ computes both
// without its database.
const KEPT = {
  'lib/postgresql/postgis-3.so': contents => contents,
  'share/postgresql/extension/postgis.control': contents => contents,
  'share/postgresql/extension/postgis--3.6.2.sql': withFewSystems,
}
const SYSTEMS = [3857, 4326]

const source = fileURLToPath(import.meta.resolve('@electric-sql/pglite-postgis')).replace(
  /[^/\\]+$/,
  'postgis.tar.gz',
)
const target = 'dist/db/drivers/postgis.tar.gz'
const isNewer = path => !existsSync(target) || statSync(path).mtimeMs > statSync(target).mtimeMs
if ([source, fileURLToPath(import.meta.url)].some(isNewer)) {
  const archive = slim(gunzipSync(readFileSync(source)))
  mkdirSync('dist/db/drivers', { recursive: true })
  // Two builds may run at once.
  writeFileSync(`${target}.${process.pid}`, gzipSync(archive))
  renameSync(`${target}.${process.pid}`, target)
}

/** Reduces a tar archive (POSIX ustar): it consists of blocks of 512 bytes, each file's header before its contents. */
function slim(tar) {
  const kept = []
  const missing = new Set(Object.keys(KEPT))
  for (let at = 0; at < tar.length && tar[at] !== 0; ) {
    const header = Buffer.from(tar.subarray(at, at + 512))
    const name = header.toString('utf8', 0, 100).replace(/\0.*$/s, '')
    const size = Number.parseInt(header.toString('utf8', 124, 136), 8)
    if (missing.delete(name)) {
      const contents = KEPT[name](tar.subarray(at + 512, at + 512 + size))
      kept.push(withSize(header, contents.length), contents, Buffer.alloc(-contents.length & 511))
    }
    at += 512 + size + (-size & 511)
  }
  if (missing.size > 0) throw new Error(`${source} lacks ${[...missing].join(', ')}`)
  return Buffer.concat([...kept, Buffer.alloc(1024)])
}

function withSize(header, size) {
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  header.fill(' ', 148, 156)
  const sum = header.reduce((sum, byte) => sum + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function withFewSystems(contents) {
  const script = contents.toString('utf8')
  const begin =
    'INSERT INTO "spatial_ref_sys" ("srid", "auth_name", "auth_srid", "srtext", "proj4text") VALUES\n'
  const end = '\nON CONFLICT (srid) DO NOTHING;'
  const from = script.indexOf(begin) + begin.length
  const to = script.indexOf(end)
  const rows = script.slice(from, to).split('\n')
  const few = SYSTEMS.map(srid => rows.find(row => row.startsWith(`(${srid}, `))?.replace(/,$/, ''))
  if (from < begin.length || to < from || few.includes(undefined)) {
    throw new Error(`${source} lists its reference systems in another way`)
  }
  return Buffer.from(script.slice(0, from) + few.join(',\n') + script.slice(to))
}
