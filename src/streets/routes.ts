import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { PROJECT } from '../../db/folders.ts'
import { driveRoute, type Waypoint } from './drive.ts'
import { nearestOf, type Track } from './track.ts'

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
  return readLines().map(driveLine)
}

/**
 * Reads some of them, by their numbers. Each begins and ends with a stop where it comes nearest to `start`. One takes some
 * 10 ms, so each has a turn of the event loop.
 */
export async function readRoutesFrom(
  numbers: readonly number[],
  start: { lat: number; lng: number },
): Promise<Track[]> {
  const lines = readLines()
  const tracks: Track[] = []
  for (const number of numbers) {
    await setImmediate()
    const waypoints = readWaypoints(JSON.parse(lines[number] as string) as Line)
    tracks.push(driveRoute(beginNear(waypoints, start)))
  }
  return tracks
}

const readLines = (): string[] => gunzipSync(readFileSync(FILE)).toString('utf8').trim().split('\n')

const driveLine = (line: string): Track => driveRoute(readWaypoints(JSON.parse(line) as Line))

/** The closed route from its nearest place on, with a stop there. */
function beginNear(route: readonly Waypoint[], place: { lat: number; lng: number }): Waypoint[] {
  const nearest = route.map((from, index) => {
    const to = route[(index + 1) % route.length] as Waypoint
    return { index, from, ...nearestOf({ from, to }, place) }
  })
  const { index, from, lat, lng } = nearest.reduce((best, one) => (one.metres < best.metres ? one : best))
  const start: Waypoint = { ...from, lat, lng, stop: 'customer' }
  return [start, ...route.slice(index + 1), ...route.slice(0, index + 1)]
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
