import fc from 'fast-check'
import type { FeatureCollection } from 'geojson'
import type { Map as MapLibre } from 'maplibre-gl'
import { describe, expect, it } from 'vitest'
import { createChanges, type Message } from '../../console/live/changes.ts'
import { createFleet } from '../../console/live/fleet.ts'
import { type Position, pack, unpack } from '../../console/live/packed.ts'
import { createInside, readRing, ringOf, type Shape, writeRing } from '../../console/map/areas.ts'
import { cluster } from '../../console/map/clusters.ts'
import { boundsAround, distanceM } from '../../console/map/geometry.ts'
import { toLat, toLng, toX, toY } from '../../console/map/mercator.ts'
import { type Filters, listSubjects, NO_FILTERS } from '../../console/pages/map/filters.ts'
import { showTrail } from '../../console/pages/map/trail-layer.ts'
import { until } from '../support/wait.ts'

const at = (subjectId: string, lng: number, lat: number, more: Partial<Position> = {}): Position => ({
  subjectId,
  subjectType: 'device',
  name: subjectId,
  lat,
  lng,
  timestamp: '2026-11-21T10:00:00.000Z',
  speed: 10,
  heading: 90,
  accuracy: null,
  battery: null,
  state: 'moving',
  ...more,
})

/** The place in degrees at which a subject is shown at a time. */
function shown(fleet: ReturnType<typeof createFleet>, id: string, now: number): [number, number] {
  const slot = fleet.slotOf(id) as number
  const { x, y, fromX, fromY } = fleet.columns
  const share = fleet.progress(slot, now)
  const [fx, fy] = [fromX[slot] as number, fromY[slot] as number]
  return [toLng(fx + ((x[slot] as number) - fx) * share), toLat(fy + ((y[slot] as number) - fy) * share)]
}

describe('The fleet of the live map', () => {
  it('moves from fix to fix in the time between them, and never past the newest', () => {
    const fleet = createFleet()
    fleet.replace(pack([at('a', 13, 52)]), 0)
    fleet.update(pack([at('a', 13.01, 52)]), 2_000)
    expect(shown(fleet, 'a', 2_000)[0]).toBeCloseTo(13, 9)
    expect(shown(fleet, 'a', 3_000)[0]).toBeCloseTo(13.005, 9)
    for (const later of [4_000, 5_000, 60_000]) expect(shown(fleet, 'a', later)[0]).toBeCloseTo(13.01, 9)
  })

  it('is always between two fixes, whatever arrives when', () => {
    const steps = fc.array(
      fc.record({
        lng: fc.double({ min: 13, max: 13.02, noNaN: true }),
        after: fc.integer({ min: 1, max: 9_000 }),
      }),
      { minLength: 1, maxLength: 20 },
    )
    fc.assert(
      fc.property(steps, moves => {
        const fleet = createFleet()
        fleet.replace(pack([at('a', 13.01, 52)]), 0)
        let now = 0
        let [low, high] = [13.01, 13.01]
        for (const { lng, after } of moves) {
          now += after
          const before = shown(fleet, 'a', now)[0]
          fleet.update(pack([at('a', lng, 52)]), now)
          // A fix never makes a marker jump: it continues from its shown place.
          expect(shown(fleet, 'a', now)[0]).toBeCloseTo(before, 6)
          ;[low, high] = [Math.min(lng, before), Math.max(lng, before)]
          for (const later of [10, 100, 1_000, 10_000]) {
            const [shownLng] = shown(fleet, 'a', now + later)
            expect(shownLng).toBeGreaterThanOrEqual(low - 1e-9)
            expect(shownLng).toBeLessThanOrEqual(high + 1e-9)
          }
          expect(shown(fleet, 'a', now + 5_000)[0]).toBeCloseTo(lng, 9)
        }
      }),
    )
  })

  it('jumps where the distance is too long to have been driven', () => {
    const fleet = createFleet()
    fleet.replace(pack([at('a', 13, 52)]), 0)
    fleet.update(pack([at('a', 2, 48)]), 1_000)
    expect(shown(fleet, 'a', 1_000)).toEqual([expect.closeTo(2, 9), expect.closeTo(48, 9)])
  })

  it('forgets removed subjects and confuses none, whatever comes and goes', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
    const change = fc.oneof(
      fc.record({
        kind: fc.constant('put' as const),
        id: ids,
        lng: fc.double({ min: -179, max: 179, noNaN: true }),
      }),
      fc.record({ kind: fc.constant('gone' as const), id: ids, lng: fc.constant(0) }),
      fc.record({ kind: fc.constant('snapshot' as const), id: ids, lng: fc.constant(1) }),
    )
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), changes => {
        const fleet = createFleet()
        const model = new Map<string, number>()
        changes.forEach(({ kind, id, lng }, now) => {
          if (kind === 'gone') {
            fleet.remove([id])
            model.delete(id)
          } else {
            if (kind === 'snapshot') model.clear()
            model.set(id, lng)
            if (kind === 'snapshot') fleet.replace(pack([at(id, lng, 0)]), now)
            else fleet.update(pack([at(id, lng, 0)]), now)
          }
        })
        const held = fleet.ids.map((id, slot) => [id, toLng(fleet.columns.x[slot] as number)] as const)
        expect(new Map(held).size).toBe(model.size)
        for (const [id, lng] of held) {
          expect(lng).toBeCloseTo(model.get(id) as number, 6)
          expect(fleet.find(id)?.lng).toBe(model.get(id))
          expect(fleet.names[fleet.slotOf(id) as number]).toBe(id)
        }
      }),
    )
  })

  it('sorts by the shown speed: silent subjects come last, however fast they were', () => {
    const fleet = createFleet()
    const all = [
      at('silent', 13, 52, { speed: 30, state: 'offline' }),
      at('unknown', 13, 52, { speed: null, state: 'moving' }),
      at('slow', 13, 52, { speed: 2 }),
      at('waits', 13, 52, { speed: 20, state: 'idle' }),
      at('fast', 13, 52, { speed: 20 }),
    ]
    fleet.replace(pack(all), 0)
    const filters = { ...NO_FILTERS, sort: 'speed' } as unknown as Filters
    const listed = listSubjects(fleet, [...all.keys()], filters, null)
    expect(listed).toEqual(['fast', 'slow', 'unknown', 'waits', 'silent'])
  })

  it('holds 10,000 and shows each once, alone or in one cluster', () => {
    const fleet = createFleet()
    const all = Array.from({ length: 10_000 }, (_, index) =>
      at(`s${index}`, 13 + (index % 100) * 0.002, 52 + Math.floor(index / 100) * 0.001),
    )
    fleet.replace(pack(all), 0)
    fleet.update(pack(all), 250)
    expect(fleet.size).toBe(10_000)
    for (const zoom of [0, 5, 9, 12, 14]) {
      const { x, y } = fleet.columns
      const { clusters, alone } = cluster(x, y, fleet.size, 512 * 2 ** zoom)
      const members = clusters.flatMap(one => one.members)
      expect(new Set(members).size).toBe(members.length)
      const single = alone.subarray(0, fleet.size).reduce((sum, one) => sum + one, 0)
      expect(single + members.length).toBe(10_000)
      if (zoom === 0) expect(clusters).toHaveLength(1)
    }
  })

  it.each([13.4, 179.999, -179.999, 180])(
    'clusters subjects that are close together, also around longitude %s',
    lng => {
      const fleet = createFleet()
      const all = Array.from({ length: 6 }, (_, index) => {
        const beside = lng + (index - 3) * 0.004
        return at(`s${index}`, ((beside + 540) % 360) - 180, -17)
      })
      fleet.replace(pack(all), 0)
      for (const zoom of [0, 5, 9]) {
        const { clusters } = cluster(fleet.columns.x, fleet.columns.y, fleet.size, 512 * 2 ** zoom)
        expect(clusters.map(({ members }) => members.length)).toEqual([6])
        const away = (clusters[0]?.x ?? 0) - (lng + 180) / 360
        expect(Math.abs(away - Math.round(away))).toBeLessThan(1e-4)
      }
    },
  )

  it('returns a position as it was sent, whichever values are unknown', () => {
    const number = fc.option(fc.double({ noNaN: true }))
    const position = fc.record<Position>({
      subjectId: fc.uuid(),
      subjectType: fc.constantFrom('user', 'device'),
      name: fc.string(),
      lat: fc.double({ min: -90, max: 90, noNaN: true }),
      lng: fc.double({ min: -180, max: 180, noNaN: true }),
      timestamp: fc.integer({ min: 0, max: 4e12 }).map(ms => new Date(ms).toISOString()),
      speed: number,
      heading: number,
      accuracy: number,
      battery: number,
      state: fc.constantFrom('moving', 'idle', 'offline'),
    })
    fc.assert(
      fc.property(fc.array(position), positions => {
        const packed = pack(positions)
        expect(positions.map((_, at) => unpack(packed, at))).toEqual(positions)
      }),
    )
  })

  it('is the same, however late and in whatever pieces the changes are taken', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd')
    const message = fc.oneof(
      fc.record({
        type: fc.constantFrom('snapshot' as const, 'positions' as const, 'positions' as const),
        cursor: fc.integer().map(String),
        positions: fc.uniqueArray(
          fc.tuple(ids, fc.double({ min: -179, max: 179, noNaN: true })).map(([id, lng]) => at(id, lng, 0)),
          { selector: one => one.subjectId },
        ),
      }),
      fc.record({ type: fc.constant('gone' as const), subjectIds: fc.array(ids) }),
      fc.record({ type: fc.constant('geofence' as const) }),
    )
    const steps = fc.array(
      fc.oneof(
        message.map(hear => ({ hear })),
        fc.record({ take: fc.integer({ min: 1, max: 3 }) }),
      ),
    )
    fc.assert(
      fc.property(steps, all => {
        const changes = createChanges()
        const fleet = createFleet()
        const told = new Map<string, Position>()
        let [cursor, took] = [null as string | null, null as string | null]
        let [crossed, heard] = [false, false]
        const take = (most: number) => {
          const { changes: next, isLast } = changes.take(most)
          if (next.isAll) fleet.replace(next.positions, 0)
          else {
            fleet.remove(next.gone)
            fleet.update(next.positions, 0)
          }
          took = next.cursor ?? took
          // No cursor is given before all changes up to it are taken.
          if (isLast) expect(took).toBe(cursor)
          else expect(next.cursor).toBeNull()
          heard ||= next.crossings
          return isLast
        }
        const hear = (one: Message) => {
          changes.hear(one)
          if (one.type === 'snapshot') told.clear()
          if (one.type === 'geofence') crossed = true
          if ('subjectIds' in one) for (const id of one.subjectIds) told.delete(id)
          if (!('positions' in one)) return
          cursor = one.cursor
          for (const position of one.positions) told.set(position.subjectId, position)
        }
        for (const step of all) 'hear' in step ? hear(step.hear) : take(step.take)
        while (!take(2)) {}
        const held = fleet.ids.map((id): [string, Position | undefined] => [id, fleet.find(id)])
        expect(new Map(held)).toEqual(told)
        expect(held).toHaveLength(told.size)
        expect(heard).toBe(crossed)
      }),
    )
  })

  it('projects a place and back', () => {
    for (const [lng, lat] of [
      [13.4, 52.5],
      [-179.9, -84],
      [0, 0],
    ] as const) {
      expect(toLng(toX(lng))).toBeCloseTo(lng, 9)
      expect(toLat(toY(lat))).toBeCloseTo(lat, 9)
    }
  })
})

describe('The trail of today', () => {
  it('continues beyond the 180th meridian, and with each new fix', async () => {
    const fleet = createFleet()
    fleet.replace(pack([at('ferry', -179.8, -17, { timestamp: '2026-11-21T10:01:00.000Z' })]), 0)
    let drawn: FeatureCollection | undefined
    const source = {
      setData(data: FeatureCollection) {
        drawn = structuredClone(data)
      },
    }
    const map = {
      getSource: () => drawn && source,
      addSource: (_name: string, { data }: { data: FeatureCollection }) => source.setData(data),
      on() {},
      off() {},
    }
    const points = [179.8, -179.9, -179.8].map((lng, minute) => ({
      lng,
      lat: -17,
      timestamp: `2026-11-21T09:0${minute}:00.000Z`,
    }))
    const close = showTrail(map as unknown as MapLibre, points, fleet, 'ferry')
    fleet.update(pack([at('ferry', 179.9, -17, { timestamp: '2026-11-21T10:02:00.000Z' })]), 0)
    const lngs = () => {
      const shape = drawn?.features[0]?.geometry
      return shape?.type === 'LineString' ? shape.coordinates.map(([lng]) => Number(lng?.toFixed(6))) : []
    }
    await until('the newest fix is drawn', () => lngs().length === 4)
    expect(lngs()).toEqual([179.8, 180.1, 180.2, 179.9])
    close()
  })
})

describe('The first view', () => {
  it('shows all subjects in the fewest degrees, also across the 180th meridian', () => {
    const fiji = [
      [178, -18],
      [-179, -17],
      [180, -19],
      [-180, -18],
    ] as const
    expect(boundsAround(fiji)).toEqual([
      [178, -19],
      [181, -17],
    ])
    expect(
      boundsAround([
        [13, 52],
        [2, 48],
      ]),
    ).toEqual([
      [2, 48],
      [13, 52],
    ])
    expect(boundsAround([[179, 1]])).toEqual([
      [179, 1],
      [179, 1],
    ])
    expect(boundsAround([])).toBeNull()
    const place = fc.tuple(fc.double({ min: -180, max: 180, noNaN: true }), fc.constant(0))
    fc.assert(
      fc.property(fc.array(place, { minLength: 1, maxLength: 8 }), places => {
        const [[west], [east]] = boundsAround(places) ?? [[0], [0]]
        const from = (start: number, lng: number) => (((lng - start) % 360) + 360) % 360
        for (const [lng] of places) expect(from(west - 1e-9, lng)).toBeLessThanOrEqual(east - west + 2e-9)
        // Whichever subject is first, the way east to the last one is no shorter.
        const widths = places.map(([start]) => Math.max(...places.map(([lng]) => from(start, lng))))
        expect(east - west).toBeCloseTo(Math.min(...widths), 6)
      }),
    )
  })
})

describe('An area', () => {
  const circle: Shape = { type: 'circle', center: { lat: 52.52, lng: 13.4 }, radius: 1_000 }
  const fiji: Shape = {
    type: 'polygon',
    coordinates: [
      [179, -17],
      [-179, -17],
      [-179, -16],
      [179, -16],
    ],
  }

  it('of a circle contains the places within its radius, and so does its ring', () => {
    for (const [lng, lat] of ringOf(circle))
      expect(distanceM({ lat, lng }, { lat: 52.52, lng: 13.4 })).toBeCloseTo(1_000, 0)
    expect(createInside(circle)({ lat: 52.5289, lng: 13.4 })).toBe(true)
    expect(createInside(circle)({ lat: 52.5291, lng: 13.4 })).toBe(false)
  })

  it('of a polygon takes the shorter way round the world, from either side', () => {
    const isInside = createInside(fiji)
    expect([179.5, -179.5, 180, -180].map(lng => isInside({ lat: -16.5, lng }))).toEqual(Array(4).fill(true))
    expect([178.9, -178.9, 0, 1].map(lng => isInside({ lat: -16.5, lng }))).toEqual(Array(4).fill(false))
    expect(isInside({ lat: -15.9, lng: 179.5 })).toBe(false)
  })

  it('of a concave ring excludes the places in the bend', () => {
    const bent: Shape = {
      type: 'polygon',
      coordinates: [
        [0, 0],
        [4, 0],
        [4, 4],
        [2, 1],
        [0, 4],
      ],
    }
    const isInside = createInside(bent)
    expect([isInside({ lng: 2, lat: 0.5 }), isInside({ lng: 2, lat: 2 })]).toEqual([true, false])
  })

  it('can be part of an address, and an invalid one counts as none', () => {
    const ring: [number, number][] = [
      [13.4, 52.5],
      [13.5, 52.5],
      [13.5, 52.6],
    ]
    expect(readRing(writeRing(ring))).toEqual(ring)
    for (const text of ['', '1,2;3,4', '1,2;3,4;x,5', '1,2;3,4;5', 'fence:1'])
      expect(readRing(text)).toBeNull()
  })
})
