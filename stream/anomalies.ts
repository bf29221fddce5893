import { distanceM, EARTH_RADIUS_M, type Place, turn } from './geometry.ts'

/**
 * A fix is marked `speed` when it implies more than 100 m/s both from the fix before it and to the fix after it. It is
 * marked `accuracy` when it is less accurate than its organization allows. Neighbours are neighbours in time, whatever
 * their own marks. So a mark depends on three points only, the order of arrival does not matter, and storing a point
 * changes at most three marks.
 */
export type Anomaly = 'speed' | 'accuracy'

export interface Fix extends Place {
  /** Milliseconds since 1970. */
  recordedAt: number
}

const MAX_SPEED_MPS = 100
/** Beyond this time no two places on Earth are too far apart: half its circumference takes 55.6 h at 100 m/s. */
export const NEIGHBOURS_WITHIN_MS = 56 * 3_600_000
const METRES_PER_DEGREE = (EARTH_RADIUS_M * Math.PI) / 180

/** Whether getting from one fix to the next takes more than 100 m/s. */
export function isFast(from: Fix, to: Fix): boolean {
  const reachM = (MAX_SPEED_MPS * (to.recordedAt - from.recordedAt)) / 1000
  // The way along the meridian and then the parallel is never shorter than the great circle, and needs no sine.
  const degrees = Math.abs(to.lat - from.lat) + Math.abs(turn(to.lng - from.lng))
  return degrees * METRES_PER_DEGREE > reachM && distanceM(from, to) > reachM
}
