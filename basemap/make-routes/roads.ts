import { closeSync, openSync, readSync } from 'node:fs'
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { PMTiles } from 'pmtiles'
import { along, type Spot } from './geometry.ts'

/** A drivable road. It is driven from its first spot to its last, and back unless it is one-way. */
export interface Road {
  spots: Spot[]
  kind: RoadKind
  isOneWay: boolean
  level: 'ground' | 'bridge' | 'tunnel'
}

/** A piece of a road as one tile draws it. */
export interface Piece {
  road: Road
  name: string
  /** Whether its first and its last spot lie on the tile's border. */
  isCut: { start: boolean; end: boolean }
}

/** Tells how fast a road is driven, and is the road's letter in the routes. */
export type RoadKind = 'm' | 't' | 'p' | 's' | 'c' | 'r' | 'l'

const KINDS: Readonly<Record<string, RoadKind>> = {
  motorway: 'm',
  trunk: 't',
  primary: 'p',
  secondary: 's',
  tertiary: 'c',
  residential: 'r',
  unclassified: 'r',
  living_street: 'r',
  motorway_link: 'l',
  trunk_link: 'l',
  primary_link: 'l',
  secondary_link: 'l',
  tertiary_link: 'l',
  residential_link: 'l',
}
const ZOOM = 14
const EXTENT = 4096
const WORLD = 2 ** ZOOM * EXTENT
const EQUATOR_M = 40_075_016.686

/** Reads every drivable road of an archive in the schema of Protomaps. */
export async function readRoads(
  path: string,
): Promise<{ pieces: Piece[]; toDegrees: (spot: Spot) => { lng: number; lat: number } }> {
  const file = openSync(path, 'r')
  const archive = new PMTiles({
    getKey: () => path,
    async getBytes(offset, length) {
      const bytes = new Uint8Array(length)
      readSync(file, bytes, 0, length, offset)
      return { data: bytes.buffer }
    },
  })
  const { minLon, maxLon, minLat, maxLat } = await archive.getHeader()
  const scale = (EQUATOR_M / WORLD) * Math.cos(toRadians((minLat + maxLat) / 2))
  const pieces: Piece[] = []
  const tileOf = (share: number) => Math.floor(share * 2 ** ZOOM)
  for (let x = tileOf(shareOfLng(minLon)); x <= tileOf(shareOfLng(maxLon)); x++) {
    for (let y = tileOf(shareOfLat(maxLat)); y <= tileOf(shareOfLat(minLat)); y++) {
      const tile = await archive.getZxy(ZOOM, x, y)
      const toSpot = (at: Spot) => ({ x: (x * EXTENT + at.x) * scale, y: (y * EXTENT + at.y) * scale })
      if (tile) pieces.push(...readTile(new Uint8Array(tile.data), toSpot))
    }
  }
  closeSync(file)
  const toDegrees = (spot: Spot) => ({
    lng: (spot.x / scale / WORLD) * 360 - 180,
    lat: (Math.atan(Math.sinh(Math.PI * (1 - (2 * spot.y) / scale / WORLD))) * 180) / Math.PI,
  })
  return { pieces, toDegrees }
}

function readTile(bytes: Uint8Array, toSpot: (at: Spot) => Spot): Piece[] {
  const layer = new VectorTile(new PbfReader(bytes)).layers.roads
  if (!layer) return []
  return Array.from({ length: layer.length }, (_, index) => layer.feature(index)).flatMap(feature => {
    const { name, kind_detail, oneway, is_bridge, is_tunnel } = feature.properties
    const kind = KINDS[String(kind_detail)]
    if (!kind) return []
    const lines = feature.loadGeometry().flatMap(clip)
    return lines.map(drawn => {
      const line = oneway === '-1' ? drawn.reverse() : drawn
      const road: Road = {
        spots: line.map(toSpot),
        kind,
        isOneWay: kind === 'm' || oneway === 'yes' || oneway === '-1',
        level: is_bridge ? 'bridge' : is_tunnel ? 'tunnel' : 'ground',
      }
      return {
        road,
        name: String(name ?? ''),
        isCut: { start: isOnBorder(line[0] as Spot), end: isOnBorder(line.at(-1) as Spot) },
      }
    })
  })
}

const isOnBorder = (spot: Spot) => [spot.x, spot.y].some(at => at === 0 || at === EXTENT)

/** Cuts a line at its tile's border, because the neighbouring tile draws the rest. */
function clip(line: readonly Spot[]): Spot[][] {
  const pieces: Spot[][] = []
  let isInside = false
  for (let index = 1; index < line.length; index++) {
    const [a, b] = [line[index - 1] as Spot, line[index] as Spot]
    const [enter, leave] = partInside(a, b)
    const piece = isInside ? pieces.at(-1) : undefined
    isInside = enter < leave && leave === 1
    if (enter >= leave) continue
    const spot = toBorder(along({ a, b }, leave))
    if (piece) piece.push(spot)
    else pieces.push([toBorder(along({ a, b }, enter)), spot])
  }
  return pieces
}

/** Undoes the error of a division, so that a spot on the border is known by its number. */
const toBorder = ({ x, y }: Spot): Spot => {
  const snap = (at: number) => (Math.abs(at - Math.round(at)) < 1e-6 ? Math.round(at) : at)
  return { x: snap(x), y: snap(y) }
}

/** The part of the segment that lies in the tile, from 0 to 1 (Liang and Barsky). */
function partInside(a: Spot, b: Spot): [number, number] {
  let [enter, leave] = [0, 1]
  for (const [from, step] of [
    [a.x, b.x - a.x],
    [a.y, b.y - a.y],
  ] as const) {
    const parts = [-from / step, (EXTENT - from) / step]
    if (step === 0) {
      if (from < 0 || from > EXTENT) return [1, 0]
      continue
    }
    enter = Math.max(enter, Math.min(...parts))
    leave = Math.min(leave, Math.max(...parts))
  }
  return [enter, leave]
}

const toRadians = (degrees: number) => (degrees * Math.PI) / 180
const shareOfLng = (lng: number) => (lng + 180) / 360
const shareOfLat = (lat: number) => (1 - Math.asinh(Math.tan(toRadians(lat))) / Math.PI) / 2
