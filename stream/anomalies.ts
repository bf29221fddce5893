import { distanceM, EARTH_RADIUS_M, type Place, turn } from './geometry.ts'

/**
 * A fix that implies more than 100 m/s both from the one before it and to the one after it is marked `speed`; one that is less
 * accurate than its organization takes, `accuracy`. Neighbours are neighbours in time, whatever their own marks: so a mark
 * is a matter of three points, the same in whatever order they come, and a point that is stored changes at most three.
 */
export type Anomaly = 'speed' | 'accuracy'

export interface Fix extends Place {
  /** Milliseconds since 1970. */
  recordedAt: number
}

const MAX_SPEED_MPS = 100
/** With so much time between them no two places on Earth are too far from each other: half its circumference is 55.6 h. */
export const NEIGHBOURS_WITHIN_MS = 56 * 3_600_000
const METRES_PER_DEGREE = (EARTH_RADIUS_M * Math.PI) / 180

/** Whether more than 100 m/s lie between a fix and the next. */
export function isFast(from: Fix, to: Fix): boolean {
  const reachM = (MAX_SPEED_MPS * (to.recordedAt - from.recordedAt)) / 1000
  // Along the meridian and then the parallel is no shorter than the great circle, and is found without a sine.
  const degrees = Math.abs(to.lat - from.lat) + Math.abs(turn(to.lng - from.lng))
  return degrees * METRES_PER_DEGREE > reachM && distanceM(from, to) > reachM
}
