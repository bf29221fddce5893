import type { Place } from './track.ts'

/** A record of a tracker: the receiver's position, and the state of the vehicle. */
export interface Reading {
  lat: number
  lng: number
  /** m/s. */
  speed: number
  heading: number
  /** Metres. */
  accuracy: number
  /** Per cent. */
  battery: number
  attributes: { ignition: boolean }
}

/** The error of a receiver in each direction, and how long it stays about the same. */
const ERROR_M = 2
const ERROR_LASTS_MS = 20_000
const SPEED_ERROR_MPS = 0.2
const HEADING_ERROR_DEGREES = 3
const METRES_PER_DEGREE = 111_195
/** A working day from the charger. */
const BATTERY_LASTS_MS = 10 * 3_600_000
const BATTERY = { full: 100, empty: 20 }
/** Each vehicle is without mobile network for 25 s in ten minutes. */
const NETWORK = { everyMs: 600_000, missingMs: 25_000 }
/** Multiples of it are spread evenly over 0 to 1. */
const GOLDEN_RATIO = 0.618034

/** Creates the receiver of a vehicle: a few metres of error that drifts, and null in a tunnel. */
export function createReceiver(
  vehicle: number,
  random: () => number = Math.random,
): (place: Place, now: number) => Reading | null {
  /** Normally distributed with variance 1 (Box and Muller). */
  const randomError = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  let [north, east] = [randomError(), randomError()]
  let before: number | undefined
  return (place, now) => {
    const kept = before === undefined ? 0 : Math.exp(-(now - before) / ERROR_LASTS_MS)
    before = now
    const drift = (error: number) => kept * error + Math.sqrt(1 - kept ** 2) * randomError()
    ;[north, east] = [drift(north), drift(east)]
    if (place.isTunnel) return null
    const isMoving = place.speed > 0
    return {
      lat: place.lat + (north * ERROR_M) / METRES_PER_DEGREE,
      lng: place.lng + (east * ERROR_M) / METRES_PER_DEGREE / Math.cos((place.lat * Math.PI) / 180),
      // Real receivers notice that they stand still, and report a speed of 0 without noise.
      speed: isMoving ? Math.max(place.speed + randomError() * SPEED_ERROR_MPS, 0) : 0,
      heading: isMoving ? (place.heading + randomError() * HEADING_ERROR_DEGREES + 360) % 360 : place.heading,
      accuracy: Math.hypot(north, east) * ERROR_M + ERROR_M,
      battery: readBattery(vehicle, now),
      attributes: { ignition: !place.isParked },
    }
  }
}

/** Whether the tracker of a vehicle has mobile network, without which it keeps its points. */
export function hasNetwork(vehicle: number, now: number): boolean {
  return shift(vehicle, now, NETWORK.everyMs) >= NETWORK.missingMs
}

function readBattery(vehicle: number, now: number): number {
  const used = shift(vehicle, now, BATTERY_LASTS_MS) / BATTERY_LASTS_MS
  return Math.round(BATTERY.full - (BATTERY.full - BATTERY.empty) * used)
}

/** The time in a period that begins at another moment for each vehicle. */
const shift = (vehicle: number, now: number, periodMs: number) =>
  (now + ((vehicle * GOLDEN_RATIO) % 1) * periodMs) % periodMs
