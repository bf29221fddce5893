import { describe, expect, it } from 'vitest'
import { draftOf, shapeOf } from '../../console/pages/map/fences/draft.ts'
import { showLayer } from '../../console/pages/map/trail-layer.ts'
import { createTrack, linesOf, momentAt } from '../../console/pages/playback/tracks.ts'
import { zoomInto } from '../../console/pages/playback/zoom.ts'
import { en } from '../../console/texts/en/en.ts'
import { createFormat } from '../../console/texts/format.ts'

const HOUR_MS = 3_600_000

it('a distance of a thousand metres is written in kilometres', () => {
  const { distance } = createFormat('en-GB', 'UTC', en, 'metric')
  expect([999.4, 999.7, 1_000].map(distance)).toEqual(['999 m', '1 km', '1 km'])
})

it.each([
  ['1.500', 1_500],
  ['1,500', 1_500],
  ['1 500', 1_500],
  ['1.500,5', 1_500.5],
  ['2,500,000', 2_500_000],
  ['1500,5', 1_500.5],
  ['12.5', 12.5],
  ['0.500', 0.5],
])('a radius of %s is read as %s m', (radius, metres) => {
  const draft = { ...draftOf(null), lat: '52,5', lng: '13.405', radius }
  expect(shapeOf(draft)).toEqual({ type: 'circle', center: { lat: 52.5, lng: 13.405 }, radius: metres })
})

it('the closest zoom has the same width wherever it begins, also between two milliseconds', () => {
  for (const from of [1_000_000, 1_000_000.25, 1_000_000.75]) {
    const { from: begin, to } = zoomInto({ from: 0, to: 24 * HOUR_MS }, { from, to: from + 1_000 })
    expect([Number.isInteger(begin), to - begin]).toEqual([true, 120_000])
    const same = zoomInto({ from: 0, to: 24 * HOUR_MS }, { from, to: from + 120_000 })
    expect(same.to - same.from).toBe(120_000)
  }
})

it('a layer is added once, however often the style of its map reports a change', () => {
  let described = 0
  const heard: (() => void)[] = []
  const sources = new Map<string, object>()
  const map = {
    getSource: (name: string) => sources.get(name),
    addSource: (name: string) => sources.set(name, {}),
    addLayer() {},
    on: (_: string, hear: () => void) => heard.push(hear),
    off() {},
  }
  const data = () => {
    described++
    const geometry = { type: 'Point' as const, coordinates: [0, 0] }
    return {
      type: 'FeatureCollection' as const,
      features: [{ type: 'Feature' as const, properties: {}, geometry }],
    }
  }
  showLayer(map as never, 'fences', data, () => [])
  for (let times = 0; times < 5; times++) for (const hear of heard) hear()
  expect(described).toBe(1)
  // Another style has removed it.
  sources.clear()
  for (const hear of heard) hear()
  expect(described).toBe(2)
})

describe('A track', () => {
  const point = (time: number, lng: number, rest = {}) => ({
    lat: 0,
    lng,
    timestamp: new Date(time).toISOString(),
    speed: null,
    heading: null,
    anomaly: null,
    ...rest,
  })

  it('is on the shorter way between two fixes, also across the 180th meridian', () => {
    const track = createTrack([point(0, 179.99), point(60_000, -179.99, { speed: 40 })])
    const moment = momentAt(track, 30_000)
    expect(moment?.lng).toBeCloseTo(180, 6)
    expect(moment?.heading).toBeCloseTo(90, 6)
    expect(linesOf(track)).toEqual([
      [
        [179.99, 0],
        [expect.closeTo(180.01, 6), 0],
      ],
    ])
  })

  it('has no place before its first fix, and the last one in a gap', () => {
    const track = createTrack([point(1_000, 1), point(HOUR_MS, 2), point(HOUR_MS + 1_000, 2.0001)])
    expect(momentAt(track, 999)).toBeNull()
    expect(momentAt(track, HOUR_MS / 2)).toMatchObject({ lng: 1, known: false })
    expect(momentAt(track, HOUR_MS + 500)).toMatchObject({ known: true })
    expect(momentAt(track, 2 * HOUR_MS)).toMatchObject({ lng: 2.0001, known: false })
    expect(linesOf(track)).toHaveLength(2)
  })

  it('has the speed implied by its way when a fix has none', () => {
    const track = createTrack([point(0, 0), point(10_000, 0.001)])
    expect(track.speeds[1]).toBeCloseTo(11.12, 2)
    expect(track.speeds[0]).toBeCloseTo(11.12, 2)
    const again = createTrack([point(0, 0), point(HOUR_MS, 1), point(HOUR_MS + 10_000, 1.001)])
    expect(again.speeds[0]).toBeNaN()
    expect(again.speeds[1]).toBeCloseTo(11.12, 2)
  })

  it('has no speed when none is known, and does not stand still on a long way', () => {
    expect(momentAt(createTrack([point(0, 0)]), 0)?.speed).toBeNaN()
    const still = { speed: 0 }
    const moved = createTrack([point(0, 0, still), point(10_000, 0.001, still), point(20_000, 0.001, still)])
    expect(momentAt(moved, 5_000)?.speed).toBeNaN()
    expect(momentAt(moved, 15_000)?.speed).toBe(0)
    // Fixes without a speed get the speed of the way between them: none while it stands.
    const waits = createTrack([
      point(0, 0),
      point(10_000, 0.001),
      point(130_000, 0.001),
      point(140_000, 0.002),
    ])
    expect([5_000, 15_000, 70_000, 129_000].map(time => momentAt(waits, time)?.speed)).toEqual([
      expect.closeTo(11.12, 2),
      0,
      0,
      0,
    ])
    const started = createTrack([point(0, 0, still), point(10_000, 0.001, { speed: 20 })])
    expect(momentAt(started, 5_000)?.speed).toBe(10)
  })
})

describe('A day', () => {
  it.each([
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00.000Z'],
    ['Europe/Berlin', '2026-03-30', '2026-03-29T22:00:00.000Z'],
    ['Asia/Kolkata', '2026-11-21', '2026-11-20T18:30:00.000Z'],
    // Where clocks are put forward at midnight, the day begins at one.
    ['America/Havana', '2026-03-08', '2026-03-08T05:00:00.000Z'],
    ['Pacific/Kiritimati', '2026-01-01', '2025-12-31T10:00:00.000Z'],
  ])('begins in %s on %s at %s', (timeZone, date, at) => {
    expect(new Date(createFormat('en-GB', timeZone, en, 'metric').startOf(date)).toISOString()).toBe(at)
  })
})

describe('A time that comes twice', () => {
  it('names its time zone once in a row of times of the same hour', () => {
    const times = [...Array(6).keys()].map(half => Date.parse('2026-10-24T23:30:00Z') + half * (HOUR_MS / 2))
    const { clocks } = createFormat('en-GB', 'Europe/Berlin', en, 'metric')
    expect(clocks(times)).toEqual(['01:30', '02:00 CEST', '02:30', '02:00 CET', '02:30', '03:00'])
  })

  it.each([
    ['Europe/Berlin', 'en-GB', '2026-10-25T00:30:00Z', '02:30 CEST'],
    ['Europe/Berlin', 'en-GB', '2026-10-25T01:30:00Z', '02:30 CET'],
    ['Europe/Berlin', 'de-DE', '2026-10-25T00:00:00Z', '02:00 MESZ'],
    ['Europe/Berlin', 'en-GB', '2026-10-25T00:59:59Z', '02:59 CEST'],
    ['Europe/Berlin', 'en-GB', '2026-10-24T23:59:59Z', '01:59'],
    ['Europe/Berlin', 'en-GB', '2026-10-25T02:00:00Z', '03:00'],
    ['Europe/Berlin', 'en-GB', '2026-03-29T01:00:00Z', '03:00'],
    ['America/New_York', 'en-US', '2026-11-01T05:30:00Z', '1:30 AM EDT'],
    ['America/New_York', 'en-US', '2026-11-01T06:30:00Z', '1:30 AM EST'],
    ['Australia/Lord_Howe', 'en-GB', '2026-04-04T14:45:00Z', '01:45 GMT+11'],
    ['Australia/Lord_Howe', 'en-GB', '2026-04-04T15:15:00Z', '01:45 GMT+10:30'],
    ['Australia/Lord_Howe', 'en-GB', '2026-04-04T15:30:00Z', '02:00'],
    ['Antarctica/Troll', 'en-GB', '2026-10-25T00:30:00Z', '02:30 GMT+2'],
    ['Antarctica/Troll', 'en-GB', '2026-10-25T01:30:00Z', '01:30 GMT'],
    ['UTC', 'en-GB', '2026-10-25T01:30:00Z', '01:30'],
  ])(
    'has the name of its zone beside it, and no other time has: %s, %s, %s',
    (timeZone, locale, at, said) => {
      expect(createFormat(locale, timeZone, en, 'metric').clock(at).replace('\u202f', ' ')).toBe(said)
    },
  )
})
