import type { FenceShape } from '../../db/schema/geofences.ts'

// Computes crossings in another way than the product.

interface Place {
  lat: number
  lng: number
}

interface Fix extends Place {
  /** Milliseconds since 1970. */
  timestamp: number
  accuracy?: number | null
}

export interface FenceRules {
  _id: string
  shape: FenceShape
  dwellSeconds?: number
  marginMeters?: number
}

export interface ExpectedCrossing {
  geofenceId: string
  event: 'entered' | 'left'
  at: string
  lat: number
  lng: number
}

/** The crossings of one subject, computed from its fixes in order; of two at one time the first counts. */
export function expectedCrossings(fixes: readonly Fix[], fences: readonly FenceRules[]): ExpectedCrossing[] {
  const unique = new Map([...fixes].reverse().map(fix => [fix.timestamp, fix]))
  const ordered = [...unique.values()].sort((a, b) => a.timestamp - b.timestamp)
  return fences.flatMap(fence => crossingsOf(ordered, fence)).sort(byTime)
}

function crossingsOf(ordered: readonly Fix[], fence: FenceRules): ExpectedCrossing[] {
  const { _id, shape, dwellSeconds = 0, marginMeters = 0 } = fence
  const decided = ordered.filter(fix => !fix.accuracy || borderM(shape, fix) > fix.accuracy)
  const stays: Fix[][] = []
  for (const fix of decided) {
    const last = stays.at(-1)?.[0]
    if (last && isInside(shape, last) === isInside(shape, fix)) stays.at(-1)?.push(fix)
    else stays.push([fix])
  }
  const crossings: ExpectedCrossing[] = []
  let isIn: boolean | undefined
  for (const stay of stays) {
    const first = stay[0] as Fix
    const isLong = (stay.at(-1) as Fix).timestamp - first.timestamp >= dwellSeconds * 1000
    const isFar = marginMeters === 0 || stay.some(fix => borderM(shape, fix) >= marginMeters)
    const side = isInside(shape, first)
    isIn ??= side
    if (side === isIn || !isLong || !isFar) continue
    isIn = side
    const { lat, lng, timestamp } = first
    const event = side ? 'entered' : 'left'
    crossings.push({ geofenceId: _id, event, at: new Date(timestamp).toISOString(), lat, lng })
  }
  return crossings
}

/** Whether a fix is so close to a limit that both answers are right. */
export const isDoubtful = (fix: Fix, { shape, marginMeters = 0 }: FenceRules): boolean => {
  const border = borderM(shape, fix)
  return [0, marginMeters, fix.accuracy ?? 0].some(limit => Math.abs(border - limit) < 0.5)
}

export const byTime = (
  a: Pick<ExpectedCrossing, 'at' | 'geofenceId'>,
  b: Pick<ExpectedCrossing, 'at' | 'geofenceId'>,
) => (a.at < b.at || (a.at === b.at && a.geofenceId < b.geofenceId) ? -1 : 1)

const shorter = (degrees: number) => (((degrees % 360) + 540) % 360) - 180

export function isInside(shape: FenceShape, place: Place): boolean {
  if (shape.type === 'circle') return metresBetween(shape.center, place) <= shape.radius
  // The angle by which an observer at the place turns while looking along the border: a whole turn inside, else none.
  let east = shorter((shape.coordinates[0] as [number, number])[0] - place.lng)
  const angles = shape.coordinates.map(([lng, lat], index) => {
    const before = shape.coordinates[index - 1]
    if (before) east += shorter(lng - before[0])
    return Math.atan2(lat - place.lat, east)
  })
  let turned = 0
  angles.forEach((angle, index) => {
    const turn = angle - (angles[index - 1] ?? angle)
    turned += turn > Math.PI ? turn - 2 * Math.PI : turn < -Math.PI ? turn + 2 * Math.PI : turn
  })
  return Math.abs(turned) > Math.PI
}

/** The distance to the border, found by halving each edge around its nearest place. */
export function borderM(shape: FenceShape, place: Place): number {
  if (shape.type === 'circle') return Math.abs(metresBetween(shape.center, place) - shape.radius)
  const toEdge = (from: [number, number], to: [number, number]) => {
    const at = (part: number) =>
      metresBetween(place, {
        lng: from[0] + shorter(to[0] - from[0]) * part,
        lat: from[1] + (to[1] - from[1]) * part,
      })
    let [low, high] = [0, 1]
    for (let turn = 0; turn < 60; turn++) {
      const third = (high - low) / 3
      if (at(low + third) < at(high - third)) high -= third
      else low += third
    }
    return at(low)
  }
  const { coordinates } = shape
  return Math.min(
    ...coordinates.slice(1).map((to, index) => toEdge(coordinates[index] as [number, number], to)),
  )
}

function metresBetween(a: Place, b: Place): number {
  const [one, other] = [toVector(a), toVector(b)] as const
  const cross = [
    one[1] * other[2] - one[2] * other[1],
    one[2] * other[0] - one[0] * other[2],
    one[0] * other[1] - one[1] * other[0],
  ] as const
  const dot = one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
  return 6_371_008.8 * Math.atan2(Math.hypot(...cross), dot)
}

function toVector({ lat, lng }: Place): readonly [number, number, number] {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lng * Math.PI) / 180]
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)]
}
