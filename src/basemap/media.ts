import { promisify } from 'node:util'
import { gunzip as gunzipWithCallback } from 'node:zlib'

const gunzip = promisify(gunzipWithCallback)

/** The densest tiles of cities have 2 MB. */
const MAX_UNPACKED_BYTES = 16 * 1024 * 1024

export const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** A tile without its compression. */
export const unpack = async (bytes: Buffer): Promise<Buffer> =>
  isGzip(bytes) ? await gunzip(bytes, { maxOutputLength: MAX_UNPACKED_BYTES }) : bytes

const IMAGES: readonly [type: string, at: number, magic: string][] = [
  ['image/png', 0, '\x89PNG'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/webp', 8, 'WEBP'],
  ['image/avif', 4, 'ftypavi'],
]

/** The media type of a tile, or null where its bytes are none, such as a page that says why there is no tile. */
export function typeOf(bytes: Buffer, vector: boolean): string | null {
  // A layer is field 3 of a tile: [vector-tile-spec 2.1, 4.1]
  if (vector) return isGzip(bytes) || bytes[0] === 0x1a ? 'application/vnd.mapbox-vector-tile' : null
  const found = IMAGES.find(([, at, magic]) => bytes.toString('latin1', at, at + magic.length) === magic)
  return found?.[0] ?? null
}
