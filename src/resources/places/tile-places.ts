import { VectorTile, type VectorTileFeature } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import type { Scheduler } from '../../../fair/scheduler.ts'
import { unpack } from '../../basemap/media.ts'
import type { Basemap, TileAddress } from '../../basemap/tiles.ts'

/** A way with a name. Its lines are in shares of the world, x then y. */
export interface Street {
  name: string
  isPath: boolean
  lines: Float64Array[]
}

/** A city, town or village, as a point in shares of the world. */
export interface Town {
  name: string
  x: number
  y: number
  /** 1 of a hamlet, 4 of a small town, 14 of a city of ten million. */
  rank: number
}

/** The named streets and towns of a vector tile of the Protomaps schema. */
export interface TilePlaces {
  streets: Street[]
  towns: Town[]
}

/** 30 kB each in a dense city. */
const MAX_TILES = 256
/** A feature or layer beyond it belongs to no map. */
const MAX_FEATURES = 20_000
const STREET_KINDS: ReadonlySet<unknown> = new Set(['highway', 'major_road', 'minor_road', 'path', 'other'])

/** Reads tiles of the basemap, each decoded once while it is in use. Decoding a dense tile takes some milliseconds, in turns of the scheduler. */
export function createTileReader(
  basemap: Pick<Basemap, 'read' | 'about'>,
  scheduler: Pick<Scheduler, 'pass'>,
) {
  const decoded = new Map<string, Promise<TilePlaces | null>>()

  /** Null where the basemap has no such tile. Throws as `Basemap.read` does. */
  return function readPlaces(tile: TileAddress, owner: string): Promise<TilePlaces | null> {
    const key = `${basemap.about?.version} ${tile.z}/${tile.x}/${tile.y}`
    const reading = decoded.get(key) ?? read(tile, owner)
    // The tile that was used last is the last one to be forgotten.
    decoded.delete(key)
    decoded.set(key, reading)
    reading.catch(() => decoded.delete(key))
    for (const oldest of decoded.keys()) {
      if (decoded.size <= MAX_TILES) break
      decoded.delete(oldest)
    }
    return reading
  }

  async function read(tile: TileAddress, owner: string): Promise<TilePlaces | null> {
    const bytes = await basemap.read(tile, owner)
    if (!bytes) return null
    const unpacked = await unpack(bytes)
    await scheduler.pass(owner)
    return decode(unpacked, tile)
  }
}

/** A tile that is damaged has no places. */
function decode(bytes: Buffer, { z, x, y }: TileAddress): TilePlaces {
  const places: TilePlaces = { streets: [], towns: [] }
  const count = 2 ** z
  try {
    const { layers } = new VectorTile(new PbfReader(bytes))
    for (const { feature, extent } of featuresOf(layers.roads)) {
      const { name, kind } = feature.properties
      if (typeof name !== 'string' || !STREET_KINDS.has(kind)) continue
      const lines = feature
        .loadGeometry()
        .map(points =>
          Float64Array.from(
            points.flatMap(point => [(x + point.x / extent) / count, (y + point.y / extent) / count]),
          ),
        )
      places.streets.push({ name, isPath: kind === 'path', lines })
    }
    for (const { feature, extent } of featuresOf(layers.places)) {
      const { name, kind, population_rank: rank } = feature.properties
      const point = feature.loadGeometry()[0]?.[0]
      if (typeof name !== 'string' || kind !== 'locality' || !point) continue
      places.towns.push({
        name,
        x: (x + point.x / extent) / count,
        y: (y + point.y / extent) / count,
        rank: typeof rank === 'number' ? rank : 1,
      })
    }
  } catch {
    // The features before the damage are there.
  }
  return places
}

function* featuresOf(
  layer: VectorTile['layers'][string] | undefined,
): Generator<{ feature: VectorTileFeature; extent: number }> {
  for (let index = 0; layer && index < Math.min(layer.length, MAX_FEATURES); index++) {
    yield { feature: layer.feature(index), extent: layer.extent }
  }
}
