import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { PROJECT } from '../../../db/folders.ts'

const DIST = join(PROJECT, 'dist')
const PAGES = join(DIST, 'console')

const TYPES: { [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

export interface StaticFile {
  type: string
  /** Weak, since it stands for every encoding of the file. */
  etag: string
  /** The file itself, and its compressed forms, which browsers prefer. */
  bytes: Buffer
  br?: Buffer
  gzip?: Buffer
}

/**
 * The files that `npm run build` made of console/, by path. The 3 MB are kept in memory, so that no other file is ever
 * read.
 */
export function readBuiltFiles(): Map<string, StaticFile> {
  if (!existsSync(join(PAGES, 'index.html'))) {
    throw new Error(`The console is not built (${PAGES} is empty): npm run build, or leave api out of ROLES.`)
  }
  const files = new Map<string, StaticFile>()
  for (const name of readdirSync(PAGES, { recursive: true, encoding: 'utf8' })) {
    if (TYPES[extname(name)]) files.set(name.replaceAll('\\', '/'), read(join(PAGES, name)))
  }
  return files
}

/** The OpenAPI document: 780 kB, 40 compressed, and the same for everybody. */
export const readDocument = (): StaticFile => read(join(DIST, 'openapi.json'))

function read(path: string): StaticFile {
  const bytes = readFileSync(path)
  const compressed = (suffix: string) =>
    existsSync(`${path}.${suffix}`) ? readFileSync(`${path}.${suffix}`) : undefined
  const etag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { type: TYPES[extname(path)] as string, etag, bytes, br: compressed('br'), gzip: compressed('gz') }
}
