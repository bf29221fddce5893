import type { FenceShape } from '../../db/schema/geofences.ts'
import { isInBox, type PreparedShape, prepareShape } from './shapes.ts'

/** Which geofences contain a place. */
export interface FenceMap {
  /** Their indices in the list that the map was made from, in rising order. */
  locate(lat: number, lng: number): readonly number[]
}

const NONE: readonly number[] = []
/** Only the first geofences around a place count, so that one fix cannot cause an unlimited number of crossings. */
const MAX_INSIDE = 50
/** Cells of 40 m. */
const MAX_LEVEL = 20

/**
 * A grid whose cells have one size in degrees, `count` of them around the world. `cells` lists the shapes in each cell
 * by its number.
 */
interface Level {
  size: number
  count: number
  cells: Map<number, number[]>
}

/**
 * Each shape lies in the grid whose cells are just larger than the shape, so it reaches into at most four cells. A
 * lookup reads one cell of each grid in use.
 */
export function createFenceMap(shapes: readonly FenceShape[]): FenceMap {
  const prepared = shapes.map(prepareShape)
  const levels = new Map<number, Level>()
  prepared.forEach((shape, index) => {
    const level = levelOf(shape)
    const grid = levels.get(level) ?? { size: 360 / 2 ** level, count: 2 ** level, cells: new Map() }
    levels.set(level, grid)
    for (const cell of cellsOf(shape, grid)) {
      const there = grid.cells.get(cell)
      if (there) there.push(index)
      else grid.cells.set(cell, [index])
    }
  })
  const grids = [...levels.values()]
  return {
    locate(lat, east) {
      // Both sides of the antimeridian are the same line.
      const lng = east === 180 ? -180 : east
      let found: number[] | undefined
      for (const { size, count, cells } of grids) {
        // The last double before the antimeridian is rounded up to it, and its column is the first one.
        const column = Math.floor((lng + 180) / size) % count
        const there = cells.get(Math.floor((lat + 90) / size) * count + column)
        if (there === undefined) continue
        for (const index of there) {
          const { box, contains } = prepared[index] as PreparedShape
          if (!isInBox(box, lat, lng) || !contains({ lat, lng })) continue
          found ??= []
          found.push(index)
        }
      }
      return found?.sort((a, b) => a - b).slice(0, MAX_INSIDE) ?? NONE
    },
  }
}

function levelOf({ box }: PreparedShape): number {
  const extent = Math.max(box.east - box.west, box.north - box.south)
  return Math.max(0, Math.min(MAX_LEVEL, Math.floor(Math.log2(360 / extent))))
}

function cellsOf({ box }: PreparedShape, { size, count }: Level): Set<number> {
  const cells = new Set<number>()
  for (let row = Math.floor((box.south + 90) / size); row <= Math.floor((box.north + 90) / size); row++) {
    for (
      let column = Math.floor((box.west + 180) / size);
      column <= Math.floor((box.east + 180) / size);
      column++
    )
      cells.add(row * count + (column % count))
  }
  return cells
}
