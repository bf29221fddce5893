import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { MIGRATIONS, PROJECT } from '../folders.ts'

/**
 * A prepared database from which an empty DATA_DIR starts: setting up PostgreSQL's own tables, the extensions and all
 * migrations takes WebAssembly 12 s of processor time, and unpacking them 1 s. `npm run build` creates it
 * (db/prepare-template.ts). Its name is a hash of everything that it was made of, so that a template with other
 * migrations, or of another program, is never used: without a template of this name a database is set up step by step.
 *
 * It contains no accounts and no keys, and its times are set at the first start (db/migrate.ts). All databases made
 * from it share PostgreSQL's system identifier, which says whose log a standby or an archive may replay; PGlite has
 * neither.
 */
export function templatePath(): string {
  const drivers = join(PROJECT, 'dist/db/drivers')
  const { dependencies } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'))
  const hash = createHash('sha256').update(dependencies['@electric-sql/pglite'])
  const inputs = [
    ...['migrate.js', 'extensions.js', 'tenant-role.js', 'prepare-template.js'].map(name =>
      join(PROJECT, 'dist/db', name),
    ),
    ...['pglite-template.js', 'pglite-worker.js', 'postgis.tar.gz'].map(name => join(drivers, name)),
    ...listMigrations().map(name => join(MIGRATIONS, name)),
  ]
  for (const path of inputs) hash.update(`${path.slice(PROJECT.length)}\n`).update(readFileSync(path))
  return join(drivers, `template-${hash.digest('hex').slice(0, 16)}.br`)
}

/** The names of finished templates, but not of drafts that another build is about to rename. */
export const TEMPLATE = /^template-[0-9a-f]{16}\.br$/

const listMigrations = () =>
  readdirSync(MIGRATIONS)
    .filter(name => name.endsWith('.sql'))
    .sort()

/** Catalogs occur three times, once in each of PostgreSQL's databases: this window covers the previous one. */
const WINDOW_BITS = 24
const CHUNK_BYTES = 1024 * 1024

/** A line of JSON with the folders and files, the files with their sizes, followed by their contents in that order. */
interface Contents {
  folders: string[]
  files: [name: string, bytes: number][]
}

/** Packs a directory whose database is closed. */
export function packTemplate(directory: string): Buffer {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
    .map(entry => ({ entry, name: join(entry.parentPath, entry.name).slice(directory.length + 1) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const files = entries.flatMap(({ entry, name }) =>
    entry.isFile() ? [{ name, bytes: readFileSync(join(directory, name)) }] : [],
  )
  const contents: Contents = {
    folders: entries.flatMap(({ entry, name }) => (entry.isDirectory() ? [name] : [])),
    files: files.map(({ name, bytes }) => [name, bytes.length]),
  }
  return brotliCompressSync(
    Buffer.concat([Buffer.from(`${JSON.stringify(contents)}\n`), ...files.map(({ bytes }) => bytes)]),
    { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS } },
  )
}

/** Unpacks into a directory that does not exist yet. Nothing is synced. */
export function unpackTemplate(path: string, directory: string): void {
  const unpacked = brotliDecompressSync(readFileSync(path), { chunkSize: CHUNK_BYTES })
  let at = unpacked.indexOf('\n') + 1
  const { folders, files } = JSON.parse(unpacked.toString('utf8', 0, at)) as Contents
  mkdirSync(directory, { mode: 0o700 })
  for (const name of folders) mkdirSync(join(directory, name), { mode: 0o700 })
  for (const [name, bytes] of files) {
    writeWhole(join(directory, name), unpacked.subarray(at, at + bytes))
    at += bytes
  }
}

function writeWhole(path: string, bytes: Buffer): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at)
  } finally {
    closeSync(file)
  }
}
