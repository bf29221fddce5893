import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../db/folders.ts'

/** Where the tiles of the map come from: a tile URL, a local archive, or an archive that another server holds. */
export type BasemapSetting =
  | { kind: 'tiles'; url: string; vector: boolean }
  | { kind: 'file'; path: string }
  | { kind: 'archive'; url: string }

/** The streets of San Francisco, which come with the product (basemap/README.md). */
export const OWN_ARCHIVE: BasemapSetting = {
  kind: 'file',
  path: join(PROJECT, 'basemap/sanfrancisco.pmtiles'),
}

/** https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md: the magic, the version, and at byte 99 the type of the tiles. */
const HEADER_BYTES = 127
const TILE_TYPE_AT = 99
/** MVT, PNG, JPEG, WebP and AVIF. */
const TILE_TYPES: readonly number[] = [1, 2, 3, 4, 5]

/** Reads `BASEMAP`. A text is one sentence that says what is wrong with it. */
export function readBasemap(value: string | undefined): BasemapSetting | string {
  if (value === undefined) return OWN_ARCHIVE
  if (/^https?:\/\//.test(value)) return readUrl(value)
  if (value.endsWith('.pmtiles')) return readTileFile(value)
  return `BASEMAP has to be a tile URL with {z}/{x}/{y}, or a file or URL that ends with .pmtiles, it is "${value}"`
}

function readUrl(url: string): BasemapSetting | string {
  if (!URL.canParse(url)) return `BASEMAP is not a URL: "${url}"`
  if (/\.pmtiles$/.test(new URL(url).pathname)) return { kind: 'archive', url }
  const missing = ['{z}', '{x}', '{y}'].filter(part => !url.includes(part))
  if (missing.length > 0) return `BASEMAP has to name ${missing.join(', ')} in its URL, it is "${url}"`
  return { kind: 'tiles', url, vector: /\.(mvt|pbf)(\?|$)/.test(url) }
}

function readTileFile(path: string): BasemapSetting | string {
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
  if (!TILE_TYPES.includes(header[TILE_TYPE_AT] as number)) {
    return `BASEMAP has tiles of an unknown kind in ${path}`
  }
  return { kind: 'file', path }
}
