import { distanceM, type Place, turn } from '../../../stream/geometry.ts'
import { isGap } from './outline.ts'

/**
 * Trips and stops of a track, as a fold over its fixes in the order of their times: what is in memory is the current trip's
 * sums and the fixes that may yet be the beginning of a stop.
 *
 * A stop begins with the earliest fix that all later ones stay within 100 m of for `stopMinutes` at least, and ends with the
 * last of them. Between stops there are trips, from the last fix of one stop to the first of the next. More than 30 minutes
 * without a fix end a trip, and what has never been more than 100 m from its beginning is none.
 *
 * Fixes closer together than a 300th of `stopMinutes`, a second for five minutes, count for the way and not for where a
 * stop begins: so that a stop is looked for among 300 fixes, however many there are.
 */
export interface Fix extends Place {
  /** Milliseconds since 1970. */
  time: number
  speedMps: number | null
}

export interface Trip {
  startTime: number
  endTime: number
  start: Place
  end: Place
  /** Metres along the fixes. */
  distance: number
  /** The fastest that a fix says, or, where none does, that two fixes imply. */
  maxSpeed: number
  points: number
}

export interface Stop extends Place {
  startTime: number
  endTime: number
}

export interface Day {
  /** YYYY-MM-DD, where the clock shows it. */
  date: string
  /** Metres and seconds of trips. */
  distance: number
  duration: number
}

export interface Trips {
  trips: Trip[]
  stops: Stop[]
  days: Day[]
}

const STOP_RADIUS_M = 100
/** Of a stop's shortest duration. */
const SAMPLES = 300

/** The way from one sample to the next. */
interface Leg {
  from: Fix
  to: Fix
  distance: number
  maxSpeed: number
  points: number
  /** Nobody knows where it was in between. */
  gap: boolean
}

interface OpenTrip {
  start: Fix
  end: Fix
  distance: number
  maxSpeed: number
  points: number
  /** Whether it has been outside of the radius of its start. */
  left: boolean
  days: Map<string, Day>
}

export interface TripFold {
  /** Takes the next fix, which is no earlier than the one before. */
  add(fix: Fix): void
  /** How many trips and stops there are so far. */
  readonly count: number
  finish(): Trips
}

/** `dateOf` says on which date a time is, and when the next date begins. */
export function createTripFold(
  stopMs: number,
  dateOf: (time: number) => { date: string; end: number },
): TripFold {
  const trips: Trip[] = []
  const stops: Stop[] = []
  const days = new Map<string, Day>()
  /** Since where it may yet turn out to stand: all later ones are within the radius of the first. */
  let samples: Fix[] = []
  /** `legs[n]` leads to `samples[n + 1]`. */
  let legs: Leg[] = []
  /** After the last sample. */
  let tail: Leg | undefined
  let stop: { anchor: Fix; last: Fix; north: number; east: number; samples: number } | undefined
  let trip: OpenTrip | undefined

  const isNear = (a: Place, b: Place) => distanceM(a, b) <= STOP_RADIUS_M

  function begin(start: Fix): OpenTrip {
    return { start, end: start, distance: 0, maxSpeed: 0, points: 1, left: false, days: new Map() }
  }

  function endTrip(): void {
    if (trip?.left) {
      const { start, end, distance, maxSpeed, points } = trip
      trips.push({
        startTime: start.time,
        endTime: end.time,
        start: { lat: start.lat, lng: start.lng },
        end: { lat: end.lat, lng: end.lng },
        distance,
        maxSpeed,
        points,
      })
      for (const { date, distance, duration } of trip.days.values()) addToDay(days, date, distance, duration)
    }
    trip = undefined
  }

  /** The way belongs to the trip: no stop begins before its end. */
  function travel(leg: Leg): void {
    if (leg.gap) {
      endTrip()
      trip = begin(leg.to)
      return
    }
    trip ??= begin(leg.from)
    trip.end = leg.to
    trip.distance += leg.distance
    trip.maxSpeed = Math.max(trip.maxSpeed, leg.maxSpeed)
    trip.points += leg.points
    trip.left ||= !isNear(trip.start, leg.to)
    const took = leg.to.time - leg.from.time
    for (let from = leg.from.time; ; ) {
      const { date, end } = dateOf(from)
      const to = Math.min(end, leg.to.time)
      addToDay(
        trip.days,
        date,
        took > 0 ? (leg.distance * (to - from)) / took : leg.distance,
        (to - from) / 1000,
      )
      if (to >= leg.to.time) break
      from = to
    }
  }

  function endStop(): void {
    if (!stop) return
    const { anchor, last, north, east, samples } = stop
    const [lat, lng] = [anchor.lat + north / samples, anchor.lng + east / samples]
    stops.push({ lat, lng: turn(lng), startTime: anchor.time, endTime: last.time })
    stop = undefined
  }

  /** The samples are the beginning of a stop. */
  function stand(): void {
    const [anchor] = samples as [Fix]
    endTrip()
    stop = { anchor, last: anchor, north: 0, east: 0, samples: 0 }
    for (const sample of samples) stay(sample)
    samples = []
    legs = []
  }

  function stay(sample: Fix): void {
    if (!stop) return
    stop.last = sample
    stop.north += sample.lat - stop.anchor.lat
    stop.east += turn(sample.lng - stop.anchor.lng)
    stop.samples++
  }

  /** The newest are looked at first: of something that drives they are the farthest. */
  function hasGone(first: number): boolean {
    for (let other = samples.length - 1; other > first; other--)
      if (!isNear(samples[first] as Fix, samples[other] as Fix)) return true
    return false
  }

  function move(sample: Fix, leg: Leg): void {
    samples.push(sample)
    legs.push(leg)
    // Those before it are near the first. Where it has gone from there, the earliest that it has not gone from is next.
    let first = 0
    if (!isNear(samples[0] as Fix, sample)) while (hasGone(first)) first++
    for (const passed of legs.slice(0, first)) travel(passed)
    samples = samples.slice(first)
    legs = legs.slice(first)
    if (sample.time - (samples[0] as Fix).time >= stopMs) stand()
  }

  /** Its end is a sample. */
  function takeTail(): void {
    const leg = tail as Leg
    tail = undefined
    if (!stop) move(leg.to, leg)
    else if (isNear(stop.anchor, leg.to)) stay(leg.to)
    else {
      endStop()
      samples = [leg.to]
      travel(leg)
    }
  }

  return {
    get count() {
      return trips.length + stops.length
    },

    add(fix) {
      if (tail && isGap(tail.to.time, fix.time)) takeTail()
      const last = tail?.to ?? stop?.last ?? samples.at(-1)
      if (!last) {
        samples.push(fix)
        return
      }
      const leg = join(tail, last, fix)
      if (fix.time - leg.from.time < stopMs / SAMPLES) {
        tail = leg
        return
      }
      tail = leg
      takeTail()
    },

    finish() {
      endStop()
      for (const leg of [...legs, ...(tail ? [tail] : [])]) travel(leg)
      endTrip()
      return { trips, stops, days: [...days.values()] }
    },
  }
}

/** The way so far and from there to the next fix. */
function join(so: Leg | undefined, from: Fix, to: Fix): Leg {
  const distance = distanceM(from, to)
  const took = (to.time - from.time) / 1000
  const speed = to.speedMps ?? (took > 0 ? distance / took : 0)
  return {
    from: so?.from ?? from,
    to,
    distance: (so?.distance ?? 0) + distance,
    maxSpeed: Math.max(so?.maxSpeed ?? 0, speed),
    points: (so?.points ?? 0) + 1,
    gap: isGap(from.time, to.time),
  }
}

function addToDay(days: Map<string, Day>, date: string, distance: number, duration: number): void {
  const day = days.get(date)
  if (!day) days.set(date, { date, distance, duration })
  else {
    day.distance += distance
    day.duration += duration
  }
}
