import { describe, expect, it } from 'vitest'
import type { HistoryKey } from '../../db/queries/point-lines.ts'
import {
  createCountSimplifier,
  createToleranceSimplifier,
  type Simplifier,
  type Vertex,
} from '../../src/api/location-history/shape.ts'
import { distanceToWayM } from '../../stream/geometry.ts'
import { readTrace } from '../support/traces.ts'

/** How far each point is from the track that is kept, at worst, in metres; by its time it is between two of them. */
function worstM(points: readonly Vertex[], kept: ReadonlySet<number>): number {
  const track = points.filter(({ recordedAt }) => kept.has(recordedAt))
  let at = 0
  return Math.max(
    ...points.map(point => {
      while ((track[at + 1]?.recordedAt ?? Infinity) < point.recordedAt) at++
      return distanceToWayM(point, track[at] as Vertex, (track[at + 1] ?? track[at]) as Vertex)
    }),
  )
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
/** Of the processor, not the clock: others use the machine too. */
function workedMs(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}

const trace = readTrace('capmetro-2015-03-08')
const tracks = [...new Set(trace.map(({ device }) => device))]
  .map((bus, subject) => {
    const points = trace.filter(({ device }) => device === bus)
    const byTime = new Map(points.map(point => [point.timestamp, point]))
    return [...byTime.values()]
      .sort((a, b) => a.timestamp - b.timestamp)
      .map(({ timestamp, lat, lng }): Vertex => ({ subject, recordedAt: timestamp, lat, lng }))
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
        expect(worstM(track, new Set(kept))).toBeLessThanOrEqual(tolerance + 1e-6)
      }
    }
    const left = tracks.map(track => simplify(createToleranceSimplifier(50), track).length)
    const all = tracks.map(track => track.length)
    const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b)
    expect(sum(left)).toBeLessThan(sum(all) / 2)
  })

  it('of at most so many points is nearer to the track than as many taken evenly', () => {
    let better = 0
    for (const track of tracks) {
      const most = Math.ceil(track.length / 5)
      const kept = simplify(createCountSimplifier(most), track)
      expect(kept).toHaveLength(most)
      expect([kept[0], kept.at(-1)]).toEqual([track[0]?.recordedAt, track.at(-1)?.recordedAt])
      const evenly = Array.from(
        { length: most },
        (_, n) => track[Math.round((n * (track.length - 1)) / (most - 1))]?.recordedAt as number,
      )
      if (worstM(track, new Set(kept)) < worstM(track, new Set(evenly))) better++
    }
    expect(better).toBeGreaterThan(tracks.length * 0.9)
  })

  it('keeps its turns, a turn back on the same way too', () => {
    const there = Array.from({ length: 100 }, (_, n) => ({ lat: 50, lng: 8 + n / 1e3 }))
    const around = Array.from({ length: 100 }, (_, n) => ({ lat: 50 + n / 1e3, lng: 8.099 }))
    const way = [...there, ...around, ...around.toReversed()]
    const track = way.map((place, n): Vertex => ({ subject: 1, recordedAt: n * 1000, ...place }))
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
      }),
    )
    expect(simplify(createToleranceSimplifier(5), track)).toEqual([0, 49])
  })

  it('of the worst track, where every point is a turn, takes no step longer than a blink', () => {
    const simplifier = createToleranceSimplifier(0)
    let longest = 0
    for (let n = 0; n < 50_000; n++) {
      const begun = process.cpuUsage()
      // A curve that bends more and more: each part is split off alone.
      simplifier.add({ subject: 1, recordedAt: n, lat: Math.sqrt(n % 2_048) / 1e3, lng: (n % 2_048) / 1e6 })
      longest = Math.max(longest, workedMs(begun))
    }
    expect(longest).toBeLessThan(250)
  })

  it('of a fleet whose tracks all end at once takes no longer step than of one', () => {
    const simplifier = createToleranceSimplifier(0)
    const [subjects, points] = [60, 2_046]
    let turns = 0
    // A zigzag that narrows: the farthest point is always next to the end.
    for (let n = 0; n < points; n++) {
      for (let subject = 0; subject < subjects; subject++) {
        const lat = 30 + (n % 2 === 0 ? 1 : -1) * 0.01 * (1 - n / points)
        if (simplifier.add({ subject, recordedAt: n, lat, lng: 20 + n * 1e-6 })) turns++
      }
    }
    expect(turns).toBeGreaterThan(subjects * 7)
    let longest = 0
    const steps = simplifier.finish()
    for (let done: boolean | undefined = false; !done; ) {
      const begun = process.cpuUsage()
      done = steps.next().done
      longest = Math.max(longest, workedMs(begun))
      turns++
    }
    expect(turns).toBeGreaterThan(subjects * 8)
    expect(longest).toBeLessThan(100)
  })
})
