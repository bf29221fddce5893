import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip as gzipBytes } from 'node:zlib'

const BUILT = join(dirname(createRequire(import.meta.url).resolve('#package.json')), 'dist/console')

/** As good as it gets within a tenth of a second for half a megabyte. */
const DOCUMENT_QUALITY = 6

const TYPES: { [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export interface StaticFile {
  type: string
  etag: string
  /** As it is, and as browsers rather take it. */
  bytes: Buffer
  br?: Buffer
  gzip?: Buffer
}

/** What `npm run build` made of console/, by its path: 3 MB that are held in memory, so that nothing else is ever read. */
export function readBuiltFiles(): Map<string, StaticFile> {
  if (!existsSync(join(BUILT, 'index.html'))) {
    throw new Error(`The console is not built (${BUILT} is empty): npm run build, or leave api out of ROLES.`)
  }
  const files = new Map<string, StaticFile>()
  for (const name of readdirSync(BUILT, { recursive: true, encoding: 'utf8' })) {
    const type = TYPES[extname(name)]
    if (!type) continue
    const path = join(BUILT, name)
    const compressed = (suffix: string) =>
      existsSync(`${path}.${suffix}`) ? readFileSync(`${path}.${suffix}`) : undefined
    files.set(name.replaceAll('\\', '/'), {
      ...describe(readFileSync(path), type),
      br: compressed('br'),
      gzip: compressed('gz'),
    })
  }
  return files
}

/** What is made once and sent to many, as the built files are. Compressing is done beside the event loop. */
export async function toStaticFile(bytes: Buffer, type: string): Promise<StaticFile> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: DOCUMENT_QUALITY }
  const [br, gzip] = await Promise.all([
    promisify(brotliCompress)(bytes, { params }),
    promisify(gzipBytes)(bytes),
  ])
  return { ...describe(bytes, type), br, gzip }
}

function describe(bytes: Buffer, type: string): StaticFile {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { type, etag, bytes }
}
