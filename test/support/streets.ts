import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { PMTiles } from 'pmtiles'

/** Metres east and north of a place in the town. */
export interface Spot {
  east: number
  north: number
}
/** A line of a tile, as it is drawn. */
export interface Street {
  name: string
  line: readonly Spot[]
  isOneWay: boolean
  isMotorway: boolean
  /** A bridge or a tunnel, so that other streets cross it without a way between them. */
  isApart: boolean
}
export interface Near {
  street: Street
  metres: number
  /** The direction in which the street is drawn there, degrees clockwise from north. */
  heading: number
}

const ARCHIVE = resolve(import.meta.dirname, '../../basemap/sanfrancisco.pmtiles')
const ORIGIN = { lat: 37.77, lng: -122.43 }
const METRES_PER_DEGREE = 111_195
const NOT_DRIVABLE = ['path', 'rail', 'ferry', 'aerialway', 'aeroway']
const CELL_M = 100

export const toSpot = ({ lat, lng }: { lat: number; lng: number }): Spot => ({
  east: (lng - ORIGIN.lng) * METRES_PER_DEGREE * Math.cos((ORIGIN.lat * Math.PI) / 180),
  north: (lat - ORIGIN.lat) * METRES_PER_DEGREE,
})

/** The drivable streets of the archive that comes with the product, read without any of the product's code. */
export async function readStreets() {
  const bytes = readFileSync(ARCHIVE)
  const archive = new PMTiles({
    getKey: () => ARCHIVE,
    getBytes: async (offset, length) => ({
      data: new Uint8Array(bytes.subarray(offset, offset + length)).buffer,
    }),
  })
  const streets: Street[] = []
  for (let x = 2616; x <= 2624; x++) {
    for (let y = 6328; y <= 6337; y++) {
      const tile = await archive.getZxy(14, x, y)
      const layer = tile && new VectorTile(new PbfReader(new Uint8Array(tile.data))).layers.roads
      for (let index = 0; index < (layer?.length ?? 0); index++) {
        const feature = layer?.feature(index)
        const { geometry, properties } = feature?.toGeoJSON(x, y, 14) ?? {}
        if (!properties || NOT_DRIVABLE.includes(properties.kind)) continue
        const lines =
          geometry?.type === 'LineString'
            ? [geometry.coordinates]
            : geometry?.type === 'MultiLineString'
              ? geometry.coordinates
              : []
        for (const line of lines) {
          const spots = line.map(([lng, lat]) => toSpot({ lat: lat as number, lng: lng as number }))
          streets.push({
            name: String(properties.name ?? properties.kind_detail),
            line: properties.oneway === '-1' ? spots.reverse() : spots,
            isOneWay: ['yes', '-1'].includes(properties.oneway),
            isMotorway: properties.kind_detail === 'motorway',
            isApart: Boolean(properties.is_bridge || properties.is_tunnel),
          })
        }
      }
    }
  }
  return { streets, near: indexStreets(streets) }
}

/** A function that finds each segment of a street within some metres of a spot, the nearest first. */
function indexStreets(streets: readonly Street[]): (spot: Spot, withinM: number) => Near[] {
  const cells = new Map<string, { street: Street; a: Spot; b: Spot }[]>()
  const cell = (metres: number) => Math.floor(metres / CELL_M)
  for (const street of streets) {
    street.line.slice(1).forEach((b, index) => {
      const a = street.line[index] as Spot
      for (let x = cell(Math.min(a.east, b.east) - 20); x <= cell(Math.max(a.east, b.east) + 20); x++) {
        for (let y = cell(Math.min(a.north, b.north) - 20); y <= cell(Math.max(a.north, b.north) + 20); y++) {
          const there = cells.get(`${x} ${y}`)
          if (there) there.push({ street, a, b })
          else cells.set(`${x} ${y}`, [{ street, a, b }])
        }
      }
    })
  }
  return (spot, withinM) =>
    (cells.get(`${cell(spot.east)} ${cell(spot.north)}`) ?? [])
      .map(({ street, a, b }) => ({ street, metres: distanceToLine(spot, a, b), heading: headingOf(a, b) }))
      .filter(({ metres }) => metres <= withinM)
      .sort((a, b) => a.metres - b.metres)
}

function distanceToLine({ east, north }: Spot, a: Spot, b: Spot): number {
  const [x, y] = [b.east - a.east, b.north - a.north]
  const part = ((east - a.east) * x + (north - a.north) * y) / (x * x + y * y || 1)
  const within = Math.min(Math.max(part, 0), 1)
  return Math.hypot(east - a.east - x * within, north - a.north - y * within)
}

const headingOf = (a: Spot, b: Spot) =>
  ((Math.atan2(b.east - a.east, b.north - a.north) * 180) / Math.PI + 360) % 360

/** The smaller angle between two headings. */
export const angleBetween = (a: number, b: number) => Math.abs(((((a - b) % 360) + 540) % 360) - 180)
