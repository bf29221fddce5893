import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { MultiPolygon, Polygon, Position } from 'geojson'
import { feature } from 'topojson-client'

interface Country {
  name: string
  /** Each with its box: west, south, east, north. */
  polygons: { rings: Position[][]; box: readonly [number, number, number, number] }[]
}

/** The outlines are coarse: a pier or an islet may lie outside of its country by this distance. */
const OFFSHORE_DEGREES = [0, 0.05, 0.2]

let countries: Promise<Country[]> | undefined

/** The English name of the country that a place lies in, by the outlines that the console's map shows too; null at sea. */
export async function findCountry({ lat, lng }: { lat: number; lng: number }): Promise<string | null> {
  // 0.7 MB, which most servers never need.
  countries ??= readCountries()
  const known = await countries
  for (const off of OFFSHORE_DEGREES) {
    for (const [east, north] of [
      [0, 0],
      [1, 0],
      [0, 1],
      [-1, 0],
      [0, -1],
    ] as const) {
      const at = [lng + east * off, lat + north * off] as const
      const found = known.find(({ polygons }) => polygons.some(one => isInside(one, at)))
      if (found) return found.name
      if (off === 0) break
    }
  }
  return null
}

async function readCountries(): Promise<Country[]> {
  const path = createRequire(import.meta.url).resolve('world-atlas/countries-50m.json')
  const topology = JSON.parse(await readFile(path, 'utf8'))
  const { features } = feature(topology, topology.objects.countries) as unknown as {
    features: { properties: { name: string }; geometry: Polygon | MultiPolygon }[]
  }
  return features.map(({ properties, geometry }) => ({
    name: properties.name,
    polygons: (geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates).map(rings => ({
      rings,
      box: boxOf(rings[0] ?? []),
    })),
  }))
}

function boxOf(ring: Position[]) {
  const [lngs, lats] = [ring.map(([lng = 0]) => lng), ring.map(([, lat = 0]) => lat)]
  return [Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats)] as const
}

/** By the number of edges to the east of the place. */
function isInside(
  { rings, box }: Country['polygons'][number],
  [lng, lat]: readonly [number, number],
): boolean {
  if (lng < box[0] || lat < box[1] || lng > box[2] || lat > box[3]) return false
  let inside = false
  for (const ring of rings) {
    for (let index = 1; index < ring.length; index++) {
      const [fromLng = 0, fromLat = 0] = ring[index - 1] ?? []
      const [toLng = 0, toLat = 0] = ring[index] ?? []
      if (fromLat > lat === toLat > lat) continue
      if (lng < ((toLng - fromLng) * (lat - fromLat)) / (toLat - fromLat) + fromLng) inside = !inside
    }
  }
  return inside
}
