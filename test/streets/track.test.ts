import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readTrace, TRACES, type TraceName } from '../../src/commands/traces.ts'
import { createTrack, distanceM, type Fix, placeAt, type Track } from '../../src/streets/track.ts'

/** Metres north and east of a place near the equator, where a degree is the same both ways. */
const fix = (seconds: number, north: number, east = 0): Fix => ({
  seconds,
  lat: north / 111_194.93,
  lng: east / 111_194.93,
})
const make = (...fixes: Fix[]) => createTrack(fixes) as Track
const jump = (track: Track, from: number, to: number) => distanceM(placeAt(track, from), placeAt(track, to))

describe('a track', () => {
  test('is driven at the recorded average speed, in a straight line between two fixes', () => {
    const track = make(fix(0, 0), fix(120, 1_200), fix(240, 1_200, 1_200))
    expect(track.seconds).toBeCloseTo(480, 1)
    const place = placeAt(track, 60)
    expect(place.lat).toBeCloseTo(600 / 111_194.93, 6)
    expect(place.speed).toBeCloseTo(10, 2)
    expect(place.heading).toBeCloseTo(0, 2)
    expect(placeAt(track, 180).heading).toBeCloseTo(90, 2)
  })

  test('is driven back at its end, with the heading turned round, and then again', () => {
    const track = make(fix(0, 0), fix(120, 1_200))
    expect(placeAt(track, 130)).toMatchObject({ lat: placeAt(track, 110).lat, heading: 180 })
    expect(placeAt(track, track.seconds + 30).lat).toBeCloseTo(placeAt(track, 30).lat, 9)
  })

  test('has no speed while the vehicle stands, and hours of standing become seconds', () => {
    const track = make(fix(0, 0), fix(100, 1_000), fix(3_700, 1_010), fix(7_300, 1_005), fix(7_400, 2_000))
    expect(track.seconds).toBeLessThan(420)
    expect(placeAt(track, 104)).toMatchObject({ speed: 0, heading: placeAt(track, 50).heading })
  })

  test('leaves out a fix that the vehicle cannot have reached', () => {
    const track = make(fix(0, 0), fix(60, 600), fix(120, 90_000), fix(180, 1_800))
    expect(track.metres).toBeCloseTo(3_600, 0)
  })

  test('does not cross a gap that nothing is known about: the longer piece is driven', () => {
    const track = make(fix(0, 0), fix(120, 1_200), fix(3_600, 9_000), fix(3_720, 10_200), fix(3_840, 11_400))
    expect(track.metres).toBeCloseTo(4_800, 0)
    expect(placeAt(track, 0).lat).toBeCloseTo(9_000 / 111_194.93, 6)
  })

  test('is nothing where the vehicle hardly moved', () => {
    expect(createTrack([])).toBeNull()
    expect(createTrack([fix(0, 0), fix(60, 5), fix(120, 300)])).toBeNull()
  })

  test('glides: within a second no vehicle of any recording goes further than its speed', () => {
    const step = fc.record({ seconds: fc.nat(600), north: fc.integer({ min: -4_000, max: 4_000 }) })
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 30 }), fc.nat(20_000), (steps, at) => {
        let [seconds, north] = [0, 0]
        const fixes = steps.map(({ seconds: more, north: further }) => {
          seconds += more
          north += further
          return fix(seconds, north)
        })
        const track = createTrack(fixes)
        if (track) expect(jump(track, at, at + 1)).toBeLessThan(22.1)
      }),
    )
  })
})

describe.each(Object.keys(TRACES) as TraceName[])('the trace %s', name => {
  const recorded = [...readTrace(name).values()]
  const tracks = recorded.map(createTrack).filter(track => track !== null)

  test('moves nearly all of its vehicles', () => {
    expect(tracks.length).toBeGreaterThan(recorded.length * 0.95)
  })

  test('moves every vehicle within half a minute, and never faster than a bus', () => {
    let fastest = 0
    for (const track of tracks) {
      expect(jump(track, 0, 30)).toBeGreaterThan(0)
      for (let at = 0; at < track.seconds; at += 7) fastest = Math.max(fastest, jump(track, at, at + 1))
    }
    expect(fastest).toBeLessThan(22.1)
  })
})
