import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JudgedFix } from '../../db/queries/geofence-spans.ts'
import type { FenceShape } from '../../db/schema/geofences.ts'
import { judgeSpan } from '../../src/resources/geofence-events/judge.ts'
import { createHistory, type GivenFence, toJudgedFences } from '../support/fence-history.ts'
import { expectedCrossings, isDoubtful } from '../support/fences.ts'

/** Degrees in a metre, at the equator. */
const M = 1 / 111_195.08
const circle = (east: number, radius: number): FenceShape => ({
  type: 'circle',
  center: { lat: 0, lng: east * M },
  radius,
})

type Step = [second: number, east: number, accuracy?: number]
const toFix = ([second, east, accuracy]: Step): JudgedFix => ({
  at: second * 1000,
  receivedAt: second * 1000,
  lat: 0,
  lng: east * M,
  accuracy: accuracy ?? null,
})

/** The border lies 100 m east of the middle. */
async function tell(steps: readonly Step[], rules: Omit<GivenFence, 'shape'>): Promise<string[]> {
  const history = createHistory(toJudgedFences([{ shape: circle(0, 100), ...rules }]))
  for (const step of steps) {
    history.store(toFix(step))
    await history.judge()
  }
  return history.told().map(({ event, at }) => `${event} ${Date.parse(at) / 1000}`)
}

const DWELL = { dwellSeconds: 120 }
const MARGIN = { marginMeters: 30 }
const BOTH = { ...DWELL, ...MARGIN }

// biome-ignore format: a table
const CASES: [string, Omit<GivenFence, 'shape'>, Step[], string[]][] = [
  ['at once without a dwell and a margin', {}, [[0, 200], [10, 90], [20, 110]], ['entered 10', 'left 20']],
  ['not before the dwell', DWELL, [[0, 200], [10, 0], [129, 0]], []],
  ['with the fix at the end of the dwell', DWELL, [[0, 200], [10, 0], [130, 0]], ['entered 10']],
  ['with the first fix after it', DWELL, [[0, 200], [10, 0], [9_000, 0]], ['entered 10']],
  ['not by time alone', DWELL, [[0, 200], [10, 0]], []],
  ['not if there was a return meanwhile', DWELL, [[0, 200], [10, 0], [70, 200], [80, 0], [190, 0]], []],
  ['counted anew after a return', DWELL, [[0, 200], [10, 0], [70, 200], [80, 0], [200, 0]], ['entered 80']],
  ['not by a fix beyond the margin alone', BOTH, [[0, 200], [10, 0], [20, 200]], []],
  ['not inside the margin', MARGIN, [[0, 200], [10, 75], [600, 80]], []],
  ['once it is beyond the margin', MARGIN, [[0, 200], [10, 75], [600, 69], [700, 75]], ['entered 10']],
  ['if it was beyond the margin before the dwell ended', BOTH, [[0, 200], [10, 0], [20, 90], [130, 90]], ['entered 10']],
  ['if it is beyond the margin after the dwell', BOTH, [[0, 200], [10, 90], [200, 90], [300, 60]], ['entered 10']],
  ['of leaving, by the same conditions', BOTH, [[0, 0], [10, 110], [130, 120], [140, 131]], ['left 10']],
  ['of leaving, not while it is near the border', BOTH, [[0, 0], [10, 110], [9_000, 129]], []],
  ['not for a stay that leads back', BOTH, [[0, 0], [10, 110], [20, 0], [500, 0]], []],
  ['not from the first fix on', BOTH, [[0, 0], [500, 0]], []],
  ['not by undecided fixes', {}, [[0, 200], [10, 90, 20], [20, 95, 10], [30, 200]], []],
  ['by the first decided fix', {}, [[0, 200], [10, 90, 20], [20, 80, 15]], ['entered 20']],
  ['not begun by an undecided fix', DWELL, [[0, 200], [10, 90, 20], [20, 0], [135, 0]], []],
  ['not broken by an undecided fix', DWELL, [[0, 200], [10, 0], [60, 110, 50], [130, 0]], ['entered 10']],
  ['not ended by an undecided fix', DWELL, [[0, 200], [10, 0], [130, 0, 500], [140, 0, 20]], ['entered 10']],
  ['of leaving, with the fix after an undecided one', DWELL, [[0, 0], [10, 200], [140, 200, 500], [150, 200]], ['left 10']],
  ['by a fix whose circle only nearly touches', {}, [[0, 200], [10, 80, 19.9]], ['entered 10']],
  ['not from an undecided first fix on', {}, [[0, 110, 20], [10, 0]], []],
  ['each after the other', DWELL, [[0, 200], [10, 0], [200, 0], [210, 200], [300, 0], [310, 200], [600, 200]], ['entered 10', 'left 310']],
  ['not by points received before the geofence had its rules', { shapedAt: 20_000 }, [[0, 200], [10, 0], [30, 200]], ['left 30']],
  ['if the deciding fix was received since', { ...DWELL, shapedAt: 20_000 }, [[0, 200], [10, 0], [130, 0]], ['entered 10']],
]

describe('A crossing', () => {
  it.each(CASES)('is told %s', async (_, rules, steps, expected) => {
    expect(await tell(steps, rules)).toEqual(expected)
    // The same in the opposite order.
    expect(await tell(steps.toReversed(), rules)).toEqual(expected)
  })

  it('is retracted when a late point shows that the stay was shorter', async () => {
    const history = createHistory(toJudgedFences([{ shape: circle(0, 100), ...DWELL }]))
    for (const step of [[0, 200], [10, 0], [70, 0], [130, 0]] as Step[]) history.store(toFix(step)) // biome-ignore format: one list
    await history.judge()
    expect(history.told()).toHaveLength(1)
    history.store(toFix([100, 200]))
    await history.judge()
    expect(history.told()).toEqual([])
    expect(history.countChanges()).toBe(2)
  })

  // biome-ignore format: one list
  const RULES: GivenFence[] = [
    { shape: circle(0, 300), dwellSeconds: 120, marginMeters: 30 },
    { shape: circle(250, 250), marginMeters: 50 },
    { shape: circle(-300, 200), dwellSeconds: 600 },
    { shape: circle(100, 400) },
    { shape: circle(0, 900), dwellSeconds: 3_600, marginMeters: 500 },
    {
      shape: {
        type: 'polygon',
        coordinates: [[0, -200], [500, 0], [0, 200], [-100, 0], [0, -200]].map(([x = 0, y = 0]) => [x * M, y * M]),
      },
      dwellSeconds: 60,
      marginMeters: 10,
    },
  ]
  const walk = (accuracy: fc.Arbitrary<number | null>) =>
    fc.array(
      fc.record({
        turn: fc.nat(7),
        metres: fc.integer({ min: 0, max: 300 }),
        seconds: fc.integer({ min: 1, max: 500 }),
        accuracy,
      }),
      { minLength: 2, maxLength: 80 },
    )
  const toFixes = (steps: { turn: number; metres: number; seconds: number; accuracy: number | null }[]) => {
    let [at, north, east] = [1_000_000, 10, 10]
    return steps.map(({ turn, metres, seconds, accuracy }): JudgedFix => {
      at += seconds * 1000
      north = Math.max(-900, Math.min(900, north + metres * Math.sin((turn * Math.PI) / 4)))
      east = Math.max(-900, Math.min(900, east + metres * Math.cos((turn * Math.PI) / 4)))
      return { at, receivedAt: at, lat: north * M, lng: east * M, accuracy }
    })
  }
  const judgedAtOnce = (fixes: readonly JudgedFix[], rules: readonly GivenFence[]) =>
    expectedCrossings(
      fixes.map(({ at, ...fix }) => ({ ...fix, timestamp: at })),
      rules.map((rule, index) => ({ _id: `fence ${index}`, ...rule })),
    )

  it('is the same in any order and repetition of the points as in the whole history judged at once', async () => {
    let told = 0
    let corrected = 0
    await fc.assert(
      fc.asyncProperty(
        walk(fc.oneof(fc.constant(null), fc.constant(null), fc.integer({ min: 1, max: 150 }))),
        fc.infiniteStream(fc.nat(999).map(n => n / 1_000)),
        fc.constantFrom(0, 0.2, 1),
        fc.constantFrom(1, 3, 16),
        async (steps, chances, disorder, around) => {
          const chance = () => chances.next().value as number
          const fixes = toFixes(steps).filter(
            fix => !RULES.some(rule => isDoubtful({ ...fix, timestamp: fix.at }, { _id: '', ...rule })),
          )
          const arriving = fixes
            .flatMap((fix, index) => {
              const one = { fix, order: index + (chance() < disorder ? chance() * 30 : 0) }
              return chance() < 0.1 ? [one, { fix, order: index + chance() * 50 }] : [one]
            })
            .sort((a, b) => a.order - b.order)
          const history = createHistory(toJudgedFences(RULES), {
            within: 1 + Math.floor(chance() * 20),
            around,
          })
          for (const { fix } of arriving) {
            history.store(fix)
            if (chance() < 0.5) await history.judge()
          }
          await history.judge()
          const expected = judgedAtOnce(fixes, RULES)
          expect(history.told()).toEqual(expected)
          told += expected.length
          corrected += history.countChanges() - expected.length
        },
      ),
      { numRuns: 300 },
    )
    expect(told).toBeGreaterThan(100)
    expect(corrected).toBeGreaterThan(10)
  })

  it('without a dwell, a margin and an accuracy is where a fix lies in another geofence than the one before', () => {
    const rules = RULES.map(({ shape }) => ({ shape }))
    const fences = toJudgedFences(rules)
    fc.assert(
      fc.property(walk(fc.constant(null)), steps => {
        const fixes = toFixes(steps)
        const [from, to] = [fixes[0]?.at as number, fixes.at(-1)?.at as number]
        const span = { subject: 1, subjectId: 'walker', from, to }
        const whole = { fixes, isBeginning: true, isEnd: true, isCut: false }
        const judged = judgeSpan(span, whole, fences, Number.POSITIVE_INFINITY)
        if (typeof judged === 'string') throw new Error(judged)
        const before = fixes.map(({ lat, lng }) => fences.map.locate(lat, lng))
        const expected = fixes.slice(1).flatMap(({ at }, index) => {
          const [was, is] = [before[index] ?? [], before[index + 1] ?? []]
          return [
            ...is.filter(one => !was.includes(one)).map(one => `${at} fence ${one} entered`),
            ...was.filter(one => !is.includes(one)).map(one => `${at} fence ${one} left`),
          ]
        })
        const told = judged.crossings.map(({ at, geofenceId, event }) => `${at} ${geofenceId} ${event}`)
        expect(told.sort()).toEqual(expected.sort())
        expect(judged.left).toBeNull()
        expect(judged.dueAt).toBeNull()
      }),
      { numRuns: 300 },
    )
  })
})
