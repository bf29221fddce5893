import { locate, type TileAddress } from '../../basemap/tiles.ts'
import type { TilePlaces, Town } from './tile-places.ts'

/** Metres around the equator. */
const WORLD_M = 40_075_016.7
/** A street farther away says nothing of where something is. */
const STREET_WITHIN_M = 500
/** A vehicle beside a road is not on the footpath along it. */
const PATH_M = 25
/** Where towns are looked for: all of them close by, the larger ones farther away. */
const TOWN_LEVELS: readonly { z: number; withinM: number }[] = [
  { z: 12, withinM: 6_000 },
  { z: 9, withinM: 30_000 },
]
/** How far a hamlet reaches, and how much farther a town of the next rank does: 4 km of a small town, 35 km of San Francisco. */
const HAMLET_M = 1_500
const PER_RANK = 1.3
/** Beyond this multiple of a town's reach a position does not belong to it. */
const MAX_REACH = 1.5

export type ReadPlaces = (tile: TileAddress) => Promise<TilePlaces | null>

export interface Nearest {
  street: { name: string; distanceM: number } | null
  town: { name: string; distanceM: number } | null
}

/** The nearest named street of a place, and the town that it belongs to. */
export async function findNearest(
  { lat, lng }: { lat: number; lng: number },
  zooms: { minZoom: number; maxZoom: number },
  read: ReadPlaces,
): Promise<Nearest> {
  const { x, y } = locate(lat, lng, 0)
  const worldM = WORLD_M * Math.cos((lat * Math.PI) / 180)
  const street = await findStreet(x, y, worldM, zooms.maxZoom, read)
  const town = await findTown(x, y, worldM, zooms, read)
  return { street, town }
}

async function findStreet(
  x: number,
  y: number,
  worldM: number,
  z: number,
  read: ReadPlaces,
): Promise<Nearest['street']> {
  let best: Nearest['street'] = null
  let bestM = STREET_WITHIN_M
  // Its own tile comes first: what is found there leaves most of the neighbours out.
  for (const { tile, awayM } of tilesAround(x, y, z, STREET_WITHIN_M, worldM)) {
    if (awayM >= bestM) continue
    for (const { name, isPath, lines } of (await read(tile))?.streets ?? []) {
      for (const line of lines) {
        const distanceM = distanceTo(line, x, y) * worldM
        const weighted = distanceM + (isPath ? PATH_M : 0)
        if (weighted >= bestM) continue
        bestM = weighted
        best = { name, distanceM }
      }
    }
  }
  return best
}

async function findTown(
  x: number,
  y: number,
  worldM: number,
  { minZoom, maxZoom }: { minZoom: number; maxZoom: number },
  read: ReadPlaces,
): Promise<Nearest['town']> {
  let best: Nearest['town'] = null
  let bestReach = MAX_REACH
  for (const { z, withinM } of TOWN_LEVELS) {
    if (z < minZoom || z > maxZoom) continue
    for (const { tile } of tilesAround(x, y, z, withinM, worldM)) {
      for (const town of (await read(tile))?.towns ?? []) {
        const distanceM = Math.hypot(town.x - x, town.y - y) * worldM
        const reach = distanceM / reachOf(town)
        if (reach >= bestReach) continue
        bestReach = reach
        best = { name: town.name, distanceM }
      }
    }
  }
  return best
}

const reachOf = ({ rank }: Town) => HAMLET_M * PER_RANK ** Math.min(rank, 18)

/** The tiles of a level within a distance of a place, the nearest first. */
function tilesAround(x: number, y: number, z: number, withinM: number, worldM: number) {
  const count = 2 ** z
  const [column, row] = [Math.floor(x * count), Math.floor(y * count)]
  const found: { tile: TileAddress; awayM: number }[] = []
  for (let dx = -1; dx <= 1; dx++) {
    for (let dy = -1; dy <= 1; dy++) {
      const [left, top] = [column + dx, row + dy]
      if (top < 0 || top >= count) continue
      const away = Math.hypot(beyond(x * count, left), beyond(y * count, top)) / count
      const tile = { z, x: (left + count) % count, y: top }
      if (away * worldM < withinM) found.push({ tile, awayM: away * worldM })
    }
  }
  return found.sort((one, other) => one.awayM - other.awayM)
}

/** How far a value lies outside of the unit that begins at `from`. */
const beyond = (value: number, from: number) => Math.max(from - value, value - from - 1, 0)

/** From a point to the nearest place of a line, in the line's own units. */
function distanceTo(line: Float64Array, x: number, y: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let at = 0; at + 3 < line.length; at += 2) {
    const [fromX = 0, fromY = 0, toX = 0, toY = 0] = line.subarray(at, at + 4)
    const [dx, dy] = [toX - fromX, toY - fromY]
    const length = dx * dx + dy * dy
    const share = length > 0 ? Math.max(0, Math.min(1, ((x - fromX) * dx + (y - fromY) * dy) / length)) : 0
    least = Math.min(least, (fromX + share * dx - x) ** 2 + (fromY + share * dy - y) ** 2)
  }
  return Math.sqrt(least)
}
