import type { LookupFunction } from 'node:net'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import { ArchiveCutOff, createArchive, createFileReader, versionOf } from './archive.ts'
import { createDownloader } from './download.ts'
import { keepTiles, MAX_DOWNLOADS } from './keeping.ts'
import { createKeptTiles } from './kept-tiles.ts'
import { createRemoteArchive, createTileUrl } from './remote.ts'
import { type Basemap, BasemapAway, type TileSource, tilesWithin } from './tiles.ts'

export type BasemapConfig = Pick<Config, 'basemap' | 'dataDir' | 'basemapCacheMb'>

/** Opens the basemap of the configuration. Waits for no other server. A `lookup` refuses servers by their addresses. */
export async function openBasemap(
  { basemap: setting, dataDir, basemapCacheMb }: BasemapConfig,
  log: FastifyBaseLogger,
  lookup?: LookupFunction,
): Promise<Basemap> {
  if (setting.kind === 'file') {
    const archive = createArchive(setting.path, createFileReader(setting.path))
    try {
      await archive.learn()
    } catch (error) {
      // Positions are received without streets as well.
      const reason = error instanceof ArchiveCutOff ? error.message : 'the archive is missing or damaged'
      log.warn({ err: error }, `The map shows outlines alone: ${reason} (${setting.path})`)
      return NO_STREETS
    }
    return readDirectly(archive, log)
  }
  const downloader = createDownloader(MAX_DOWNLOADS, lookup)
  const source =
    setting.kind === 'archive'
      ? createRemoteArchive(setting.url, downloader)
      : createTileUrl(setting.url, setting.vector, downloader)
  const kept = createKeptTiles(join(dataDir, 'basemap'), versionOf(setting.url), basemapCacheMb * 1024 ** 2)
  const basemap = keepTiles(source, kept, log)
  return {
    ...basemap,
    get about() {
      return basemap.about
    },
    async close() {
      await basemap.close()
      await downloader.close()
    },
  }
}

/** A basemap without tiles. */
const NO_STREETS: Basemap = {
  about: null,
  read: async () => null,
  list: async () => [],
  close: async () => {},
}

const readDirectly = (archive: TileSource, log: FastifyBaseLogger): Basemap => ({
  get about() {
    return archive.about
  },
  async read(tile) {
    try {
      return await archive.read(tile)
    } catch (error) {
      log.warn({ err: error }, 'The file of the basemap cannot be read')
      throw new BasemapAway()
    }
  },
  list: async (zoom, max) => (archive.about ? tilesWithin(archive.about.bounds, zoom, max) : []),
  close: async () => {},
})
