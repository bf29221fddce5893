import type { HistoryKey } from '../../../db/queries/point-lines.ts'
import { EARTH_RADIUS_M, turn } from '../../../stream/geometry.ts'
import { Heap, type Item } from './heap.ts'
import { type Simplifier, toKey, type Vertex } from './shape.ts'

/** Kept points are never further apart than this in time, unless the track itself has a longer gap. */
const SILENCE_MS = 5 * 60_000
/** The share of kept points that may serve only that purpose; above it the time is doubled. */
const SILENCE_SHARE = 0.25
/** The share of kept points that may be anomalies; above it every second one is left out, and so on. */
const ANOMALY_SHARE = 0.5
/** A speed that is wrong by 1 m/s counts as much as a place that is wrong by this many metres. */
const METRES_PER_MPS = 5
/** A cost above that of leaving out any point, in metres. */
const NEEDED = 1e15
/** Points after which others should have a turn: 2 ms. */
const TURN_POINTS = 1_000

const METRES_PER_DEGREE = (EARTH_RADIUS_M * Math.PI) / 180

interface Candidate extends Vertex, Item {
  before: Candidate | undefined
  after: Candidate | undefined
  /** The deviation in metres that leaving it out would cause, including points already left out beside it. */
  error: number
  /** The largest deviation of the points already left out beside it. */
  lost: number
}

/**
 * Keeps at most `maxPoints` of all tracks together, and always the ends of each. Beyond that, each new point removes the
 * point with the lowest cost. The cost of a point is the distance between it and the place where its two neighbours would
 * put the vehicle at that time, but never less than the cost of a point that was removed beside it. This is SQUISH-E
 * (Muckell et al., 2014), whose synchronized Euclidean distance keeps the places where a track stops and starts again.
 * Memory depends on the kept points only.
 */
export function createCountSimplifier(maxPoints: number): Simplifier {
  const heap = new Heap<Candidate>()
  const lasts = new Map<number, Candidate>()
  const firsts: Candidate[] = []
  const anomalies = createSample<HistoryKey>(Math.floor(maxPoints * ANOMALY_SHARE))
  let silenceMs = SILENCE_MS
  /** The number of points that are kept only because of `silenceMs`. */
  let needed = 0
  let added = 0

  function costOf({ before, after, error }: Candidate): number {
    if (!before || !after) return Infinity
    const silence = Math.abs(after.recordedAt - before.recordedAt)
    return silence > silenceMs ? NEEDED + silence : error
  }

  function weigh(candidate: Candidate): void {
    const { before, after } = candidate
    if (before && after) candidate.error = candidate.lost + errorOf(candidate, before, after)
    if (isNeeded(candidate)) needed--
    candidate.cost = costOf(candidate)
    if (isNeeded(candidate)) needed++
    heap.move(candidate)
  }

  function remove(candidate: Candidate): void {
    heap.remove(candidate)
    if (isNeeded(candidate)) needed--
    const { before, after, error } = candidate
    if (!before || !after) return
    before.after = after
    after.before = before
    for (const neighbour of [before, after]) {
      neighbour.lost = Math.max(neighbour.lost, error)
      weigh(neighbour)
    }
  }

  /** Allows longer times without a point, until there is room for the shape. */
  function widen(): void {
    while (needed > maxPoints * SILENCE_SHARE) {
      silenceMs *= 2
      needed = 0
      heap.weigh(candidate => {
        const cost = costOf(candidate)
        if (cost >= NEEDED && cost < Infinity) needed++
        return cost
      })
    }
  }

  function append({ subject, recordedAt, lat, lng, speed, isAnomaly }: Vertex): void {
    const before = lasts.get(subject)
    const candidate: Candidate = {
      subject,
      recordedAt,
      lat,
      lng,
      speed,
      isAnomaly,
      before,
      after: undefined,
      place: -1,
      cost: Infinity,
      error: 0,
      lost: 0,
    }
    heap.add(candidate)
    lasts.set(subject, candidate)
    if (!before) firsts.push(candidate)
    else {
      before.after = candidate
      weigh(before)
    }
  }

  const countAll = () => heap.size + anomalies.kept.length

  return {
    add(vertex) {
      if (vertex.isAnomaly) anomalies.add(toKey(vertex))
      else append(vertex)
      while (countAll() > maxPoints) {
        widen()
        const { least } = heap
        if (!least || least.cost === Infinity) break
        remove(least)
      }
      return ++added % TURN_POINTS === 0
    },

    get count() {
      return countAll()
    },

    *finish() {
      const kept = [...anomalies.kept]
      for (const first of firsts) {
        for (let at: Candidate | undefined = first; at; at = at.after) kept.push(toKey(at))
        yield
      }
      return kept
    },
  }
}

const isNeeded = ({ cost }: Candidate) => cost >= NEEDED && cost < Infinity

/** The deviation in place and speed, in metres, from a straight and even movement between two other points. */
function errorOf(candidate: Vertex, before: Vertex, after: Vertex): number {
  const { recordedAt, lat, lng, speed } = candidate
  const share = (recordedAt - before.recordedAt) / (after.recordedAt - before.recordedAt || 1)
  const between = (from: number, to: number) => from + (to - from) * share
  const north = between(before.lat - lat, after.lat - lat) * METRES_PER_DEGREE
  const perLng = METRES_PER_DEGREE * Math.cos((lat * Math.PI) / 180)
  const east = between(turn(before.lng - lng), turn(after.lng - lng)) * perLng
  const faster = between(before.speed, after.speed) - speed
  // Without all three speeds the speed does not count.
  const off = Number.isNaN(faster) ? 0 : faster * METRES_PER_MPS
  return Math.sqrt(north * north + east * east + off * off)
}

/** Keeps at most `most` of the given items, evenly spread. */
function createSample<T>(most: number) {
  let kept: T[] = []
  let given = 0
  let step = 1
  return {
    get kept(): readonly T[] {
      return kept
    },
    add(one: T): void {
      if (given++ % step > 0) return
      kept.push(one)
      if (kept.length <= most) return
      kept = kept.filter((_, at) => at % 2 === 0)
      step *= 2
    },
  }
}
