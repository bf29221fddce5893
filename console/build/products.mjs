import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

// Products of a build that are up to date are left alone, so that `npm start` costs nothing. Each file is complete before it gets its
// place: several builds may run at once, and a server may start meanwhile.
export const ROOT = resolve(import.meta.dirname, '../..')

/** The files below a folder, without products of other steps. */
export const filesIn = folder =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.endsWith('.d.ts') && !entry.name.endsWith('.map'))
    .map(entry => join(entry.parentPath, entry.name))
    .sort()

function digest(files) {
  const hash = createHash('sha256').update(process.version)
  for (const file of files) hash.update(file.slice(ROOT.length)).update(readFileSync(file))
  return hash.digest('hex')
}

export async function unlessUpToDate(products, stamp, files, make) {
  const now = digest(files)
  if ([...products, stamp].every(existsSync) && readFileSync(stamp, 'utf8') === now) return
  await make()
  mkdirSync(resolve(stamp, '..'), { recursive: true })
  writeFileSync(stamp, now)
}

/** Writes the compressed versions beside the file. */
export function compress(path) {
  const bytes = readFileSync(path)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}
