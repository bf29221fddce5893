import type { Scheduler } from '../../../fair/scheduler.ts'
import { distanceM } from '../../../stream/geometry.ts'
import { type Basemap, locate } from '../../basemap/tiles.ts'
import { findCountry } from './countries.ts'
import { findNearest } from './nearest.ts'
import { createNames } from './search.ts'
import { createTileReader } from './tile-places.ts'

export interface Point {
  lat: number
  lng: number
}

/** Where a point is, in words. */
export interface Place {
  name: string
  street: string | null
  town: string | null
  country: string | null
  distance: number
}

/** Points that are looked up at once: each reads up to ten tiles. */
const AT_ONCE = 8
/** Points that have no answer by then have none. */
const WITHIN_MS = 8_000
const MAX_RESULTS = 20

/** Words for places, from the vector tiles of the basemap alone. */
export function createPlaces(basemap: Basemap | null, scheduler: Pick<Scheduler, 'pass' | 'walk'>) {
  const readPlaces = basemap && createTileReader(basemap, scheduler)
  const search =
    basemap && readPlaces ? createNames(basemap, tile => readPlaces(tile, ' names'), scheduler) : null

  /** Null where there is neither a street nor a town, or the tiles cannot be read now. */
  async function describe(point: Point, owner: string): Promise<Place | null> {
    const about = basemap?.about
    if (!about?.vector || !readPlaces) return null
    try {
      const { street, town } = await findNearest(point, about, tile => readPlaces(tile, owner))
      const nearest = street ?? town
      if (!nearest) return null
      return {
        name: [street?.name, town?.name].filter(Boolean).join(', '),
        street: street?.name ?? null,
        town: town?.name ?? null,
        country: await findCountry(point),
        distance: Math.round(nearest.distanceM),
      }
    } catch {
      return null
    }
  }

  /** In the order of the points. */
  async function describeAll(points: readonly Point[], owner: string): Promise<(Place | null)[]> {
    const found: (Place | null)[] = points.map(() => null)
    const end = performance.now() + WITHIN_MS
    let next = 0
    const work = async () => {
      for (let index = next++; index < points.length && performance.now() < end; index = next++) {
        // Tiles that are decoded already are compared without a turn of their own.
        await scheduler.pass(owner)
        found[index] = await describe(points[index] as Point, owner)
      }
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, points.length) }, work))
    return found
  }

  return {
    describe: describeAll,

    /** Streets and towns by a part of their names; `distance` is from `near`, where that is given. */
    async search(text: string, near: Point | null, owner: string): Promise<(Place & Point)[]> {
      if (!basemap?.about?.vector || !search) return []
      const found = await search(text, near && locate(near.lat, near.lng, 0), MAX_RESULTS, owner)
      const points = found.map(({ x, y }) => toPoint(x, y))
      const around = await describeAll(points, owner)
      return Promise.all(
        found.map(async ({ name, isTown }, index) => {
          const point = points[index] as Point
          const place = around[index]
          const town = isTown ? name : (place?.town ?? null)
          const street = isTown ? null : name
          return {
            name: [street, town].filter(Boolean).join(', '),
            street,
            town,
            country: place?.country ?? (await findCountry(point)),
            distance: near ? Math.round(distanceM(near, point)) : 0,
            ...point,
          }
        }),
      )
    },
  }
}

function toPoint(x: number, y: number): Point {
  const round = (value: number) => Math.round(value * 1e6) / 1e6
  const lat = (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI
  return { lat: round(lat), lng: round(x * 360 - 180) }
}
