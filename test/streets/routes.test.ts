import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createFleet } from '../../src/commands/fleet.ts'
import { createReceiver, type Reading } from '../../src/streets/receiver.ts'
import { readRoutes } from '../../src/streets/routes.ts'
import type { Leg } from '../../src/streets/track.ts'
import { angleBetween, type Near, readStreets, type Spot, toSpot } from '../support/streets.ts'

const { near } = await readStreets()
const routes = readRoutes()
/** Tiles round a line by up to 1 m, routes theirs by 0.6 m, and what lies together within 3 m is one crossing. */
const ON_STREET_M = 3.5

/** 25 readings of each of 200 vehicles, 10 s apart, as the trackers of a fleet send them. */
function simulatePositions(): Reading[] {
  const { vehicles } = createFleet(undefined, 200)
  return vehicles.flatMap(({ placeAt }, index) => {
    const receive = createReceiver(index)
    return Array.from({ length: 25 }, (_, step) => receive(placeAt(step * 10), step * 10_000)).filter(
      reading => reading !== null,
    )
  })
}

const isAlong = ({ street, heading }: Near, driven: number) =>
  angleBetween(heading, driven) <= 30 || (!street.isOneWay && angleBetween(heading, driven) >= 150)

describe('5,000 positions of a fleet without options', () => {
  const positions = simulatePositions()
  const share = (matching: readonly unknown[], all: readonly unknown[]) => matching.length / all.length

  test('lie within 15 m of a street for 95 %', () => {
    expect(positions.length).toBeGreaterThan(4_900)
    const onStreet = positions.filter(position => near(toSpot(position), 15).length > 0)
    expect(share(onStreet, positions)).toBeGreaterThan(0.95)
  })

  test('have the heading of the nearest street within 30 degrees for 90 % of those that move', () => {
    const moving = positions.filter(({ speed }) => speed > 1)
    expect(moving.length).toBeGreaterThan(3_000)
    const along = moving.filter(position => {
      const [nearest] = near(toSpot(position), 50)
      return nearest && isAlong(nearest, position.heading)
    })
    expect(share(along, moving)).toBeGreaterThan(0.9)
  })

  test('are those of vehicles with a battery, and an engine that is off while the driver is away', () => {
    const off = positions.filter(({ attributes }) => !attributes.ignition)
    expect(off.length).toBeGreaterThan(50)
    for (const { speed } of off) expect(speed).toBe(0)
    for (const { battery } of positions) expect(battery >= 20 && battery <= 100).toBe(true)
  })
})

test('the file of the routes has less than 400 KB', () => {
  expect(
    statSync(resolve(import.meta.dirname, '../../basemap/sanfrancisco-routes.ndjson.gz')).size,
  ).toBeLessThan(400_000)
})

describe('every route', () => {
  const legs = routes.flatMap(({ legs }, route) =>
    legs
      .filter(({ speed, acceleration }) => speed !== 0 || acceleration !== 0)
      .map(leg => ({ ...leg, route })),
  )
  const streetsOf = legs.map(leg => findStreets(leg))
  const describeLeg = (index: number) => {
    const { route, from, to } = legs[index] as (typeof legs)[number]
    return `route ${route} from ${from.lat}, ${from.lng} to ${to.lat}, ${to.lng}`
  }

  test('lies on streets all the way', () => {
    const lost = streetsOf.flatMap((streets, index) => (streets.length === 0 ? [describeLeg(index)] : []))
    expect(lost).toEqual([])
  })

  test('goes along one-way streets in their direction', () => {
    const against = legs.flatMap(({ heading }, index) => {
      const isAllowed = streetsOf[index]?.some(
        near => !near.street.isOneWay || angleBetween(near.heading, heading) < 90,
      )
      return isAllowed ? [] : [describeLeg(index)]
    })
    expect(against).toEqual([])
  })

  test('changes from one street to another only where they meet', () => {
    const jumps = legs.flatMap(({ from, route }, index) => {
      const before = streetsOf[index - 1]
      if (!before || legs[index - 1]?.route !== route) return []
      const spot = toSpot(from)
      const meet = streetsOf[index]?.some(after => before.some(one => canChange(one, after, spot)))
      return meet ? [] : [describeLeg(index)]
    })
    expect(jumps).toEqual([])
  })

  test('ends where it begins', () => {
    for (const { legs } of routes) expect(legs[0]?.from).toMatchObject(legs.at(-1)?.to ?? {})
  })
})

/** The streets that a leg follows from its beginning to its end. */
function findStreets({ from, to }: Leg): Near[] {
  const middle = { lat: (from.lat + to.lat) / 2, lng: (from.lng + to.lng) / 2 }
  const ends = [from, to].map(place => new Set(near(toSpot(place), ON_STREET_M).map(({ street }) => street)))
  return near(toSpot(middle), ON_STREET_M).filter(({ street }) => ends.every(end => end.has(street)))
}

/**
 * Streets meet where one of them ends, and where they cross on the ground. Motorways do not cross others, and tiles draw a street a
 * little further than their border, so that the same street lies there twice.
 */
function canChange(one: Near, other: Near, spot: Spot): boolean {
  if (one.street === other.street) return true
  const both = [one.street, other.street]
  if (both.some(({ line }) => [line[0], line.at(-1)].some(end => end && distance(end, spot) < 6))) return true
  if (both.every(({ isApart, isMotorway }) => !isApart && !isMotorway)) return true
  const isSame = one.street.name === other.street.name && one.street.isApart === other.street.isApart
  return isSame && angleBetween(one.heading, other.heading) < 20
}

const distance = (a: Spot, b: Spot) => Math.hypot(a.east - b.east, a.north - b.north)
