/** The basemap as the pages need to know it before they ask for a tile. */
export interface About {
  /** Vector tiles of the Protomaps schema; else images. */
  vector: boolean
  minZoom: number
  maxZoom: number
  /** West, south, east and north in degrees. */
  bounds: readonly [number, number, number, number]
  /** Differs where the tiles do. */
  version: string
}

/** The address of a tile: the level and, counted from the north-west, the column and the row. */
export interface TileAddress {
  z: number
  x: number
  y: number
}

/** Something that tiles are read from. */
export interface TileSource {
  /** Null until it has been read. */
  readonly about: About | null
  /** Reads `about`. Throws where the source does not answer. */
  learn(): Promise<About>
  /** A tile's bytes as they are stored, which may be compressed with gzip; null where there is none. */
  read(tile: TileAddress): Promise<Buffer | null>
}

/** The basemap of a process. */
export interface Basemap {
  /** Null until the server that holds the tiles has answered once. */
  readonly about: About | null
  /** As `TileSource` has it. Throws a BasemapAway or a BusyError. Callers, by `owner`, take turns at the other server. */
  read(tile: TileAddress, owner: string): Promise<Buffer | null>
  /** The tiles of a level that can be read without another server, at most `max` of them. */
  list(zoom: number, max: number): Promise<TileAddress[]>
  close(): Promise<void>
}

/** The server that holds the tiles does not answer, or answers nonsense, and the tile is not kept. */
export class BasemapAway extends Error {}

/** Web Mercator ends here. */
const MAX_LAT = 85.0511
export const WORLD: About['bounds'] = [-180, -MAX_LAT, 180, MAX_LAT]
/** MapLibre asks for no tile beyond it. */
const MAX_ZOOM = 22

/** Whether there can be such a tile at all. */
export const isTile = ({ z, x, y }: TileAddress): boolean =>
  z <= MAX_ZOOM && x < 2 ** z && y < 2 ** z && Math.min(z, x, y) >= 0

/** The column and row of a place, with the share of the tile that lies before it. */
export function locate(lat: number, lng: number, z: number): { x: number; y: number } {
  const count = 2 ** z
  const phi = (Math.max(-MAX_LAT, Math.min(MAX_LAT, lat)) * Math.PI) / 180
  return {
    x: ((lng + 180) / 360) * count,
    y: ((1 - Math.log(Math.tan(phi) + 1 / Math.cos(phi)) / Math.PI) / 2) * count,
  }
}

/** The tiles of a level that cover the bounds, from their middle to their edge, at most `max` of them. */
export function tilesWithin(
  [west, south, east, north]: About['bounds'],
  z: number,
  max: number,
): TileAddress[] {
  const last = 2 ** z - 1
  const clamp = (value: number) => Math.max(0, Math.min(last, Math.floor(value)))
  const [from, to] = [locate(north, west, z), locate(south, east, z)]
  const [left, top, right, bottom] = [clamp(from.x), clamp(from.y), clamp(to.x), clamp(to.y)]
  const [middleX, middleY] = [Math.round((left + right) / 2), Math.round((top + bottom) / 2)]
  const found: TileAddress[] = []
  for (let ring = 0; found.length < max; ring++) {
    if (ring > Math.max(middleX - left, right - middleX, middleY - top, bottom - middleY)) break
    for (let x = middleX - ring; x <= middleX + ring; x++) {
      const isSide = Math.abs(x - middleX) === ring
      for (let y = middleY - ring; y <= middleY + ring; y += isSide || ring === 0 ? 1 : 2 * ring) {
        if (x >= left && x <= right && y >= top && y <= bottom && found.length < max) found.push({ z, x, y })
      }
    }
  }
  return found
}
