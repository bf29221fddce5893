import type { FastifyBaseLogger } from 'fastify'
import type { Basemap } from './tiles.ts'

/** How late another process learns what was chosen. */
const READ_EVERY_MS = 10_000

/** The basemap of the process, which may become another one while it runs. */
export interface ChosenBasemap extends Basemap {
  /** Whether the environment names it: then nothing else does. */
  readonly isFixed: boolean
  /** Reads what is chosen, and opens it where it is another one. */
  follow(): Promise<void>
}

interface Parts {
  isFixed: boolean
  /** The basemap while nothing is chosen. */
  usual: Basemap
  /** The URL that is chosen; null is none. */
  readChoice(): Promise<string | null>
  open(url: string): Promise<Basemap>
  log: FastifyBaseLogger
}

/** Follows what is chosen in the console. Whatever fails, the map goes on with what it has. */
export async function followChoice({ isFixed, usual, readChoice, open, log }: Parts): Promise<ChosenBasemap> {
  let current = usual
  let chosen: string | null = null
  let following = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function read(): Promise<void> {
    const url = await readChoice()
    if (url === chosen || isClosed) return
    const before = current
    current = url === null ? usual : await open(url)
    chosen = url
    log.info(url === null ? 'The basemap is the usual one again' : 'The basemap is another archive now')
    if (before !== usual) await before.close()
  }

  function follow(): Promise<void> {
    following = following.catch(() => {}).then(read)
    return following
  }

  function waitAndFollow(): void {
    timer = setTimeout(() => {
      follow()
        .catch(error => log.warn({ err: error }, 'What basemap is chosen could not be read'))
        .finally(() => isClosed || waitAndFollow())
    }, READ_EVERY_MS).unref()
  }

  if (!isFixed) {
    await follow().catch(error => log.warn({ err: error }, 'What basemap is chosen could not be read'))
    waitAndFollow()
  }

  return {
    isFixed,
    follow,
    get about() {
      return current.about
    },
    read: (tile, owner) => current.read(tile, owner),
    list: (zoom, max) => current.list(zoom, max),
    async close() {
      isClosed = true
      clearTimeout(timer)
      await following.catch(() => {})
      if (current !== usual) await current.close()
      await usual.close()
    },
  }
}
