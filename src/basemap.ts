import { closeSync, openSync, readSync } from 'node:fs'

/**
 * The background of the console's map: the outlines of the world that come with it, tiles of another server, or a file
 * of tiles.
 */
export type Basemap =
  | { kind: 'world' }
  | { kind: 'tiles'; url: string; vector: boolean }
  | { kind: 'file'; path: string; vector: boolean }

/**
 * https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md: the magic number, the version, and at byte 99 the
 * type of the tiles.
 */
const HEADER_BYTES = 127
const TILE_TYPE_AT = 99
const VECTOR = 1
const IMAGES: readonly number[] = [2, 3, 4, 5]

/** Reads `BASEMAP`. A returned text is the error, in one sentence. */
export function readBasemap(value: string | undefined): Basemap | string {
  if (value === undefined) return { kind: 'world' }
  if (/^https?:\/\//.test(value)) return readTileUrl(value)
  if (value.endsWith('.pmtiles')) return readTileFile(value)
  return `BASEMAP has to be a tile URL with {z}/{x}/{y} or a .pmtiles file, it is "${value}"`
}

function readTileUrl(url: string): Basemap | string {
  const missing = ['{z}', '{x}', '{y}'].filter(part => !url.includes(part))
  if (missing.length > 0) return `BASEMAP has to name ${missing.join(', ')} in its URL, it is "${url}"`
  // The origin goes into the page's Content Security Policy unchanged.
  if (!URL.canParse(url) || /[\s;,'"]/.test(new URL(url).origin)) return `BASEMAP is not a URL: "${url}"`
  return { kind: 'tiles', url, vector: /\.(mvt|pbf)(\?|$)/.test(url) }
}

function readTileFile(path: string): Basemap | string {
  const header = Buffer.alloc(HEADER_BYTES)
  try {
    const file = openSync(path, 'r')
    readSync(file, header, 0, HEADER_BYTES, 0)
    closeSync(file)
  } catch (error) {
    return `BASEMAP names a file that cannot be read: ${(error as Error).message}`
  }
  if (header.toString('latin1', 0, 7) !== 'PMTiles' || header[7] !== 3) {
    return `BASEMAP has to be a file of PMTiles, version 3, which ${path} is not`
  }
  const type = header[TILE_TYPE_AT] as number
  if (type !== VECTOR && !IMAGES.includes(type)) return `BASEMAP has tiles of an unknown kind in ${path}`
  return { kind: 'file', path, vector: type === VECTOR }
}
