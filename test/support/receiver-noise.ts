import { readTrace } from './traces.ts'

/** Metres to the east and north. */
export type Offset = readonly [east: number, north: number]

/** Degrees in a metre, at the equator. */
export const METRE = 1 / 111_195.08
/** A bus that shows itself this far from where it stands has moved. */
const MAX_JITTER_M = 25
const MIN_FIXES = 8

/** The same numbers in every run. */
export function createChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** How far real receivers strayed while their bus stood still, in their order. */
export function readJitter(): Offset[] {
  const byDevice = new Map<string, ReturnType<typeof readTrace>>()
  for (const point of readTrace('capmetro-2015-03-08'))
    byDevice.set(point.device, [...(byDevice.get(point.device) ?? []), point])
  const offsets: Offset[] = []
  for (const points of byDevice.values()) {
    points.sort((a, b) => a.timestamp - b.timestamp)
    let still: Offset[] = []
    let first = points[0]
    for (const point of points) {
      const east = ((point.lng - (first?.lng ?? 0)) / METRE) * Math.cos((point.lat * Math.PI) / 180)
      const north = (point.lat - (first?.lat ?? 0)) / METRE
      const stands = point.speed === 0 && Math.hypot(east, north) < MAX_JITTER_M
      if (stands) still.push([east, north])
      if (stands && point !== points.at(-1)) continue
      if (still.length >= MIN_FIXES) offsets.push(...centre(still))
      still = []
      first = point
    }
  }
  return offsets
}

function centre(offsets: readonly Offset[]): Offset[] {
  const middle = (of: (offset: Offset) => number) =>
    offsets.map(of).sort((a, b) => a - b)[offsets.length >> 1] as number
  const [east, north] = [middle(([x]) => x), middle(([, y]) => y)]
  return offsets.map(([x, y]) => [x - east, y - north])
}
