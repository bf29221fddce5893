import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { PROJECT } from '../../db/folders.ts'
import { driveRoute, type Waypoint } from './drive.ts'
import type { Track } from './track.ts'

/** `basemap/README.md` describes it; `npm run routes` makes it. */
const FILE = join(PROJECT, 'basemap/sanfrancisco-routes.ndjson.gz')

export const ROUTES_CREDIT = 'the streets of San Francisco, © OpenStreetMap contributors (ODbL)'

/** In 1/100,000 degree. All numbers but the first are differences from the one before. */
interface Line {
  lng: number[]
  lat: number[]
  /** The kind of each place: `c` is a customer, `x` a crossing where vehicles wait. */
  spots: string
  /** The kind of road that leads to the next place, a capital in a tunnel. */
  roads: string
}

/** Reads the routes through San Francisco. The first ones lie far from each other. */
export function readRoutes(): Track[] {
  const lines = gunzipSync(readFileSync(FILE)).toString('utf8').trim().split('\n')
  return lines.map(line => driveRoute(readWaypoints(JSON.parse(line) as Line)))
}

function readWaypoints(line: Line): Waypoint[] {
  let [lng, lat] = [0, 0]
  return line.lng.map((east, index) => {
    lng += east
    lat += line.lat[index] as number
    const [spot, road] = [line.spots[index] as string, line.roads[index] as string]
    return {
      lng: lng / 1e5,
      lat: lat / 1e5,
      stop: spot === 'c' ? 'customer' : spot === 'x' ? 'crossing' : null,
      road: road.toLowerCase(),
      isTunnel: road !== road.toLowerCase(),
    }
  })
}
