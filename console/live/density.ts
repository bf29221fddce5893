import type { Cluster, Clustering } from '../map/clusters.ts'

/** From this number of subjects on the screen on, rings would hide the map below them. */
const DENSE_FROM = 800
/** The picture changes back later, so that it does not flicker. */
const DENSE_UNTIL = 600
/** One number for so much of the screen. */
const CELL_PX = 128
/** Fewer are counted by looking. */
const NUMBERED_FROM = 12
/** A click on more dots than these means none of them. */
const CROWD = 3
const CROWD_PX = 24

/** A part of the world, in shares of it. */
interface Sight {
  centerX: number
  centerY: number
  width: number
  height: number
}

/** Whether so many subjects are in sight that each is drawn as a dot, and numbers say how many are where. */
export function isDense(
  x: Float64Array,
  y: Float64Array,
  size: number,
  { centerX, centerY, width, height }: Sight,
  wasDense = false,
): boolean {
  const enough = wasDense ? DENSE_UNTIL : DENSE_FROM
  let seen = 0
  for (let slot = 0; slot < size && seen < enough; slot++) {
    const away = (x[slot] as number) - centerX
    const dx = away - Math.round(away)
    if (Math.abs(dx) <= width / 2 && Math.abs((y[slot] as number) - centerY) <= height / 2) seen++
  }
  return seen >= enough
}

/** Counts subjects by cells that stay where they are when the map moves. All of them are drawn, too. */
export function countCells(x: Float64Array, y: Float64Array, size: number, worldPx: number): Clustering {
  const columns = Math.max(1, Math.floor(worldPx / CELL_PX))
  const cells = new Map<number, Cluster>()
  for (let slot = 0; slot < size; slot++) {
    const [px, py] = [x[slot] as number, y[slot] as number]
    // Filtered subjects are outside of the world.
    if (px < 0) continue
    const key = Math.floor(py * columns) * columns + Math.floor(px * columns)
    const cell = cells.get(key)
    if (!cell) cells.set(key, { x: px, y: py, members: [slot] })
    else {
      cell.members.push(slot)
      cell.x += (px - cell.x) / cell.members.length
      cell.y += (py - cell.y) / cell.members.length
    }
  }
  const clusters = [...cells.values()].filter(({ members }) => members.length >= NUMBERED_FROM)
  return { clusters, alone: new Uint8Array(size).fill(1), isDense: true }
}

/** Whether there are so many markers at a point of the screen that nobody means one of them. */
export function isCrowd(data: Float32Array, count: number, stride: number, px: number, py: number): boolean {
  let near = 0
  for (let at = 0; at < count * stride && near <= CROWD; at += stride) {
    if (Math.hypot((data[at] as number) - px, (data[at + 1] as number) - py) <= CROWD_PX) near++
  }
  return near > CROWD
}
