import { describe, expect, it } from 'vitest'
import { createScheduler } from '../../fair/scheduler.ts'
import { openBasemap } from '../../src/basemap/open.ts'
import { OWN_ARCHIVE } from '../../src/basemap/setting.ts'
import { createPlaces } from '../../src/resources/places/describe.ts'
import { createNames } from '../../src/resources/places/search.ts'
import type { TilePlaces } from '../../src/resources/places/tile-places.ts'

/** A scheduler that counts the pieces of work that have a turn of their own. */
function createCounter() {
  const scheduler = createScheduler()
  const counter = {
    pieces: 0,
    pass(key: string) {
      counter.pieces++
      return scheduler.pass(key)
    },
    walk<Found>(key: string, work: Generator<void, Found>) {
      function* count(): Generator<void, Found> {
        for (;;) {
          counter.pieces++
          const { done, value } = work.next()
          if (done) return value
          yield
        }
      }
      return scheduler.walk(key, count())
    },
  }
  return counter
}

describe('Places leave turns of the event loop to others', () => {
  it('between the points of one request and the results of a search, also when all tiles are decoded already', async () => {
    const silent = { warn() {}, info() {} } as never
    const basemap = await openBasemap({ basemap: OWN_ARCHIVE, dataDir: '', basemapCacheMb: 0 }, silent)
    const counter = createCounter()
    const places = createPlaces(basemap, counter)
    const points = Array.from({ length: 100 }, (_, n) => ({
      lat: 37.75 + (n % 10) * 0.004,
      lng: -122.45 + Math.floor(n / 10) * 0.004,
    }))
    expect((await places.describe(points, 'owner')).filter(Boolean)).toHaveLength(100)
    counter.pieces = 0
    await places.describe(points, 'owner')
    expect(counter.pieces).toBe(100)

    const near = { lat: 37.76, lng: -122.43 }
    await places.search('street', near, 'owner')
    counter.pieces = 0
    const found = await places.search('street', near, 'owner')
    expect(found.length).toBeGreaterThan(10)
    expect(counter.pieces).toBeGreaterThan(found.length)
    await basemap.close()
  })

  it('while they search fifty thousand names that all match, and find the best of them', async () => {
    const streetsOf = (kind: string): TilePlaces => ({
      streets: Array.from({ length: 25_000 }, (_, n) => ({
        name: `${kind} ${n}`,
        isPath: false,
        lines: [Float64Array.from([(n % 250) / 250, Math.floor(n / 250) / 100, 0.5, 0.5])],
      })),
      towns: [{ name: 'Avenue', x: 0.9, y: 0.9, rank: 5 }],
    })
    const tiles = [streetsOf('Old avenue'), streetsOf('Avenue')]
    const counter = createCounter()
    const search = createNames(
      {
        about: { vector: true, minZoom: 0, maxZoom: 14, bounds: [0, 0, 1, 1], version: 'a' },
        list: async z => (z === 14 ? tiles.map((_, x) => ({ z, x, y: 0 })) : []),
      },
      async ({ x }) => tiles[x] ?? null,
      counter,
    )
    // The town comes first, then the streets that begin with the text, the nearest first.
    const found = await search('AVENUE', { x: 0, y: 0 }, 3, 'owner')
    expect(found.map(({ name }) => name)).toEqual(['Avenue', 'Avenue 0', 'Avenue 1'])
    expect(counter.pieces).toBeGreaterThanOrEqual(25)
  })

  it('and list the kept tiles no more once they know as many names as they may', async () => {
    let lists = 0
    const search = createNames(
      {
        about: { vector: true, minZoom: 0, maxZoom: 14, bounds: [0, 0, 1, 1], version: 'a' },
        async list(z, max) {
          lists++
          return Array.from({ length: max }, (_, x) => ({ z, x, y: 0 }))
        },
      },
      async () => ({ streets: [], towns: [] }),
      createCounter(),
    )
    await search('avenue', null, 3, 'owner')
    const first = lists
    expect(first).toBeGreaterThan(0)
    await search('avenue', null, 3, 'owner')
    expect(lists).toBe(first)
  })
})
