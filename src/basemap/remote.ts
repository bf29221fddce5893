import { createArchive, MAX_PIECE_BYTES, type ReadPiece, versionOf } from './archive.ts'
import type { Downloader } from './download.ts'
import { type About, type TileSource, WORLD } from './tiles.ts'

/** Protomaps' own tiles end at level 15, images of the usual servers at 19. */
const VECTOR_MAX_ZOOM = 15
const IMAGE_MAX_ZOOM = 19

/** An archive that another server holds, read by ranges. */
export const createRemoteArchive = (url: string, downloader: Downloader): TileSource =>
  createArchive(url, createRangeReader(url, downloader))

const createRangeReader =
  (url: string, downloader: Downloader): ReadPiece =>
  async (offset, length) => {
    const range = `bytes=${offset}-${offset + length - 1}`
    const headers = { range, 'accept-encoding': 'identity' }
    const answer = await downloader.get(url, headers, length)
    if (answer.status !== 206) throw new Error(`The server answers ${answer.status} to a range`)
    const { bytes } = answer
    const [, first, last, size] =
      /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(`${answer.headers['content-range']}`) ?? []
    const isWhole = bytes.length === length || Number(last) + 1 === Number(size)
    if (Number(first) !== offset || Number(last) - offset + 1 !== bytes.length || !isWhole)
      throw new Error('The server answers another range than it was asked for')
    const etag = textOf(answer.headers.etag)?.replace(/^W\//, '')
    return { bytes, etag, size: size === undefined || size === '*' ? undefined : Number(size) }
  }

/** Tiles of a URL with {z}, {x} and {y}. */
export function createTileUrl(url: string, vector: boolean, downloader: Downloader): TileSource {
  const maxZoom = vector ? VECTOR_MAX_ZOOM : IMAGE_MAX_ZOOM
  const about: About = { vector, minZoom: 0, maxZoom, bounds: WORLD, version: versionOf(url) }
  return {
    about,
    learn: async () => about,
    async read({ z, x, y }) {
      const address = url.replace('{z}', `${z}`).replace('{x}', `${x}`).replace('{y}', `${y}`)
      const { status, bytes } = await downloader.get(address, { 'accept-encoding': 'gzip' }, MAX_PIECE_BYTES)
      if (status === 204 || status === 404) return null
      if (status !== 200) throw new Error(`The server answers ${status} to a tile`)
      return bytes
    },
  }
}

const textOf = (header: string | string[] | undefined) => [header].flat()[0]
