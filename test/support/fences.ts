import type { FenceShape } from '../../db/schema/geofences.ts'

// Computes crossings in another way than the product.

interface Fix {
  lat: number
  lng: number
  /** Milliseconds since 1970. */
  timestamp: number
}

export interface ExpectedCrossing {
  geofenceId: string
  event: 'entered' | 'left'
  at: string
  lat: number
  lng: number
}

/** The crossings of one subject, computed from its fixes in order; of two at one time the first counts. */
export function expectedCrossings(
  fixes: readonly Fix[],
  fences: readonly { _id: string; shape: FenceShape }[],
): ExpectedCrossing[] {
  const unique = new Map([...fixes].reverse().map(fix => [fix.timestamp, fix]))
  const ordered = [...unique.values()].sort((a, b) => a.timestamp - b.timestamp)
  return fences
    .flatMap(({ _id, shape }) => {
      const crossings: ExpectedCrossing[] = []
      ordered.forEach(({ lat, lng, timestamp }, index) => {
        const before = ordered[index - 1]
        if (!before || isInside(shape, before) === isInside(shape, { lat, lng })) return
        const event = isInside(shape, { lat, lng }) ? 'entered' : 'left'
        crossings.push({ geofenceId: _id, event, at: new Date(timestamp).toISOString(), lat, lng })
      })
      return crossings
    })
    .sort(byTime)
}

export const byTime = (
  a: Pick<ExpectedCrossing, 'at' | 'geofenceId'>,
  b: Pick<ExpectedCrossing, 'at' | 'geofenceId'>,
) => (a.at < b.at || (a.at === b.at && a.geofenceId < b.geofenceId) ? -1 : 1)

export function isInside(shape: FenceShape, place: { lat: number; lng: number }): boolean {
  if (shape.type === 'circle') return metresBetween(shape.center, place) <= shape.radius
  // The angle by which an observer at the place turns while looking along the border: a whole turn inside, else none.
  const shorter = (degrees: number) => (((degrees % 360) + 540) % 360) - 180
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

function metresBetween(a: { lat: number; lng: number }, b: { lat: number; lng: number }): number {
  const [one, other] = [toVector(a), toVector(b)] as const
  const cross = [
    one[1] * other[2] - one[2] * other[1],
    one[2] * other[0] - one[0] * other[2],
    one[0] * other[1] - one[1] * other[0],
  ] as const
  const dot = one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
  return 6_371_008.8 * Math.atan2(Math.hypot(...cross), dot)
}

function toVector({ lat, lng }: { lat: number; lng: number }): readonly [number, number, number] {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lng * Math.PI) / 180]
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)]
}
