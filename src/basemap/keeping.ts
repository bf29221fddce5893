import type { FastifyBaseLogger } from 'fastify'
import { createSemaphore } from '../../fair/semaphore.ts'
import { ArchiveCutOff } from './archive.ts'
import type { KeptTiles } from './kept-tiles.ts'
import { typeOf } from './media.ts'
import { type About, type Basemap, BasemapAway, type TileAddress, type TileSource } from './tiles.ts'

export const MAX_DOWNLOADS = 8
/** The maximum for one caller. */
const MAX_WAITING = 64
/** A browser has six connections: tiles that wait longer would delay all other requests of a page. */
const WAIT_MS = 4_000
/** After a failure the server gets no request for this time, and tiles that are not kept fail at once. */
const PAUSE_MS = 2_000
/** Older kept tiles are read again while they are shown. */
const FRESH_MS = 7 * 24 * 3_600_000
/** The caller that reads tiles for which nobody waits. */
const OURSELVES = ' upkeep'

/**
 * The tiles of another server, each kept on the disk after it was read. While that server is slow, fails or answers nonsense, the
 * map uses the kept tiles.
 */
export function keepTiles(source: TileSource, kept: KeptTiles, log: FastifyBaseLogger): Basemap {
  const semaphore = createSemaphore({
    max: MAX_DOWNLOADS,
    maxPerRoot: MAX_DOWNLOADS,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
  })
  const underWay = new Map<string, Promise<Buffer | null>>()
  let known: About | null = source.about
  let changedAt = 0
  let isAway = false
  let pausedUntil = 0
  let isUnwritable = false
  let noting: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function recall(): Promise<void> {
    const note = await kept.readNote()
    if (!note) return
    try {
      known ??= JSON.parse(note.text) as About
      changedAt = note.since
    } catch {
      // Half a file: the other server is asked.
    }
  }

  /** Until the other server has answered once, in this or an earlier process, no page knows what to ask for. */
  async function learn(): Promise<void> {
    await attempt(OURSELVES, () => source.learn()).catch(() => {})
    if (known === null && !isClosed) timer = setTimeout(learn, PAUSE_MS).unref()
  }

  /** Throws a BasemapAway where the other server fails, or has failed just now. */
  async function attempt<T>(owner: string, ask: () => Promise<T>): Promise<T> {
    if (performance.now() < pausedUntil) throw new BasemapAway()
    const leave = await semaphore.acquire(owner)
    try {
      const answer = await ask()
      if (isAway) log.info('The basemap’s server answers again')
      isAway = false
      await note()
      return answer
    } catch (error) {
      if (!isAway && !isClosed)
        log.warn(
          { err: error },
          error instanceof ArchiveCutOff
            ? `The map goes on with the tiles that are kept: ${error.message}`
            : 'The basemap’s server fails: the map goes on with the tiles that are kept',
        )
      isAway = true
      pausedUntil = performance.now() + PAUSE_MS
      throw new BasemapAway()
    } finally {
      leave()
    }
  }

  async function note(): Promise<void> {
    const { about } = source
    if (about === null || about.version === known?.version) return
    noting ??= writeNote(about).finally(() => {
      noting = undefined
    })
    await noting
  }

  /** The note comes first: whoever reads a tile of what is known keeps it after the note, so that it is no older tile. */
  async function writeNote(about: About): Promise<void> {
    await write(() => kept.writeNote(JSON.stringify(about)))
    changedAt = (await kept.readNote())?.since ?? changedAt
    known = about
  }

  async function write(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      isUnwritable = false
    } catch (error) {
      if (!isUnwritable) log.warn({ err: error }, 'No tile of the basemap can be kept')
      isUnwritable = true
    }
  }

  function download(tile: TileAddress, owner: string): Promise<Buffer | null> {
    const key = `${tile.z}/${tile.x}/${tile.y}`
    const downloading =
      underWay.get(key) ??
      attempt(owner, async () => {
        const bytes = await source.read(tile)
        if (bytes && typeOf(bytes, source.about?.vector ?? false) === null)
          throw new Error(`${key} is no tile`)
        return bytes
      })
        .then(async bytes => {
          await write(() => kept.write(tile, bytes))
          return bytes
        })
        .finally(() => underWay.delete(key))
    underWay.set(key, downloading)
    return downloading
  }

  const recalled = recall().then(() => void learn())

  return {
    get about() {
      return known
    },
    async read(tile, owner) {
      await recalled
      const found = await kept.read(tile)
      if (!found) return within(download(tile, owner))
      const isOld = found.ageMs > FRESH_MS || Date.now() - found.ageMs < changedAt
      if (isOld) download(tile, OURSELVES).catch(() => {})
      return found.bytes
    },
    list: async (zoom, max) => (await kept.list(zoom)).slice(0, max),
    async close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** Fails when the wait is over. The download continues, and its tile is there for the next request. */
async function within(downloading: Promise<Buffer | null>): Promise<Buffer | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new BasemapAway()), WAIT_MS)
  })
  try {
    return await Promise.race([downloading, late])
  } finally {
    clearTimeout(timer)
  }
}
