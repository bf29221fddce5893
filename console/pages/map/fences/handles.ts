import { ringOf, type Shape } from '../../../map/areas.ts'
import { boundsOf, shortWay } from '../../../map/geometry.ts'
import { TILE_PX, toLat, toLng, toX, toY } from '../../../map/mercator.ts'

export type Corner = [lng: number, lat: number]

/** A handle of a shape: a corner, the middle of an edge, the edge of a circle, or the whole shape. */
export interface Handle {
  kind: 'corner' | 'edge' | 'radius' | 'whole'
  /** The index of the corner, or of the corner at which the edge begins. */
  index: number
  place: Corner
}

/** Handles that are closer to each other could not be hit. */
const APART_PX = 22
/** A circle has 64 corners, so this many lie between two handles. */
const QUARTER = 16

/** The corners of a shape, each once, without a jump at the 180th meridian. */
export const cornersOf = (shape: Shape): Corner[] => ringOf(shape).slice(0, -1)

/** The visible part of the world. */
export interface View {
  zoom: number
  middle: Corner
  isSeen: (place: Corner) => boolean
}

/** The handles for which there is room, the selected corner first. */
export function handlesOf(shape: Shape, { zoom, middle, isSeen }: View, chosen: number | null): Handle[] {
  const scale = TILE_PX * 2 ** zoom
  const room: [x: number, y: number][] = []
  const handles: Handle[] = []
  const add = (kind: Handle['kind'], index: number, place: Corner | null | undefined): boolean => {
    if (!place) return false
    const [x, y] = [toX(place[0]) * scale, toY(place[1]) * scale]
    if (room.some(([otherX, otherY]) => Math.hypot(otherX - x, otherY - y) < APART_PX)) return false
    room.push([x, y])
    handles.push({ kind, index, place })
    return true
  }
  const corners = cornersOf(shape)
  if (shape.type === 'circle') {
    add('whole', 0, [shape.center.lng, shape.center.lat])
    const quarters = corners.filter((_, index) => index % QUARTER === 0)
    for (const [index, corner] of quarters.entries()) add('radius', index, corner)
    // The edge of a circle that is larger than the screen may have no visible handle.
    if (!quarters.some(isSeen)) add('radius', quarters.length, nearestOn(corners, middle))
    return handles
  }
  if (chosen !== null) add('corner', chosen, corners[chosen])
  const shown = corners.map((corner, index) => index === chosen || add('corner', index, corner))
  add('whole', 0, middleOf(corners))
  corners.forEach((corner, index) => {
    const next = (index + 1) % corners.length
    // Where handles are left out, more of them appear with the zoom.
    if (shown[index] && shown[next]) add('edge', index, between(corner, corners[next] as Corner))
  })
  return handles
}

/** The nearest point of a ring to a place on the map. */
function nearestOn(corners: readonly Corner[], [lng, lat]: Corner): Corner {
  const points = corners.map(([lng, lat]) => [toX(lng), toY(lat)] as const)
  const first = corners[0] as Corner
  const [x, y] = [toX(first[0] + shortWay(lng - first[0])), toY(lat)]
  let nearest = { place: first, away: Number.POSITIVE_INFINITY }
  points.forEach(([ax, ay], index) => {
    const [bx, by] = points[(index + 1) % points.length] as readonly [number, number]
    const along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1)
    const part = Math.max(0, Math.min(1, along))
    const [nearX, nearY] = [ax + part * (bx - ax), ay + part * (by - ay)]
    const away = Math.hypot(nearX - x, nearY - y)
    if (away < nearest.away) nearest = { place: [toLng(nearX), toLat(nearY)], away }
  })
  return nearest.place
}

const middleOf = (corners: readonly Corner[]): Corner | null => {
  const bounds = boundsOf(corners)
  return bounds && between(...bounds)
}

/** The last edge ends in the first corner without a jump: a ring goes not round the world. */
const between = ([ax, ay]: Corner, [bx, by]: Corner): Corner => [(ax + bx) / 2, (ay + by) / 2]
