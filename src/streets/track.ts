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
  /** The driver has left the vehicle, with the engine off. */
  isParked: boolean
  isTunnel: boolean
}

/** A straight line, or a stop. */
export interface Leg {
  fromS: number
  seconds: number
  from: { lat: number; lng: number }
  to: { lat: number; lng: number }
  /** At the beginning of the leg. */
  speed: number
  acceleration: number
  heading: number
  isParked?: boolean
  isTunnel?: boolean
}

/** A closed path: its last leg ends where the first one begins. */
export interface Track {
  legs: readonly Leg[]
  /** The time of one round. */
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
 * Creates the longest drivable track of a vehicle's recording, there and back, or null if it hardly moved. Sparse fixes
 * become straight legs at the recorded average speed, within plausible bounds; hours of standing become short stops.
 */
export function createTrack(fixes: readonly Fix[]): Track | null {
  let longest: Track | null = null
  for (const piece of split(fixes)) {
    const track = drive(piece)
    if (track.metres > (longest?.metres ?? 0)) longest = track
  }
  return longest && longest.metres >= SHORTEST_TRACK_M ? addWayBack(longest) : null
}

function addWayBack({ legs, seconds, metres }: Track): Track {
  const back = legs.toReversed().map(leg => ({
    ...leg,
    fromS: 2 * seconds - leg.fromS - leg.seconds,
    from: leg.to,
    to: leg.from,
    heading: (leg.heading + 180) % 360,
  }))
  return { legs: [...legs, ...back], seconds: 2 * seconds, metres: 2 * metres }
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
      const before = legs.at(-1)?.heading ?? heading
      add({ seconds: standing, from: place, to: place, speed: 0, acceleration: 0, heading: before })
    }
    const speed = Math.min(Math.max(length / (fix.seconds - left), SLOWEST_MPS), FASTEST_MPS)
    add({ seconds: length / speed, from: place, to: fix, speed, acceleration: 0, heading })
    metres += length
    place = fix
    arrived = fix.seconds
    left = fix.seconds
  }
  return { legs, seconds, metres }
}

/** The position of a vehicle that has driven the track, round after round, for the given time. */
export function placeAt(track: Track, seconds: number): Place {
  const at = seconds % track.seconds
  const { fromS, from, to, acceleration, ...leg } = findLeg(track.legs, at)
  const passed = Math.min(at - fromS, leg.seconds)
  const driven = leg.speed * passed + (acceleration * passed ** 2) / 2
  const whole = leg.speed * leg.seconds + (acceleration * leg.seconds ** 2) / 2
  const part = whole > 0 ? driven / whole : 0
  return {
    lat: from.lat + (to.lat - from.lat) * part,
    lng: from.lng + (to.lng - from.lng) * part,
    speed: leg.speed + acceleration * passed,
    heading: leg.heading,
    isParked: leg.isParked ?? false,
    isTunnel: leg.isTunnel ?? false,
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

/** Degrees clockwise from north. */
export function headingOf(a: { lat: number; lng: number }, b: { lat: number; lng: number }): number {
  const { east, north } = offset(a, b)
  return (Math.atan2(east, north) / RADIANS + 360) % 360
}

/** The differences to the east and to the north, in degrees of latitude. */
function offset(a: { lat: number; lng: number }, b: { lat: number; lng: number }) {
  return { east: (b.lng - a.lng) * Math.cos(((a.lat + b.lat) / 2) * RADIANS), north: b.lat - a.lat }
}

/** The place of a track that is nearest to a position: the seconds of driving until there, and its distance. */
export function findOn(
  track: Track,
  position: { lat: number; lng: number },
): { seconds: number; metres: number } {
  let best = { seconds: 0, metres: Number.POSITIVE_INFINITY }
  for (const leg of track.legs) {
    const { part, metres } = nearestOf(leg, position)
    if (metres < best.metres) best = { seconds: leg.fromS + timeTo(leg, part), metres }
  }
  return best
}

/** The point of a line that is nearest to a position, and the part of the line until there. */
export function nearestOf(
  { from, to }: Pick<Leg, 'from' | 'to'>,
  position: { lat: number; lng: number },
): { part: number; lat: number; lng: number; metres: number } {
  const line = offset(from, to)
  const { east, north } = offset(from, position)
  const squared = line.east ** 2 + line.north ** 2
  const part = squared > 0 ? Math.min(Math.max((east * line.east + north * line.north) / squared, 0), 1) : 0
  return {
    part,
    lat: from.lat + (to.lat - from.lat) * part,
    lng: from.lng + (to.lng - from.lng) * part,
    metres: Math.hypot(east - part * line.east, north - part * line.north) * RADIANS * EARTH_RADIUS_M,
  }
}

/** The seconds after which a part of a leg is driven. */
function timeTo({ speed, acceleration, seconds }: Leg, part: number): number {
  const driven = part * (speed * seconds + (acceleration * seconds ** 2) / 2)
  if (driven === 0) return 0
  // The solution of driven = speed * t + acceleration * t² / 2 that exists without acceleration as well.
  return (2 * driven) / (speed + Math.sqrt(Math.max(speed ** 2 + 2 * acceleration * driven, 0)))
}
