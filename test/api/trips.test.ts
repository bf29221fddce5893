import { describe, expect, it } from 'vitest'
import { createDates } from '../../src/resources/location-history/dates.ts'
import { createTripFold, type Fix, type Trips } from '../../src/resources/location-history/trips.ts'
import { createClient, createDevice } from '../support/client.ts'
import { processorMsSince } from '../support/processor-time.ts'
import { useOrganization } from '../support/shared-server.ts'
import { readTrace, shuffle } from '../support/traces.ts'

const MINUTE_MS = 60_000
const STOP_MS = 5 * MINUTE_MS
const DEGREE_M = (Math.PI / 180) * 6_371_008.8
const MIDNIGHT = Date.parse('2026-03-01T00:00:00Z')

function fold(fixes: readonly Fix[], stopMs = STOP_MS, timeZone = 'UTC'): Trips {
  const trips = createTripFold(stopMs, createDates(timeZone))
  for (const fix of fixes) trips.add(fix)
  return trips.finish()
}

/** Minutes since midnight and metres north of the equator. */
const at = (minutes: number, metres: number, speedMps: number | null = null): Fix => ({
  time: MIDNIGHT + minutes * MINUTE_MS,
  lat: metres / DEGREE_M,
  lng: 0,
  speedMps,
})

/** The result, in minutes and whole metres. */
function show({ trips, stops, days }: Trips) {
  const minutes = (time: number) => (time - MIDNIGHT) / MINUTE_MS
  return {
    trips: trips.map(trip => [
      minutes(trip.startTime),
      minutes(trip.endTime),
      Math.round(trip.distance),
      trip.points,
    ]),
    stops: stops.map(stop => [minutes(stop.startTime), minutes(stop.endTime)]),
    days: days.map(({ date, distance, duration }) => [date, Math.round(distance), Math.round(duration)]),
  }
}

/** The definition, applied to the whole track: for each fix, how long all later ones stay near it. */
function oracle(fixes: readonly Fix[]) {
  const metres = (a: Fix, b: Fix) => {
    // Another formula for the same great circle.
    const [p, q, l] = [a.lat, b.lat, b.lng - a.lng].map(degrees => (degrees * Math.PI) / 180) as [
      number,
      number,
      number,
    ]
    const y = Math.hypot(
      Math.cos(q) * Math.sin(l),
      Math.cos(p) * Math.sin(q) - Math.sin(p) * Math.cos(q) * Math.cos(l),
    )
    return 6_371_008.8 * Math.atan2(y, Math.sin(p) * Math.sin(q) + Math.cos(p) * Math.cos(q) * Math.cos(l))
  }
  const stops: [number, number][] = []
  for (let first = 0; first < fixes.length; ) {
    let last = first
    while (last + 1 < fixes.length && metres(fixes[first] as Fix, fixes[last + 1] as Fix) <= 100) last++
    const stays = (fixes[last] as Fix).time - (fixes[first] as Fix).time >= STOP_MS
    if (stays) stops.push([first, last])
    first = stays ? last + 1 : first + 1
  }
  const ends = [...stops.map(([first]) => first), fixes.length - 1]
  const trips = [0, ...stops.map(([, last]) => last)].flatMap((begin, index) => {
    const parts: [number, number][] = []
    for (let from = begin, to = begin; to <= (ends[index] as number); to++) {
      const next = fixes[to + 1]
      const over = to === ends[index] || !next || next.time - (fixes[to] as Fix).time > 30 * MINUTE_MS
      if (!over) continue
      parts.push([from, to])
      from = to + 1
    }
    return parts.filter(([from, to]) =>
      fixes.slice(from, to + 1).some(fix => metres(fixes[from] as Fix, fix) > 100),
    )
  })
  return {
    stops: stops.map(([first, last]) => [fixes[first]?.time, fixes[last]?.time]),
    trips: trips.map(([from, to]) => {
      let distance = 0
      for (let n = from; n < to; n++) distance += metres(fixes[n] as Fix, fixes[n + 1] as Fix)
      return [fixes[from]?.time, fixes[to]?.time, to - from + 1, Math.round(distance)]
    }),
  }
}

describe('Trips', () => {
  it.each([
    ['of nothing are none', [], { trips: [], stops: [], days: [] }],
    ['of one fix are none', [at(0, 0)], { trips: [], stops: [], days: [] }],
    [
      'lie between stops, from the last fix of one to the first of the next',
      [at(0, 0), at(5, 10), at(6, 500), at(7, 1000), at(8, 1500), at(14, 1510)],
      {
        trips: [[5, 8, 1490, 4]],
        stops: [
          [0, 5],
          [8, 14],
        ],
        days: [['2026-03-01', 1490, 180]],
      },
    ],
    [
      'go on over a wait that is too short for a stop',
      [at(0, 0), at(1, 1000), at(5.9, 1000), at(7, 2000)],
      { trips: [[0, 7, 2000, 4]], stops: [], days: [['2026-03-01', 2000, 420]] },
    ],
    [
      'end with a gap of more than 30 minutes, and what nobody saw is no way',
      [at(0, 0), at(1, 1000), at(32, 9000), at(33, 10000)],
      {
        trips: [
          [0, 1, 1000, 2],
          [32, 33, 1000, 2],
        ],
        stops: [],
        days: [['2026-03-01', 2000, 120]],
      },
    ],
    [
      'do not end with one of 30 minutes',
      [at(0, 0), at(1, 1000), at(31, 9000)],
      { trips: [[0, 31, 9000, 3]], stops: [], days: [['2026-03-01', 9000, 1860]] },
    ],
    [
      'are none where it has never gone 100 m from its beginning',
      [at(0, 0), at(2, 90), at(4, 0)],
      { trips: [], stops: [], days: [] },
    ],
    [
      'are none beside a device that sleeps where it stands',
      [at(0, 0), at(600, 50)],
      { trips: [], stops: [[0, 600]], days: [] },
    ],
    [
      'end where a stop begins that only shows later',
      [at(0, 0), at(1, 1000), at(2, 1090), at(3, 1150), at(7.5, 1180)],
      { trips: [[0, 2, 1090, 3]], stops: [[2, 7.5]], days: [['2026-03-01', 1090, 120]] },
    ],
  ])('%s', (_what, fixes, expected) => {
    expect(show(fold(fixes))).toEqual(expected)
  })

  it('say how fast it was at most: what the fixes say, or else what they imply', () => {
    expect(fold([at(0, 0), at(1, 600, 7), at(2, 1200, 12.5)]).trips[0]?.maxSpeed).toBe(12.5)
    expect(fold([at(0, 0), at(1, 600), at(2, 1800)]).trips[0]?.maxSpeed).toBeCloseTo(20)
  })

  it('over midnight are shared by the days of the time zone, in proportion', () => {
    const night = [at(-20, 0), at(-10, 6000), at(10, 18000), at(20, 24000)]
    expect(show(fold(night)).days).toEqual([
      ['2026-02-28', 12000, 1200],
      ['2026-03-01', 12000, 1200],
    ])
    expect(show(fold(night, STOP_MS, 'Europe/Berlin')).days).toEqual([['2026-03-01', 24000, 2400]])
  })

  it('count a day by the clock of its place, also where that changes or a date does not exist', () => {
    for (const [zone, time, date, hours] of [
      ['Europe/Berlin', '2026-03-29T00:30:00+01:00', '2026-03-29', 22.5],
      ['Europe/Berlin', '2026-10-25T00:30:00+02:00', '2026-10-25', 24.5],
      ['Pacific/Apia', '2011-12-29T23:00:00-10:00', '2011-12-29', 1],
    ] as const) {
      const day = createDates(zone)(Date.parse(time))
      expect([day.date, (day.end - Date.parse(time)) / 3_600_000]).toEqual([date, hours])
    }
  })

  it('of real buses are those of an oracle that reads the whole track', () => {
    let [trips, stops] = [0, 0]
    for (const trace of ['capmetro-2015-03-08', 'liverpool-route14-2026-01-26']) {
      const points = readTrace(trace)
      for (const bus of new Set(points.map(({ device }) => device))) {
        const own = points.filter(({ device, lat, lng }) => device === bus && (lat !== 0 || lng !== 0))
        const fixes = [...new Map(own.map(point => [point.timestamp, point])).values()]
          .sort((a, b) => a.timestamp - b.timestamp)
          .map(({ timestamp, lat, lng, speed }): Fix => ({ time: timestamp, lat, lng, speedMps: speed }))
        const found = fold(fixes)
        const expected = oracle(fixes)
        expect(found.stops.map(stop => [stop.startTime, stop.endTime])).toEqual(expected.stops)
        expect(
          found.trips.map(trip => [trip.startTime, trip.endTime, trip.points, Math.round(trip.distance)]),
        ).toEqual(expected.trips)
        trips += found.trips.length
        stops += found.stops.length
        const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0)
        expect(sum(found.days.map(day => day.distance))).toBeCloseTo(
          sum(found.trips.map(trip => trip.distance)),
          3,
        )
      }
    }
    expect(Math.min(trips, stops)).toBeGreaterThan(100)
  })

  it('of a fix every millisecond take no longer a fix than of one a second', () => {
    const measure = (everyMs: number) => {
      const trips = createTripFold(STOP_MS, createDates('UTC'))
      const begun = process.cpuUsage()
      // It wanders around a place, so that the search for a stop never ends.
      for (let n = 0; n < 100_000; n++)
        trips.add({ time: MIDNIGHT + n * everyMs, lat: (n % 200) / 1e5, lng: 0, speedMps: null })
      trips.finish()
      return processorMsSince(begun)
    }
    measure(1000)
    // A search that goes on for ever takes hundreds of times longer, each time.
    const ratios = [1, 2, 3].map(() => measure(1) / measure(1000))
    expect(Math.min(...ratios)).toBeLessThan(5)
  })
})

describe('GET /location-histories/trips', () => {
  const { server, owner } = useOrganization()

  it('answers with the trips, stops and days of a track, whatever the order its points came in', async () => {
    const device = await createDevice(owner)
    const trace = readTrace('liverpool-route14-2026-01-26')
    const bus = trace[0]?.device
    const points = [
      ...new Map(trace.filter(one => one.device === bus).map(one => [one.timestamp, one])).values(),
    ]
    const late = shuffle(points.map(({ lat, lng, timestamp, speed }) => ({ lat, lng, timestamp, speed })))
    const send = (some: object[]) =>
      createClient(server, device.key).post('/location-history/bulk', { points: some })
    await send(late.slice(0, late.length / 2))
    const times = points.map(({ timestamp }) => timestamp)
    const path = `/location-histories/trips?deviceId=${device.id}&from=${Math.min(...times)}&to=${Math.max(...times) + 1}`
    const before = (await owner.get(path)).body.data
    await send(late)
    const { status, body } = await owner.get(path)
    expect(status).toBe(200)
    expect(body.data).not.toEqual(before)
    const expected = oracle(
      [...points]
        .sort((a, b) => a.timestamp - b.timestamp)
        .map(({ timestamp, lat, lng, speed }) => ({ time: timestamp, lat, lng, speedMps: speed })),
    )
    expect(
      body.data.trips.map(
        (trip: { startTime: string; endTime: string; points: number; distance: number }) => [
          Date.parse(trip.startTime),
          Date.parse(trip.endTime),
          trip.points,
          Math.round(trip.distance),
        ],
      ),
    ).toEqual(expected.trips)
    expect(body.data.stops).toHaveLength(expected.stops.length)
    expect(body.data.days[0]).toEqual({
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      distance: expect.any(Number),
      duration: expect.any(Number),
    })
  })

  it('asks for one subject and a time of a year at most', async () => {
    const { id } = await createDevice(owner)
    const ok = 'from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z'
    for (const [query, path] of [
      [`deviceId=${id}&from=2026-01-01T00:00:00Z`, 'to'],
      [ok, 'deviceId'],
      [`deviceId=${id}&userId=${id}&${ok}`, 'deviceId'],
      [`deviceId=${id},${id}&${ok}`, 'deviceId'],
      [`deviceId=${id}&${ok}&timezone=Mars/Olympus`, 'timezone'],
      [`deviceId=${id}&${ok}&stopMinutes=0`, 'stopMinutes'],
      [`deviceId=${id}&from=2025-01-01T00:00:00Z&to=2026-02-01T00:00:00Z`, 'from'],
    ]) {
      const { status, body } = await owner.get(`/location-histories/trips?${query}`)
      expect([status, body.errors?.[0]?.path], query).toEqual([400, path])
    }
    const nothing = await owner.get(`/location-histories/trips?deviceId=${id}&${ok}`)
    expect(nothing.body.data).toEqual({ trips: [], stops: [], days: [] })
  })
})
