import { distanceM, type Place, turn } from '../../../stream/geometry.ts'
import { isGap } from './outline.ts'

/**
 * Computes the trips and stops of a track as a fold over its fixes in order of time. Memory holds the sums of the
 * current trip and the fixes that may still become the beginning of a stop.
 *
 * A stop begins with the earliest fix such that all later ones stay within 100 m of it for at least `stopMinutes`, and
 * ends with the last of them. Between stops there are trips, from the last fix of one stop to the first of the next.
 * More than 30 minutes without a fix end a trip. A trip that never leaves the 100 m around its beginning does not
 * count.
 *
 * Fixes closer together than a 300th of `stopMinutes`, a second for five minutes, count for the distance but cannot
 * begin a stop. So a stop is searched among 300 fixes, however many there are.
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
  /** The fastest reported speed or, without reported ones, the fastest between two fixes. */
  maxSpeed: number
  points: number
}

export interface Stop extends Place {
  startTime: number
  endTime: number
}

export interface Day {
  /** YYYY-MM-DD, in local time. */
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
/** The number of samples in a stop's minimum duration. */
const SAMPLES = 300

/** The movement from one sample to the next. */
interface Leg {
  from: Fix
  to: Fix
  distance: number
  maxSpeed: number
  points: number
  /** Whether the movement is unknown because of a gap. */
  gap: boolean
}

interface OpenTrip {
  start: Fix
  end: Fix
  distance: number
  maxSpeed: number
  points: number
  /** Whether it has left the radius around its start. */
  left: boolean
  days: Map<string, Day>
}

export interface TripFold {
  /** Adds the next fix, which must not be earlier than the one before. */
  add(fix: Fix): void
  /** The number of trips and stops so far. */
  readonly count: number
  finish(): Trips
}

/** `dateOf` returns the date of a time, and when the next date begins. */
export function createTripFold(
  stopMs: number,
  dateOf: (time: number) => { date: string; end: number },
): TripFold {
  const trips: Trip[] = []
  const stops: Stop[] = []
  const days = new Map<string, Day>()
  /** The samples that may become a stop: all later ones are within the radius of the first. */
  let samples: Fix[] = []
  /** `legs[n]` leads to `samples[n + 1]`. */
  let legs: Leg[] = []
  /** The movement after the last sample. */
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

  /** Adds a leg to the trip, once no stop can begin before its end. */
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

  /** Makes the samples the beginning of a stop. */
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

  /**
   * Whether a later sample is outside of the radius. The newest come first, because those of a moving subject are the
   * farthest.
   */
  function hasGone(first: number): boolean {
    for (let other = samples.length - 1; other > first; other--)
      if (!isNear(samples[first] as Fix, samples[other] as Fix)) return true
    return false
  }

  function move(sample: Fix, leg: Leg): void {
    samples.push(sample)
    legs.push(leg)
    // All samples before are near the first. If the new one is not, the first that all later ones are near to becomes
    // the first.
    let first = 0
    if (!isNear(samples[0] as Fix, sample)) while (hasGone(first)) first++
    for (const passed of legs.slice(0, first)) travel(passed)
    samples = samples.slice(first)
    legs = legs.slice(first)
    if (sample.time - (samples[0] as Fix).time >= stopMs) stand()
  }

  /** Ends the tail, whose end becomes a sample. */
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

/** A leg extended to the next fix. */
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
