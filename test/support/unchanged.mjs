import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** The files that take minutes: a local run skips those whose product has not changed since they passed. */
const LONG = 'test/integrity'
/** They start the whole server, so a change anywhere in these may break them. */
const PRODUCT = ['src', 'ingest', 'stream', 'db', 'fair', 'bundle.mjs', 'package-lock.json']
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g

/** The long test files below `root`, each with a key that changes with all of its dependencies. */
export function keysOfLongFiles(root) {
  const folder = join(root, LONG)
  if (!existsSync(folder)) return new Map()
  const product = PRODUCT.flatMap(name => listFiles(join(root, name)))
  const files = listFiles(folder).filter(path => path.endsWith('.test.ts'))
  return new Map(files.map(path => [relative(root, path), hash(root, [...product, ...importedBy(path)])]))
}

/** The keys with which the long files passed last. */
export function readPassed(cache) {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(join(cache, 'passed.json'), 'utf8'))))
  } catch {
    return new Map()
  }
}

export function writePassed(cache, passed) {
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(cache, 'passed.json'), JSON.stringify(Object.fromEntries(passed)))
}

function hash(root, paths) {
  const sum = createHash('sha256').update(process.version)
  for (const path of [...new Set(paths)].sort())
    sum.update(`\0${relative(root, path)}\0`).update(readFileSync(path))
  return sum.digest('hex')
}

function listFiles(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  return readdirSync(path).flatMap(name => listFiles(join(path, name)))
}

/** The file, and what it imports from the project, over as many files as it takes. */
function importedBy(path, found = new Set()) {
  if (found.has(path) || !existsSync(path)) return found
  found.add(path)
  for (const [, name] of readFileSync(path, 'utf8').matchAll(IMPORT))
    importedBy(resolve(dirname(path), name), found)
  return found
}
