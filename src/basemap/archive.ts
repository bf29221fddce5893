import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip as gunzipWithCallback } from 'node:zlib'
import { Compression, EtagMismatch, type Header, PMTiles, ResolvedValueCache, type Source } from 'pmtiles'
import { type About, type TileSource, WORLD } from './tiles.ts'

const gunzip = promisify(gunzipWithCallback)

/** A tile of a city has up to 0.5 MB, a directory up to 0.1 MB. */
export const MAX_PIECE_BYTES = 4 * 1024 * 1024
/** A directory of 16,384 entries has 0.3 MB. */
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024
/** An entry is four numbers of at least a byte each. */
const MIN_ENTRY_BYTES = 4
/** The library keeps an object of each, in one go. */
const MAX_ENTRIES = 65_536
/** A directory takes about 1 MB of memory. */
const MAX_DIRECTORIES = 32
const VECTOR = 1

/** Reads a piece of an archive, at most `MAX_PIECE_BYTES`, with the ETag and, where it is known, the size of the whole. */
export type ReadPiece = (
  offset: number,
  length: number,
) => Promise<{ bytes: Buffer; etag: string | undefined; size: number | undefined }>

/** The archive is shorter than its header says: a download or a copy of it has stopped in the middle. */
export class ArchiveCutOff extends Error {
  constructor(bytes: number, expected: number) {
    super(`the archive is cut off: it has ${bytes} of ${expected} bytes`)
  }
}

/** A PMTiles archive, version 3, of which only the pieces are read that a tile needs. */
export function createArchive(key: string, readPiece: ReadPiece): TileSource {
  let bytesThere: number | undefined
  const source: Source = {
    getKey: () => key,
    async getBytes(offset, length, _signal, knownEtag) {
      if (length > MAX_PIECE_BYTES) throw new Error(`A piece of the archive has ${length} bytes`)
      const { bytes, etag, size } = await readPiece(offset, length)
      bytesThere = size
      // The library reads the header again, and the piece once more.
      if (knownEtag !== undefined && etag !== knownEtag) throw new EtagMismatch('The archive has changed')
      const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
      return { data, ...(etag === undefined ? {} : { etag }) }
    },
  }
  const cache = new ResolvedValueCache(MAX_DIRECTORIES, undefined, unpackDirectory)
  // Tiles stay compressed: browsers unpack them.
  const archive = new PMTiles(source, cache, async bytes => bytes)
  let header: Header | undefined
  let about: About | null = null

  async function learn(): Promise<About> {
    const newest = await archive.getHeader()
    if (about === null || newest !== header) {
      const lacking = findLack(newest, bytesThere)
      if (lacking) {
        // It may be made whole by a server that tells no ETag.
        await cache.invalidate(source)
        throw lacking
      }
      about = describe(key, newest)
    }
    header = newest
    return about
  }

  return {
    get about() {
      return about
    },
    learn,
    async read({ z, x, y }) {
      await learn()
      const found = await archive.getZxy(z, x, y)
      await learn()
      return found ? Buffer.from(found.data) : null
    },
  }
}

/** Reads a local file, which may be replaced by another one at any time. */
export const createFileReader =
  (path: string): ReadPiece =>
  async (offset, length) => {
    const file = await open(path, 'r')
    try {
      const { size, mtimeMs } = await file.stat()
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - offset)))
      await file.read(bytes, 0, bytes.length, offset)
      return { bytes, etag: `${size}-${mtimeMs}`, size }
    } finally {
      await file.close()
    }
  }

async function unpackDirectory(packed: ArrayBuffer, compression: Compression): Promise<ArrayBuffer> {
  const bytes =
    compression === Compression.Gzip
      ? await gunzip(packed, { maxOutputLength: MAX_DIRECTORY_BYTES })
      : Buffer.from(packed)
  // The library believes the number of entries.
  const entries = readFirstNumber(bytes)
  if (entries * MIN_ENTRY_BYTES > bytes.length) throw new Error('A directory is damaged')
  if (entries > MAX_ENTRIES)
    throw new Error(`A directory has ${entries} entries, at most ${MAX_ENTRIES} are read`)
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
}

/** A number in groups of seven bits, the lowest first. */
function readFirstNumber(bytes: Buffer): number {
  let value = 0
  for (const [index, byte] of bytes.subarray(0, 8).entries()) {
    value += (byte & 127) * 2 ** (7 * index)
    if (byte < 128) return value
  }
  return Number.POSITIVE_INFINITY
}

/** The error of an archive that ends before one of its parts does; null for a whole one. */
function findLack(header: Header, size: number | undefined): ArchiveCutOff | null {
  const expected = Math.max(
    header.rootDirectoryOffset + header.rootDirectoryLength,
    header.jsonMetadataOffset + header.jsonMetadataLength,
    header.leafDirectoryOffset + (header.leafDirectoryLength ?? 0),
    header.tileDataOffset + (header.tileDataLength ?? 0),
  )
  return size !== undefined && size < expected ? new ArchiveCutOff(size, expected) : null
}

function describe(key: string, header: Header): About {
  const { tileType, tileCompression, internalCompression, minZoom, maxZoom, etag } = header
  for (const compression of [tileCompression, internalCompression]) {
    if (compression !== Compression.None && compression !== Compression.Gzip)
      throw new Error('The archive is compressed in another way than with gzip')
  }
  const [west, south, east, north] = [header.minLon, header.minLat, header.maxLon, header.maxLat]
  return {
    vector: tileType === VECTOR,
    minZoom,
    maxZoom,
    bounds: west < east && south < north ? [west, south, east, north] : WORLD,
    version: versionOf(`${key} ${etag}`),
  }
}

/** A short text that differs where what it stands for does. */
export const versionOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 12)
