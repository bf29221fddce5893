import { describe, expect, test } from 'vitest'
import { driveRoute, type Waypoint } from '../../src/streets/drive.ts'
import { readRoutes } from '../../src/streets/routes.ts'
import { distanceM, placeAt, type Track } from '../../src/streets/track.ts'

/** Metres north and east of a place near the equator, where a degree is the same both ways. */
const at = (north: number, east: number, more: Partial<Waypoint> = {}): Waypoint => ({
  lat: north / 111_194.93,
  lng: east / 111_194.93,
  stop: null,
  road: 'r',
  isTunnel: false,
  ...more,
})
/** A square with a customer at its beginning. */
const square = (side: number, more: Partial<Waypoint> = {}) => [
  at(0, 0, { ...more, stop: 'customer' }),
  at(side, 0, more),
  at(side, side, more),
  at(0, side, more),
]
const seconds = (track: Track) => Array.from({ length: Math.floor(track.seconds) }, (_, second) => second)
const places = (track: Track) => seconds(track).map(second => placeAt(track, second))
const fastest = (track: Track) => Math.max(...places(track).map(({ speed }) => speed))

describe('a vehicle', () => {
  test('is faster on a larger road', () => {
    const speeds = ['r', 's', 'p', 'm'].map(road => fastest(driveRoute(square(2_000, { road }))))
    expect(speeds).toEqual(speeds.toSorted((a, b) => a - b))
    expect(new Set(speeds).size).toBe(4)
  })

  test('slows in a curve, and not on a straight road', () => {
    const track = driveRoute([...square(400).slice(0, 1), at(200, 0), ...square(400).slice(1)])
    const speedNear = (north: number, east: number) =>
      Math.min(
        ...places(track)
          .filter(place => distanceM(place, at(north, east)) < 8)
          .map(({ speed }) => speed),
      )
    expect(speedNear(400, 0)).toBeLessThan(7)
    expect(speedNear(200, 0)).toBeGreaterThan(8)
  })

  test('stands at crossings with the engine on, and at customers with the engine off', () => {
    const [customer, ...rest] = square(300) as [Waypoint, ...Waypoint[]]
    const crossing = at(150, 0, { stop: 'crossing' })
    const track = driveRoute([customer, crossing, ...rest])
    const standing = track.legs.filter(({ speed, acceleration }) => speed === 0 && acceleration === 0)
    expect(standing.map(({ isParked }) => isParked)).toEqual([true, false])
    expect(standing.map(({ from }) => from)).toEqual([customer, crossing])
    for (const { seconds } of standing) expect(seconds).toBeGreaterThan(2)
    for (const { fromS } of standing) expect(placeAt(track, fromS + 1)).toMatchObject({ speed: 0 })
  })

  test('begins its next round where it ended the last', () => {
    const track = driveRoute(square(300))
    expect(distanceM(placeAt(track, track.seconds - 0.01), placeAt(track, 0))).toBeLessThan(0.1)
    expect(placeAt(track, track.seconds + 60).lat).toBeCloseTo(placeAt(track, 60).lat, 9)
  })
})

describe('on the routes that come with the product', () => {
  const routes = readRoutes()

  test('no vehicle goes further in a second than its speed, or brakes harder than a careful driver', () => {
    let [furthest, hardest] = [0, 0]
    for (const track of routes) {
      let before = placeAt(track, 0)
      for (const second of seconds(track).slice(1)) {
        const place = placeAt(track, second)
        furthest = Math.max(furthest, distanceM(before, place) - Math.max(before.speed, place.speed))
        hardest = Math.max(hardest, Math.abs(place.speed - before.speed))
        before = place
      }
    }
    // In a second both braking and accelerating may happen.
    expect(furthest).toBeLessThan(1)
    expect(hardest).toBeLessThan(2.1)
  })

  test('vehicles stand at crossings and customers, and the first twenty come through a tunnel', () => {
    for (const { legs } of routes) {
      expect(legs.some(({ isParked }) => isParked)).toBe(true)
      expect(legs.some(({ speed, acceleration, isParked }) => !speed && !acceleration && !isParked)).toBe(
        true,
      )
    }
    expect(routes.slice(0, 20).some(({ legs }) => legs.some(({ isTunnel }) => isTunnel))).toBe(true)
  })

  test('they cover the town', () => {
    const cell = (degrees: number) => Math.floor(degrees * 100)
    const visited = new Set(
      routes.flatMap(({ legs }) => legs.map(({ from }) => `${cell(from.lat)} ${cell(from.lng)}`)),
    )
    for (const { lat, lng } of PLACES) expect(visited).toContain(`${cell(lat)} ${cell(lng)}`)
  })
})

/** The Ferry Building, Golden Gate Park, the Sunset, the Mission, the Marina, Bayview, the Excelsior and the zoo. */
const PLACES = [
  { lat: 37.7952, lng: -122.3937 },
  { lat: 37.7694, lng: -122.4862 },
  { lat: 37.7535, lng: -122.4934 },
  { lat: 37.7599, lng: -122.4148 },
  { lat: 37.8015, lng: -122.4368 },
  { lat: 37.7304, lng: -122.3944 },
  { lat: 37.7244, lng: -122.4273 },
  { lat: 37.7354, lng: -122.4994 },
]
