import { distanceM, headingOf, type Leg, type Track } from './track.ts'

/** A place on a route, and the road from it to the next one. */
export interface Waypoint {
  lat: number
  lng: number
  stop: 'customer' | 'crossing' | null
  /** A key of `LIMIT_MPS`. */
  road: string
  isTunnel: boolean
}

/** The speed by the kind of road: motorway, trunk, primary, secondary, tertiary, residential, link. */
const LIMIT_MPS: Readonly<Record<string, number>> = { m: 25, t: 17, p: 13, s: 12, c: 11, r: 8.5, l: 11 }
const ACCELERATION = 1.6
const DECELERATION = 2
/** The acceleration to the side that a driver accepts in a curve, m/s². */
const SIDEWAYS = 2.5
/** A bend is driven as a curve that begins at most this far before it. */
const CURVE_WITHIN_M = 12
const SLOWEST_CURVE_MPS = 2.5
/** How long a vehicle stands; one place differs from another, and each stays the same. */
const STANDING_S = { crossing: { least: 4, most: 18 }, customer: { least: 15, most: 45 } }

/** Drives a closed route as a careful driver would. It begins with a stop. */
export function driveRoute(route: readonly Waypoint[]): Track {
  const pieces = route.flatMap((from, index) => {
    const to = route[(index + 1) % route.length] as Waypoint
    const metres = distanceM(from, to)
    return metres > 0 || from.stop ? [{ from, to, metres, limit: LIMIT_MPS[from.road] as number }] : []
  })
  const speeds = limitSpeeds(pieces)
  const legs: Leg[] = []
  let seconds = 0
  const add = (leg: Omit<Leg, 'fromS'>) => {
    legs.push({ fromS: seconds, ...leg })
    seconds += leg.seconds
  }
  for (const [index, { from, to, metres, limit }] of pieces.entries()) {
    const heading = headingOf(from, to)
    if (from.stop) {
      const { least, most } = STANDING_S[from.stop]
      const standing = least + ((index * 7) % (most - least))
      const isParked = from.stop === 'customer'
      const before = pieces.at(index - 1) as Piece
      const last = headingOf(before.from, before.to)
      add({ seconds: standing, from, to: from, speed: 0, acceleration: 0, heading: last, isParked })
    }
    const [enter, leave] = [speeds[index] as number, speeds[(index + 1) % speeds.length] as number]
    let driven = 0
    for (const { speed, acceleration, seconds } of changeSpeed(metres, enter, leave, limit)) {
      const start = between(from, to, driven / metres)
      driven += speed * seconds + (acceleration * seconds ** 2) / 2
      const end = between(from, to, driven / metres)
      add({ seconds, from: start, to: end, speed, acceleration, heading, isTunnel: from.isTunnel })
    }
  }
  return { legs, seconds, metres: pieces.reduce((sum, { metres }) => sum + metres, 0) }
}

interface Piece {
  from: Waypoint
  to: Waypoint
  metres: number
  limit: number
}

/** The speed at the beginning of each piece: what the road, its curves and its stops allow, and brakes and engine can do. */
function limitSpeeds(pieces: readonly Piece[]): number[] {
  const speeds = pieces.map((piece, index) => {
    const before = pieces.at(index - 1) as Piece
    return piece.from.stop ? 0 : Math.min(piece.limit, before.limit, limitInCurve(before, piece))
  })
  const reachable = (speed: number, acceleration: number, metres: number) =>
    Math.sqrt(speed ** 2 + 2 * acceleration * metres)
  // The route begins with a stop, so one pass in each direction is enough.
  pieces.forEach(({ metres }, index) => {
    const next = (index + 1) % pieces.length
    const possible = reachable(speeds[index] as number, ACCELERATION, metres)
    speeds[next] = Math.min(speeds[next] as number, possible)
  })
  for (let index = pieces.length - 1; index >= 0; index--) {
    const next = speeds[(index + 1) % pieces.length] as number
    const possible = reachable(next, DECELERATION, (pieces[index] as Piece).metres)
    speeds[index] = Math.min(speeds[index] as number, possible)
  }
  return speeds
}

function limitInCurve(before: Piece, after: Piece): number {
  const turn = headingOf(after.from, after.to) - headingOf(before.from, before.to)
  const angle = (Math.abs(((turn + 540) % 360) - 180) * Math.PI) / 180
  const radius = Math.min(before.metres / 2, after.metres / 2, CURVE_WITHIN_M) / Math.tan(angle / 2)
  return Math.max(Math.sqrt(SIDEWAYS * radius), SLOWEST_CURVE_MPS)
}

/** Accelerates, drives at the limit and brakes; leaves out what is not needed. */
function changeSpeed(metres: number, enter: number, leave: number, limit: number) {
  const highest = Math.sqrt(
    (2 * ACCELERATION * DECELERATION * metres + DECELERATION * enter ** 2 + ACCELERATION * leave ** 2) /
      (ACCELERATION + DECELERATION),
  )
  const peak = Math.min(limit, highest)
  const rising = (peak ** 2 - enter ** 2) / (2 * ACCELERATION)
  const falling = (peak ** 2 - leave ** 2) / (2 * DECELERATION)
  return [
    { speed: enter, acceleration: ACCELERATION, seconds: (peak - enter) / ACCELERATION },
    { speed: peak, acceleration: 0, seconds: (metres - rising - falling) / peak },
    { speed: peak, acceleration: -DECELERATION, seconds: (peak - leave) / DECELERATION },
  ].filter(({ seconds }) => seconds > 1e-6)
}

function between(a: Waypoint, b: Waypoint, part: number): { lat: number; lng: number } {
  return { lat: a.lat + (b.lat - a.lat) * part, lng: a.lng + (b.lng - a.lng) * part }
}
