import type { FenceShape } from '../../db/schema/geofences.ts'
import type { Place } from '../geometry.ts'
import { isBeyond, isInBox, type PreparedShape, prepareShape, widenBox } from './shapes.ts'

/** What the map needs to know about a geofence. */
export interface MappedFence {
  shape: FenceShape
  marginMeters: number
}

export type LocatedFix = Place & { accuracy: number | null }

/**
 * Where a fix lies with regard to a border: on one side, at least the margin away from the border (`far`) or nearer; or,
 * if the circle of its accuracy touches the border, `undecided`.
 */
export const ZONE = { farOutside: 0, outside: 1, undecided: 2, inside: 3, farInside: 4 } as const
export type Zone = (typeof ZONE)[keyof typeof ZONE]

/** Where places lie with regard to geofences, which have the indices of the list that the map was made from. */
export interface FenceMap {
  /** The geofences that contain a place, in rising order. */
  locate(lat: number, lng: number): readonly number[]
  zoneOf(index: number, fix: LocatedFix, isInside: boolean): Zone
  /**
   * A number for each geofence in whose zone `farOutside` a fix does not lie, in rising order. `before` are those of the
   * fix before it: a geofence that is not among them, and does not reach the place with its margin, is not looked at.
   */
  zonesOf(fix: LocatedFix, before: readonly number[] | undefined): readonly number[]
}

const NONE: readonly number[] = []
/** Only the first geofences around a place count, so that one fix cannot cause an unlimited number of crossings. */
const MAX_INSIDE = 50
/** Cells of 40 m. */
const MAX_LEVEL = 20
/** More than there are zones. */
const PER_INDEX = 8

/** A shape whose `reach` is its box, widened by the margin. */
type Mapped = PreparedShape & { reach: PreparedShape['box']; margin: number }

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
export function createFenceMap(fences: readonly MappedFence[]): FenceMap {
  const mapped = fences.map(({ shape, marginMeters }): Mapped => {
    const prepared = prepareShape(shape)
    return { ...prepared, margin: marginMeters, reach: widenBox(prepared.box, marginMeters) }
  })
  const grids = createGrids(mapped)

  /** The geofences that contain a place, and in `near` those that reach it with their margin only. */
  function look(lat: number, east: number, near?: number[]): readonly number[] {
    // Both sides of the antimeridian are the same line.
    const lng = east === 180 ? -180 : east
    let found: number[] | undefined
    for (const { size, count, cells } of grids) {
      // The last double before the antimeridian is rounded up to it, and its column is the first one.
      const column = Math.floor((lng + 180) / size) % count
      const there = cells.get(Math.floor((lat + 90) / size) * count + column)
      if (there === undefined) continue
      for (const index of there) {
        const { box, reach, margin, contains } = mapped[index] as Mapped
        if (isInBox(box, lat, lng) && contains({ lat, lng })) {
          found ??= []
          found.push(index)
        } else if (near && margin > 0 && isInBox(reach, lat, lng)) near.push(index)
      }
    }
    if (found === undefined) return NONE
    found.sort((a, b) => a - b)
    near?.push(...found.slice(MAX_INSIDE))
    return found.slice(0, MAX_INSIDE)
  }

  function zoneOf(index: number, fix: LocatedFix, isInside: boolean): Zone {
    const { box, margin, borderM } = mapped[index] as Mapped
    const accuracy = fix.accuracy ?? 0
    const reach = Math.max(accuracy, margin)
    if (reach === 0) return isInside ? ZONE.farInside : ZONE.farOutside
    if (!isInside && isBeyond(box, fix, reach)) return ZONE.farOutside
    const border = borderM(fix)
    if (accuracy > 0 && border <= accuracy) return ZONE.undecided
    if (border < margin) return isInside ? ZONE.inside : ZONE.outside
    return isInside ? ZONE.farInside : ZONE.farOutside
  }

  return {
    locate: (lat, lng) => look(lat, lng),
    zoneOf,
    zonesOf(fix, before) {
      const near: number[] = []
      const inside = look(fix.lat, fix.lng, near)
      // Where nothing is known, and where the fix before was, accuracy may make the difference.
      const others = !fix.accuracy || before?.length === 0 ? NONE : (before?.map(toIndex) ?? mapped.keys())
      const looked = others === NONE ? [...inside, ...near] : new Set([...inside, ...near, ...others])
      const zones: number[] = []
      for (const index of looked) {
        const zone = zoneOf(index, fix, inside.includes(index))
        if (zone !== ZONE.farOutside) zones.push(index * PER_INDEX + zone)
      }
      return zones.length === 0 ? NONE : zones.sort((a, b) => a - b)
    },
  }
}

const toIndex = (zone: number) => Math.floor(zone / PER_INDEX)

function createGrids(mapped: readonly Mapped[]): Level[] {
  const levels = new Map<number, Level>()
  mapped.forEach((shape, index) => {
    const level = levelOf(shape)
    const grid = levels.get(level) ?? { size: 360 / 2 ** level, count: 2 ** level, cells: new Map() }
    levels.set(level, grid)
    for (const cell of cellsOf(shape, grid)) {
      const there = grid.cells.get(cell)
      if (there) there.push(index)
      else grid.cells.set(cell, [index])
    }
  })
  return [...levels.values()]
}

function levelOf({ reach }: Mapped): number {
  const extent = Math.max(reach.east - reach.west, reach.north - reach.south)
  return Math.max(0, Math.min(MAX_LEVEL, Math.floor(Math.log2(360 / extent))))
}

function cellsOf({ reach }: Mapped, { size, count }: Level): Set<number> {
  const cells = new Set<number>()
  for (let row = Math.floor((reach.south + 90) / size); row <= Math.floor((reach.north + 90) / size); row++) {
    for (
      let column = Math.floor((reach.west + 180) / size);
      column <= Math.floor((reach.east + 180) / size);
      column++
    )
      cells.add(row * count + (column % count))
  }
  return cells
}
