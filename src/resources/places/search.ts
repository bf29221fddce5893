import type { Scheduler } from '../../../fair/scheduler.ts'
import type { Basemap, TileAddress } from '../../basemap/tiles.ts'
import type { TilePlaces } from './tile-places.ts'

/** Names of streets begin at this level to be whole; the deepest one has the last of them. */
const LEVELS = [12, 14, 15]
/** 100 bytes each: the streets of several large cities. */
const MAX_NAMES = 50_000
const MAX_TILES = 2_000
/** Whoever searches first waits so long for the names; then those that are known are searched. */
const WAIT_MS = 8_000
/** Names that are compared in one turn of the event loop: a millisecond. */
const NAMES_A_TURN = 2_000
/** The best matches that are kept: a result has at most 17 other parts, so 20 results are among 360. */
const MAX_MATCHES = 400
/** Parts of one street within this share of the world are one result: 2.5 km at the equator. */
const SAME_STREET = 2 ** -14

export interface Found {
  name: string
  isTown: boolean
  x: number
  y: number
}

interface Entry extends Found {
  folded: string
}

interface Match {
  entry: Entry
  order: number
  away: number
}

/** The names of the loaded area: a local archive as a whole up to a bound, of an archive elsewhere the tiles that are kept. */
export function createNames(
  basemap: Pick<Basemap, 'about' | 'list'>,
  read: (tile: TileAddress) => Promise<TilePlaces | null>,
  scheduler: Pick<Scheduler, 'walk'>,
) {
  const entries = new Map<string, Entry>()
  const tiles = new Set<string>()
  let version: string | undefined
  let updating: Promise<void> | undefined

  const isFull = () => tiles.size >= MAX_TILES || entries.size >= MAX_NAMES

  async function update(): Promise<void> {
    if (basemap.about?.version !== version) {
      entries.clear()
      tiles.clear()
      version = basemap.about?.version
    }
    for (const z of LEVELS) {
      // A list of all kept tiles takes a second where they are hundreds of thousands.
      if (isFull()) return
      for (const tile of await basemap.list(z, MAX_TILES)) {
        const key = `${tile.z}/${tile.x}/${tile.y}`
        if (tiles.has(key)) continue
        if (isFull()) return
        const places = await read(tile).catch(() => undefined)
        if (places === undefined) return
        tiles.add(key)
        if (places) add(places)
      }
    }
  }

  function add({ streets, towns }: TilePlaces): void {
    for (const { name, lines } of streets) {
      const line = lines[0]
      const middle = line ? Math.floor(line.length / 4) * 2 : 0
      if (line && line.length > 1)
        addName({ name, isTown: false, x: line[middle] ?? 0, y: line[middle + 1] ?? 0 })
    }
    for (const { name, x, y } of towns) addName({ name, isTown: true, x, y })
  }

  function addName(found: Found): void {
    const [column, row] = [Math.floor(found.x / SAME_STREET), Math.floor(found.y / SAME_STREET)]
    const key = `${found.isTown} ${found.name} ${column} ${row}`
    if (entries.size < MAX_NAMES && !entries.has(key))
      entries.set(key, { ...found, folded: fold(found.name) })
  }

  /** The best matches in their order. Each step compares some names. */
  function* match(wanted: string, near: { x: number; y: number } | null): Generator<void, Match[]> {
    let best: Match[] = []
    let compared = 0
    for (const entry of entries.values()) {
      if (entry.folded.includes(wanted)) {
        const away = near ? Math.hypot(entry.x - near.x, entry.y - near.y) : 0
        best.push({ entry, order: orderOf(entry, wanted), away })
      }
      if (++compared % NAMES_A_TURN > 0) continue
      best = best.sort(compareMatches).slice(0, MAX_MATCHES)
      yield
    }
    return best.sort(compareMatches)
  }

  /** At most `max` of them: those that begin with the text first, towns before streets, near ones before far ones. */
  return async function search(
    text: string,
    near: { x: number; y: number } | null,
    max: number,
    owner: string,
  ): Promise<Found[]> {
    updating ??= update().finally(() => {
      updating = undefined
    })
    await Promise.race([updating, new Promise(resolve => setTimeout(resolve, WAIT_MS).unref())])
    const found = await scheduler.walk(owner, match(fold(text), near))
    const results: Found[] = []
    for (const { entry } of found) {
      if (results.length >= max) break
      const isPart = (one: Found) =>
        one.name === entry.name &&
        Math.max(Math.abs(one.x - entry.x), Math.abs(one.y - entry.y)) < SAME_STREET
      if (!results.some(isPart))
        results.push({ name: entry.name, isTown: entry.isTown, x: entry.x, y: entry.y })
    }
    return results
  }
}

const compareMatches = (one: Match, other: Match) =>
  one.order - other.order || one.away - other.away || (one.entry.name < other.entry.name ? -1 : 1)

const orderOf = ({ folded, isTown }: Entry, wanted: string) =>
  (folded.startsWith(wanted) ? 0 : folded.includes(` ${wanted}`) ? 2 : 4) + (isTown ? 0 : 1)

/** Without accents and case. */
const fold = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().trim()
