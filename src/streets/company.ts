import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../db/folders.ts'
import { readRoutesFrom } from './routes.ts'
import type { Leg, Track } from './track.ts'

/** `npm run routes` makes it; `basemap/README.md` describes it. */
const FILE = join(PROJECT, 'basemap/sanfrancisco-company.json')

export interface Depot {
  name: string
  lat: number
  lng: number
  address: string
  /** The numbers of the routes that pass it. */
  routes: number[]
}

export interface Customer {
  name: string
  lat: number
  lng: number
  address: string
}

/** The vehicles of each depot. */
const VEHICLES = 4

/** A vehicle of the sample company. Its number tells it from the others. */
export interface CompanyVehicle {
  number: number
  name: string
  depot: Depot
  /** The vehicle's first route: an index into the routes of its depot. */
  firstRound: number
}

/** The places of the sample company in San Francisco, and its vehicles. */
export function readCompany(): { depots: Depot[]; customers: Customer[]; vehicles: CompanyVehicle[] } {
  const places = JSON.parse(readFileSync(FILE, 'utf8')) as { depots: Depot[]; customers: Customer[] }
  const vehicles = places.depots.flatMap((depot, at) =>
    Array.from({ length: VEHICLES }, (_, index) => ({
      number: at * VEHICLES + index,
      name: `${depot.name.replace(' depot', '')} ${index + 1}`,
      depot,
      firstRound: Math.floor((index * depot.routes.length) / VEHICLES),
    })),
  )
  return { ...places, vehicles }
}

/** The rounds of a depot, each from the depot and back to it. */
export const readRounds = (depot: Depot): Promise<Track[]> => readRoutesFrom(depot.routes, depot)

/** One track of several, each of which begins where the one before ends. */
export function joinTracks(tracks: readonly Track[]): Track {
  const legs: Leg[] = []
  let [seconds, metres] = [0, 0]
  for (const track of tracks) {
    for (const leg of track.legs) legs.push({ ...leg, fromS: leg.fromS + seconds })
    seconds += track.seconds
    metres += track.metres
  }
  return { legs, seconds, metres }
}
