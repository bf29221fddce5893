import { distanceM, shortWay } from '../../map/geometry.ts'
import { ZERO_MPS } from '../../texts/format.ts'
import type { Span } from './address.ts'

/** The fields of a point of the history that are used here. */
export interface HistoryPoint {
  lat: number
  lng: number
  timestamp: string
  speed: number | null
  heading: number | null
  anomaly: 'speed' | 'accuracy' | null
}

/** The track of a subject in columns: a day may have 86,400 points. */
export interface Track {
  count: number
  /** Milliseconds since 1970, ascending. */
  times: Float64Array
  lats: Float64Array
  lngs: Float64Array
  /**
   * Metres a second: the speed of the fix, or else the one implied by the distance from the fix before or to the next. NaN if
   * neither is known.
   */
  speeds: Float32Array
  /** 1 for an implied speed. */
  implied: Uint8Array
  /** Degrees; NaN if the fix has none. */
  headings: Float32Array
}

/** The server's limit for trips: the way in between is unknown. */
export const GAP_MS = 30 * 60_000

export function createTrack(points: readonly HistoryPoint[]): Track {
  const count = points.length
  const track: Track = {
    count,
    times: new Float64Array(count),
    lats: new Float64Array(count),
    lngs: new Float64Array(count),
    speeds: new Float32Array(count),
    implied: new Uint8Array(count),
    headings: new Float32Array(count),
  }
  const { times, lats, lngs, speeds, implied, headings } = track
  points.forEach(({ lat, lng, timestamp, speed, heading }, index) => {
    times[index] = Date.parse(timestamp)
    lats[index] = lat
    lngs[index] = lng
    headings[index] = heading ?? Number.NaN
    speeds[index] = speed ?? impliedSpeed(track, index)
    implied[index] = speed === null ? 1 : 0
  })
  // The first fix, and the first one after a gap, have no way before them.
  speeds.forEach((speed, index) => {
    if (Number.isNaN(speed)) speeds[index] = impliedSpeed(track, index + 1)
  })
  return track
}

/** Whether two tracks are equal point by point. */
export function isSameTrack(one: Track, other: Track): boolean {
  const columns = ['times', 'lats', 'lngs', 'speeds', 'implied', 'headings'] as const
  return (
    one.count === other.count &&
    columns.every(name => one[name].every((value, index) => Object.is(value, other[name][index])))
  )
}

/** The speed on the way to a fix; NaN if it is unknown. */
function impliedSpeed({ times, lats, lngs, count }: Track, index: number): number {
  if (index === 0 || index === count) return Number.NaN
  const place = (at: number) => ({ lat: lats[at] as number, lng: lngs[at] as number })
  const tookMs = (times[index] as number) - (times[index - 1] as number)
  return tookMs > 0 && tookMs <= GAP_MS
    ? distanceM(place(index - 1), place(index)) / (tookMs / 1_000)
    : Number.NaN
}

export interface Moment {
  lat: number
  lng: number
  /** Both NaN if unknown. */
  heading: number
  speed: number
  /** Whether the place is known: not before the first fix, after the last, or in a gap. */
  known: boolean
}

/** The state at a time: between two fixes on the straight line between them. Null before the first fix. */
export function momentAt(track: Track, time: number): Moment | null {
  const { times, lats, lngs, speeds, headings, count } = track
  if (count === 0 || time < (times[0] as number)) return null
  const index = indexAt(times, count, time)
  const [lat, lng] = [lats[index] as number, lngs[index] as number]
  const since = time - (times[index] as number)
  const nextIn = index + 1 < count ? (times[index + 1] as number) - (times[index] as number) : Infinity
  if (nextIn > GAP_MS)
    return {
      lat,
      lng,
      heading: headings[index] as number,
      speed: since === 0 ? (speeds[index] as number) : Number.NaN,
      known: since === 0,
    }
  const share = since / nextIn
  const dLat = (lats[index + 1] as number) - lat
  const dLng = shortWay((lngs[index + 1] as number) - lng)
  const heading = headings[index] as number
  return {
    lat: lat + dLat * share,
    lng: lng + dLng * share,
    heading: Number.isNaN(heading) ? directionOf(dLat, dLng, lat) : heading,
    speed: speedBetween(track, index, share),
    known: true,
  }
}

/** The fixes of a standing subject differ slightly, which implies speeds of up to this. */
const MOVING_MPS = 1

/**
 * The speed between two fixes: implied by the distance if the next fix has none. Two zeros count for nothing if the distance
 * is long.
 */
function speedBetween(track: Track, index: number, share: number): number {
  if (track.implied[index + 1]) return track.speeds[index + 1] as number
  const [before, after] = [track.speeds[index] as number, track.speeds[index + 1] as number]
  const isZero = before < ZERO_MPS && after < ZERO_MPS
  return isZero && impliedSpeed(track, index + 1) > MOVING_MPS
    ? Number.NaN
    : before + (after - before) * share
}

/** The last index that is no later than `time`. */
function indexAt(times: Float64Array, count: number, time: number): number {
  let low = 0
  let high = count - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((times[middle] as number) <= time) low = middle
    else high = middle - 1
  }
  return low
}

/** The fixes of a standing subject differ by less: a millionth of a degree is 10 cm. */
const STILL_DEGREES = 1e-6

function directionOf(dLat: number, dLng: number, lat: number): number {
  if (Math.abs(dLat) < STILL_DEGREES && Math.abs(dLng) < STILL_DEGREES) return Number.NaN
  const east = dLng * Math.cos((lat * Math.PI) / 180)
  return ((Math.atan2(east, dLat) * 180) / Math.PI + 360) % 360
}

/** The times without known places: before the first fix, after the last, and where all subjects are silent for long. */
export function gapsOf(tracks: readonly Track[], { from, to }: Span): Span[] {
  const known = tracks.flatMap(spansOf).sort((a, b) => a.from - b.from)
  const gaps: Span[] = []
  let until = from
  for (const span of [...known, { from: to, to }]) {
    if (span.from > until) gaps.push({ from: until, to: span.from })
    until = Math.max(until, span.to)
  }
  return gaps
}

/** Spans of fixes without a long gap between two of them. */
function spansOf({ times, count }: Track): Span[] {
  const spans: Span[] = []
  for (let index = 0; index < count; index++) {
    const time = times[index] as number
    const last = spans.at(-1)
    if (last && time - last.to <= GAP_MS) last.to = time
    else spans.push({ from: time, to: time })
  }
  return spans
}

/** The track in lines without gaps; a single point is there twice. Longitudes continue beyond 180 at the meridian. */
export function linesOf({ times, lats, lngs, count }: Track): [number, number][][] {
  const lines: [number, number][][] = []
  let line: [number, number][] = []
  let lng = 0
  for (let index = 0; index < count; index++) {
    const isGap = index > 0 && (times[index] as number) - (times[index - 1] as number) > GAP_MS
    if (index === 0 || isGap) {
      line = []
      lines.push(line)
      lng = lngs[index] as number
    } else lng += shortWay((lngs[index] as number) - lng)
    line.push([lng, lats[index] as number])
  }
  return lines.map(points => (points.length > 1 ? points : [...points, ...points]))
}
