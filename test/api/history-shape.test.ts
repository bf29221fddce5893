import { describe, expect, it } from 'vitest'
import type { HistoryKey } from '../../db/queries/point-lines.ts'
import {
  createToleranceSimplifier,
  type Simplifier,
  type Vertex,
} from '../../src/resources/location-history/shape.ts'
import { createCountSimplifier } from '../../src/resources/location-history/squish.ts'
import { distanceM, distanceToWayM } from '../../stream/geometry.ts'
import { leastUsualMs, processorMsSince } from '../support/processor-time.ts'
import { readTrace } from '../support/traces.ts'

const HOUR_MS = 3_600_000
/** The fields of a point that has only a position. */
const PLAIN = { speed: Number.NaN, isAnomaly: false }

/** The maximum distance between the simplified track and its original points, in metres. */
function worstM(
  points: readonly Vertex[],
  kept: readonly number[],
  distance: (point: Vertex, before: Vertex, after: Vertex) => number,
): number {
  const times = new Set(kept)
  const track = points.filter(({ recordedAt }) => times.has(recordedAt))
  let at = 0
  return Math.max(
    ...points.map(point => {
      while ((track[at + 1]?.recordedAt ?? Infinity) < point.recordedAt) at++
      return distance(point, track[at] as Vertex, (track[at + 1] ?? track[at]) as Vertex)
    }),
  )
}

/** The state at a time that a straight, even movement between two points implies. */
function between(before: Vertex, after: Vertex, time: number) {
  const share = (time - before.recordedAt) / (after.recordedAt - before.recordedAt || 1)
  const on = (name: 'lat' | 'lng' | 'speed') => before[name] + (after[name] - before[name]) * share
  return { lat: on('lat'), lng: on('lng'), speed: on('speed') }
}

function finish(simplifier: Simplifier): HistoryKey[] {
  const steps = simplifier.finish()
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

function simplify(simplifier: Simplifier, points: readonly Vertex[]): number[] {
  for (const point of points) simplifier.add(point)
  return finish(simplifier)
    .map(({ recordedAt }) => recordedAt)
    .sort((a, b) => a - b)
}

/** The longest tracks of a day of buses, in order of time. */
const trace = readTrace('capmetro-2015-03-08')
const tracks = [...new Set(trace.map(({ device }) => device))]
  .map((bus, subject) => {
    const points = trace.filter(({ device }) => device === bus)
    const byTime = new Map(points.map(point => [point.timestamp, point]))
    return [...byTime.values()]
      .sort((a, b) => a.timestamp - b.timestamp)
      .map(({ timestamp, lat, lng }): Vertex => ({ subject, recordedAt: timestamp, lat, lng, ...PLAIN }))
  })
  .sort((a, b) => b.length - a.length)
  .slice(0, 20)

describe('A simplified track', () => {
  it('of real buses stays within the tolerance, with its ends', () => {
    for (const track of tracks) {
      for (const tolerance of [5, 50, 500]) {
        const kept = simplify(createToleranceSimplifier(tolerance), track)
        expect(kept[0]).toBe(track[0]?.recordedAt)
        expect(kept.at(-1)).toBe(track.at(-1)?.recordedAt)
        expect(worstM(track, kept, distanceToWayM)).toBeLessThanOrEqual(tolerance + 1e-6)
      }
    }
    const left = tracks.map(track => simplify(createToleranceSimplifier(50), track).length)
    const all = tracks.map(track => track.length)
    const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b)
    expect(sum(left)).toBeLessThan(sum(all) / 2)
  })

  it('of at most so many points is nearer to where it was at each time than as many taken evenly', () => {
    for (const track of tracks) {
      const most = Math.ceil(track.length / 5)
      const kept = simplify(createCountSimplifier(most), track)
      expect(kept).toHaveLength(most)
      expect([kept[0], kept.at(-1)]).toEqual([track[0]?.recordedAt, track.at(-1)?.recordedAt])
      const evenly = Array.from(
        { length: most },
        (_, n) => track[Math.round((n * (track.length - 1)) / (most - 1))]?.recordedAt as number,
      )
      const worst = (times: readonly number[]) =>
        worstM(track, times, (point, before, after) =>
          distanceM(point, between(before, after, point.recordedAt)),
        )
      expect(worst(kept)).toBeLessThan(worst(evenly))
    }
  })

  it('keeps its turns, a turn back on the same way too', () => {
    const there = Array.from({ length: 100 }, (_, n) => ({ lat: 50, lng: 8 + n / 1e3 }))
    const around = Array.from({ length: 100 }, (_, n) => ({ lat: 50 + n / 1e3, lng: 8.099 }))
    const way = [...there, ...around, ...around.toReversed()]
    const track = way.map((place, n): Vertex => ({ subject: 1, recordedAt: n * 1000, ...place, ...PLAIN }))
    const turns = [0, 99_000, 199_000, 299_000]
    for (const simplifier of [createToleranceSimplifier(20), createCountSimplifier(8)]) {
      const kept = simplify(simplifier, track)
      expect(kept.length).toBeLessThanOrEqual(8)
      for (const turn of turns)
        expect(
          kept.some(time => Math.abs(time - turn) <= 1000),
          `${turn} of ${kept}`,
        ).toBe(true)
    }
  })

  it('keeps apart what is of several subjects, and the ends of each', () => {
    const mixed = tracks.flat().sort((a, b) => a.recordedAt - b.recordedAt)
    const simplifier = createCountSimplifier(200)
    for (const vertex of mixed) simplifier.add(vertex)
    const kept = finish(simplifier)
    expect(kept).toHaveLength(200)
    for (const track of tracks) {
      const own = kept.filter(({ subject }) => subject === track[0]?.subject).map(key => key.recordedAt)
      expect(own).toContain(track[0]?.recordedAt)
      expect(own).toContain(track.at(-1)?.recordedAt)
    }
  })

  it('across the antimeridian is as near as elsewhere', () => {
    const track = Array.from(
      { length: 50 },
      (_, n): Vertex => ({
        subject: 1,
        recordedAt: n,
        lat: 0,
        lng: ((179.9 + n / 100 + 180) % 360) - 180,
        ...PLAIN,
      }),
    )
    expect(simplify(createToleranceSimplifier(5), track)).toEqual([0, 49])
  })

  it('of the worst track, where every point is a turn, takes no step longer than a blink', async () => {
    const measure = () => {
      const simplifier = createToleranceSimplifier(0)
      let longest = 0
      for (let n = 0; n < 50_000; n++) {
        const begun = process.cpuUsage()
        // A curve that bends more and more: each part is split off alone.
        const place = { lat: Math.sqrt(n % 2_048) / 1e3, lng: (n % 2_048) / 1e6 }
        simplifier.add({ subject: 1, recordedAt: n, ...place, ...PLAIN })
        longest = Math.max(longest, processorMsSince(begun))
      }
      return longest
    }
    expect(await leastUsualMs(250, measure)).toBeLessThan(250)
  })

  it('of a fleet whose tracks all end at once takes no longer step than of one', async () => {
    const [subjects, points] = [60, 2_046]
    const measure = () => {
      const simplifier = createToleranceSimplifier(0)
      let turns = 0
      // A zigzag that narrows: the farthest point is always next to the end.
      for (let n = 0; n < points; n++) {
        for (let subject = 0; subject < subjects; subject++) {
          const lat = 30 + (n % 2 === 0 ? 1 : -1) * 0.01 * (1 - n / points)
          if (simplifier.add({ subject, recordedAt: n, lat, lng: 20 + n * 1e-6, ...PLAIN })) turns++
        }
      }
      expect(turns).toBeGreaterThan(subjects * 7)
      let longest = 0
      const steps = simplifier.finish()
      for (let done: boolean | undefined = false; !done; ) {
        const begun = process.cpuUsage()
        done = steps.next().done
        longest = Math.max(longest, processorMsSince(begun))
        turns++
      }
      expect(turns).toBeGreaterThan(subjects * 8)
      return longest
    }
    expect(await leastUsualMs(100, measure)).toBeLessThan(100)
  })
})

/**
 * A van's day, second by second: from 6 to 9 and from 12 to 16 it drives, and stops at a light for two minutes of ten;
 * otherwise it is parked. From 20 to 22 it is silent, and each half-hour a fix is an anomaly.
 */
function createDay(): Vertex[] {
  let lat = 52.5
  let lng = 13
  let seed = 1
  /** The noise of the fix, some metres in either direction. */
  const tremble = () => {
    seed = (seed * 16_807) % 2_147_483_647
    return (seed / 2_147_483_647 - 0.5) * 6e-5
  }
  return Array.from({ length: 86_400 }, (_, second) => {
    const hour = second / 3_600
    const drives = ((hour >= 6 && hour < 9) || (hour >= 12 && hour < 16)) && second % 600 < 480
    const speed = drives ? 12 + 8 * Math.sin(second / 60) : 0
    lng += speed / 68_000
    lat += (speed / 111_320) * 0.3 * Math.sin(second / 300)
    const away = { lat: lat + (drives ? tremble() : 0), lng: lng + (drives ? tremble() : 0) }
    return { subject: 1, recordedAt: second * 1_000, ...away, speed, isAnomaly: second % 1_800 === 900 }
  }).filter(({ recordedAt }) => recordedAt < 20 * HOUR_MS || recordedAt >= 22 * HOUR_MS)
}

describe('A track of at most so many points', () => {
  const day = createDay()
  const byTime = new Map(day.map(point => [point.recordedAt, point]))
  const reduce = (most: number, points: readonly Vertex[] = day) =>
    simplify(createCountSimplifier(most), points).map(time => byTime.get(time) as Vertex)
  const isRight = ({ isAnomaly }: Vertex) => !isAnomaly

  it('is silent where it was silent, and nowhere else', () => {
    for (const points of [day, day.toReversed()]) {
      const kept = reduce(10_000, points).filter(isRight)
      const gaps = kept.flatMap(({ recordedAt }, at) => {
        const next = kept[at + 1]
        return next && next.recordedAt - recordedAt > 300_000 ? [[recordedAt, next.recordedAt]] : []
      })
      expect(gaps).toEqual([[20 * HOUR_MS - 1_000, 22 * HOUR_MS]])
    }
  })

  it('says at each second where it was and how fast: also that it stood, where it stood for two minutes', () => {
    const kept = reduce(10_000).filter(isRight)
    let at = 0
    let worst = { speed: 0, place: 0, standing: 0 }
    for (const { recordedAt, lat, lng, speed } of day.filter(isRight)) {
      while ((kept[at + 1]?.recordedAt ?? Infinity) <= recordedAt) at++
      const [before, after = before] = [kept[at] as Vertex, kept[at + 1]]
      const said = between(before, after, recordedAt)
      const place = distanceM({ lat, lng }, said)
      const off = Math.abs(said.speed - speed)
      worst = {
        speed: Math.max(worst.speed, off),
        place: Math.max(worst.place, place),
        standing: Math.max(worst.standing, speed === 0 ? said.speed : 0),
      }
    }
    expect(worst.place).toBeLessThan(15)
    expect(worst.speed).toBeLessThan(2)
    expect(worst.standing).toBeLessThan(0.5)
  })

  it('has its shape even where so few are wanted that it must be silent for longer', () => {
    const kept = reduce(100, day.filter(isRight))
    expect(kept).toHaveLength(100)
    expect(kept.filter(({ speed }) => speed > 0).length).toBeGreaterThan(50)
  })

  it('has all that counts as wrong up to half of them, and beyond that some of each time', () => {
    const wrong = day.filter(({ isAnomaly }) => isAnomaly).map(({ recordedAt }) => recordedAt)
    const keptOf = (most: number) => reduce(most).filter(({ isAnomaly }) => isAnomaly)
    expect(keptOf(10_000).map(({ recordedAt }) => recordedAt)).toEqual(wrong)
    const few = keptOf(20).map(({ recordedAt }) => recordedAt)
    expect(few.length).toBeLessThanOrEqual(10)
    expect(few.length).toBeGreaterThanOrEqual(5)
    expect(Math.max(...few) - Math.min(...few)).toBeGreaterThan(18 * HOUR_MS)
    // An anomaly far from the track does not bend it.
    const astray = day.map(point => (point.isAnomaly ? { ...point, lat: 10 } : point))
    const isShape = (time: number) => !byTime.get(time)?.isAnomaly
    const shape = (points: readonly Vertex[]) =>
      simplify(createCountSimplifier(2_000), points).filter(isShape)
    expect(shape(astray)).toEqual(shape(day))
    const tolerant = simplify(createToleranceSimplifier(50), day)
    expect(tolerant.filter(time => !isShape(time))).toEqual(wrong)
  })

  it('is found in steps no longer than a blink, a day of seconds in less than it takes to send', async () => {
    const measure = () => {
      const simplifier = createCountSimplifier(10_000)
      const begun = process.cpuUsage()
      let step = process.cpuUsage()
      let longest = 0
      let turns = 0
      for (const point of day) {
        if (!simplifier.add(point)) continue
        longest = Math.max(longest, processorMsSince(step))
        step = process.cpuUsage()
        turns++
      }
      finish(simplifier)
      expect(turns).toBeGreaterThan(70)
      return { longest, whole: processorMsSince(begun) }
    }
    expect(await leastUsualMs(50, () => measure().longest)).toBeLessThan(50)
    expect(await leastUsualMs(1_000, () => measure().whole)).toBeLessThan(1_000)
  })
})
