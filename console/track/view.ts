import type { MapColors } from '../map/colors.ts'
import { TILE_PX } from '../map/mercator.ts'

/** A place as fractions of the world's width and height (Web Mercator), x to the east and y to the south. */
export interface Place {
  x: number
  y: number
}

/** A part of the map in pixels of the page: where its upper left corner is in the world, and how wide the world is. */
export interface View {
  left: number
  top: number
  width: number
  height: number
  world: number
  zoom: number
  /** Pixels of the screen for each. */
  ratio: number
}

/** Draws what a view shows. */
type Draw = (pen: CanvasRenderingContext2D, view: View, colors: MapColors) => void

export interface Ground {
  /** The picture under the trail and the marker. */
  draw: Draw
  /** Names, which lie above the trail. */
  drawNames?: Draw
}

export const toView = (center: Place, zoom: number, width: number, height: number, ratio: number): View => {
  const world = TILE_PX * 2 ** zoom
  const [left, top] = [center.x * world - width / 2, center.y * world - height / 2]
  return { left, top, width, height, world, zoom, ratio }
}

/** The left edges of the copies of the world in the view: it repeats, and a trail continues from one copy into the next. */
export function copiesOf({ left, width, world }: View): number[] {
  const lefts: number[] = []
  for (let turn = Math.floor(left / world) - 1; (turn - 1) * world < left + width; turn++)
    lefts.push(left - turn * world)
  return lefts
}

/** A tile in a view: its address, the pixels of its corner, and its width. */
export interface Square {
  z: number
  x: number
  y: number
  left: number
  top: number
  size: number
}

/** The tiles of a level that a view shows. */
export function squaresOf({ left, top, width, height, world }: View, level: number): Square[] {
  const count = 2 ** level
  const size = world / count
  const squares: Square[] = []
  for (let y = Math.max(0, Math.floor(top / size)); y * size < top + height && y < count; y++) {
    for (let x = Math.floor(left / size); x * size < left + width; x++) {
      const column = ((x % count) + count) % count
      squares.push({ z: level, x: column, y, left: x * size - left, top: y * size - top, size })
    }
  }
  return squares
}
