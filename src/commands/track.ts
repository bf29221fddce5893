/** A recorded position of a vehicle. */
export interface Fix {
  /** Seconds since 1970. */
  seconds: number
  lat: number
  lng: number
}

/** The position of a simulated vehicle: degrees, m/s, degrees clockwise from north. */
export interface Place {
  lat: number
  lng: number
  speed: number
  heading: number
}

interface Leg {
  fromS: number
  seconds: number
  from: { lat: number; lng: number }
  to: { lat: number; lng: number }
  speed: number
  heading: number
}

/** A path that can be driven there and back: straight legs between recorded positions, and short stops. */
export interface Track {
  legs: readonly Leg[]
  /** The time for one direction. */
  seconds: number
  metres: number
}

const EARTH_RADIUS_M = 6_371_000
const RADIANS = Math.PI / 180
/** A fix that cannot be reached from the one before at this speed is an error of the receiver. */
const IMPOSSIBLE_MPS = 40
/** A longer leg without a fix would cross houses: the track ends there, and another one begins. */
const LONGEST_LEG_M = 2_500
/** The position of a parked receiver varies within this distance. */
const STANDING_WITHIN_M = 25
/**
 * Fixes two minutes apart hide the stops between them, so a leg is driven at least this fast, and at most as fast as a
 * bus.
 */
const SLOWEST_MPS = 5
const FASTEST_MPS = 22
/** Stops are kept short, because viewers want to see movement. */
const LONGEST_STOP_S = 8
/** A shorter track is a vehicle in its yard. */
const SHORTEST_TRACK_M = 1_000

/**
 * Creates the longest drivable track of a vehicle's recording, or null if it hardly moved. Sparse fixes become straight
 * legs at the recorded average speed, within plausible bounds; hours of standing become short stops.
 */
export function createTrack(fixes: readonly Fix[]): Track | null {
  let longest: Track | null = null
  for (const piece of split(fixes)) {
    const track = drive(piece)
    if (track.metres > (longest?.metres ?? 0)) longest = track
  }
  return longest && longest.metres >= SHORTEST_TRACK_M ? longest : null
}

/** Splits the fixes into pieces without errors and without long gaps. */
function split(fixes: readonly Fix[]): Fix[][] {
  const pieces: Fix[][] = []
  let piece: Fix[] = []
  for (const fix of fixes) {
    const last = piece.at(-1)
    if (last) {
      const metres = distanceM(last, fix)
      const seconds = fix.seconds - last.seconds
      if (seconds <= 0 || metres / seconds > IMPOSSIBLE_MPS) continue
      if (metres > LONGEST_LEG_M) piece = []
    }
    if (piece.length === 0) pieces.push(piece)
    piece.push(fix)
  }
  return pieces
}

function drive(fixes: readonly Fix[]): Track {
  const legs: Leg[] = []
  let seconds = 0
  let metres = 0
  const add = (leg: Omit<Leg, 'fromS'>) => {
    legs.push({ fromS: seconds, ...leg })
    seconds += leg.seconds
  }
  let [place] = fixes
  let arrived = place?.seconds ?? 0
  let left = arrived
  for (const fix of fixes) {
    if (!place) break
    const length = distanceM(place, fix)
    if (length < STANDING_WITHIN_M) {
      left = fix.seconds
      continue
    }
    const heading = headingOf(place, fix)
    const standing = Math.min(left - arrived, LONGEST_STOP_S)
    if (standing > 0) {
      add({ seconds: standing, from: place, to: place, speed: 0, heading: legs.at(-1)?.heading ?? heading })
    }
    const speed = Math.min(Math.max(length / (fix.seconds - left), SLOWEST_MPS), FASTEST_MPS)
    add({ seconds: length / speed, from: place, to: fix, speed, heading })
    metres += length
    place = fix
    arrived = fix.seconds
    left = fix.seconds
  }
  return { legs, seconds, metres }
}

/** The position of a vehicle that has driven the track, there and back repeatedly, for the given time. */
export function placeAt(track: Track, seconds: number): Place {
  const round = seconds % (2 * track.seconds)
  const back = round > track.seconds
  const at = back ? 2 * track.seconds - round : round
  const leg = findLeg(track.legs, at)
  const part = Math.min((at - leg.fromS) / leg.seconds, 1)
  return {
    lat: leg.from.lat + (leg.to.lat - leg.from.lat) * part,
    lng: leg.from.lng + (leg.to.lng - leg.from.lng) * part,
    speed: leg.speed,
    heading: back ? (leg.heading + 180) % 360 : leg.heading,
  }
}

function findLeg(legs: readonly Leg[], at: number): Leg {
  let low = 0
  let high = legs.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((legs[middle] as Leg).fromS <= at) low = middle
    else high = middle - 1
  }
  return legs[low] as Leg
}

/** Equirectangular approximation; good to 0.1 % over the distances between two fixes. */
export function distanceM(a: { lat: number; lng: number }, b: { lat: number; lng: number }): number {
  const { east, north } = offset(a, b)
  return Math.hypot(east, north) * RADIANS * EARTH_RADIUS_M
}

function headingOf(a: { lat: number; lng: number }, b: { lat: number; lng: number }): number {
  const { east, north } = offset(a, b)
  return (Math.atan2(east, north) / RADIANS + 360) % 360
}

/** The differences to the east and to the north, in degrees of latitude. */
function offset(a: { lat: number; lng: number }, b: { lat: number; lng: number }) {
  return { east: (b.lng - a.lng) * Math.cos(((a.lat + b.lat) / 2) * RADIANS), north: b.lat - a.lat }
}
