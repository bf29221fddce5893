import { createRandom } from '../../../streets/random.ts'
import { createReceiver, type Reading } from '../../../streets/receiver.ts'
import type { Leg, Track } from '../../../streets/track.ts'

/** A reading of a tracker, in milliseconds since 1970. */
export interface ShiftFix extends Reading {
  at: number
}

/** A stop at a customer or at the depot. */
export interface Visit {
  lat: number
  lng: number
  from: number
  to: number
  isAtDepot: boolean
}

export interface Shift {
  fixes: ShiftFix[]
  visits: Visit[]
}

/** Trackers of vehicles usually send a fix every half minute, at each corner, and seldom while the vehicle stands. */
const MOVING_EVERY_MS = 30_000
const TURN_DEGREES = 25
const PARKED_EVERY_MS = 4 * 60_000
/** The steps in which a long street is looked through. */
const STEP_S = 5
const VISIT_MS = { least: 4 * 60_000, most: 12 * 60_000 }

/**
 * Drives rounds from the depot, with the time that work takes at each customer, and ends with the round that is driven at
 * `until`. The same numbers lead to the same shift, so that a fix that is stored twice is the same point.
 */
export function driveShift({
  vehicle,
  day,
  rounds,
  firstRound,
  from,
  until,
}: {
  vehicle: number
  /** How many days ago. */
  day: number
  rounds: readonly Track[]
  firstRound: number
  /** Milliseconds since 1970, as `until`. */
  from: number
  until: number
}): Shift {
  const random = createRandom(1 + vehicle * 1_000 + day)
  const receive = createReceiver(vehicle, random)
  const fixes: ShiftFix[] = []
  const visits: Visit[] = []
  let clock = from
  let last = { at: Number.NEGATIVE_INFINITY, heading: 0 }

  const add = (leg: Leg, seconds: number) => {
    const at = Math.round(clock + seconds * 1000)
    const { isParked = false, isTunnel = false, heading } = leg
    const driven = leg.speed * seconds + (leg.acceleration * seconds ** 2) / 2
    const whole = leg.speed * leg.seconds + (leg.acceleration * leg.seconds ** 2) / 2
    const part = whole > 0 ? Math.min(driven / whole, 1) : 0
    const lat = leg.from.lat + (leg.to.lat - leg.from.lat) * part
    const lng = leg.from.lng + (leg.to.lng - leg.from.lng) * part
    const speed = Math.max(0, leg.speed + leg.acceleration * seconds)
    const reading = receive({ lat, lng, speed, heading, isParked, isTunnel }, at)
    if (reading && at > last.at) fixes.push({ ...reading, at })
    last = { at, heading }
  }

  const stay = (leg: Leg) => {
    const ms = VISIT_MS.least + random() * (VISIT_MS.most - VISIT_MS.least)
    const { lat, lng } = leg.from
    visits.push({ lat, lng, from: clock, to: clock + ms, isAtDepot: leg.fromS === 0 })
    for (let stood = 0; stood < ms; stood += PARKED_EVERY_MS) add(leg, stood / 1000)
    clock += ms
    add(leg, 0)
  }

  for (let round = firstRound; clock < until; round++) {
    for (const leg of (rounds[round % rounds.length] as Track).legs) {
      if (leg.isParked) {
        stay(leg)
        continue
      }
      for (let seconds = 0; seconds < leg.seconds; seconds += STEP_S) {
        const turned = Math.abs(((leg.heading - last.heading + 540) % 360) - 180)
        const isDue = clock + seconds * 1000 - last.at >= MOVING_EVERY_MS
        if (isDue || (turned > TURN_DEGREES && leg.speed > 0)) add(leg, seconds)
      }
      clock += leg.seconds * 1000
    }
  }
  return { fixes, visits }
}
