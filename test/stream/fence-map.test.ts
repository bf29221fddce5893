import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FenceShape } from '../../db/schema/geofences.ts'
import { createFenceMap } from '../../stream/fences/fence-map.ts'
import { isInside } from '../support/fences.ts'

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true })

const longitude = fc.oneof(number(-180, 180), number(179.9, 180), number(-180, -179.9))

/** Any place; the poles and the antimeridian are more frequent. */
const place = fc.record({
  lat: fc.oneof(number(-90, 90), number(-90, -89.9), number(89.9, 90)),
  lng: fc.oneof(number(-180, 180), number(179.99, 180), number(-180, -179.99)),
})
const circle = fc
  .record({ center: place, size: number(0, 5.7) })
  .map(({ center, size }): FenceShape => ({ type: 'circle', center, radius: 10 ** size }))
/** A star around a place: it never crosses itself, whatever its rays are. */
const polygon = fc
  .record({
    middle: fc.record({ lat: number(-60, 60), lng: longitude }),
    size: number(-4, 1.3),
    rays: fc.array(number(0.1, 1), { minLength: 4, maxLength: 30 }),
  })
  .map(({ middle, size, rays }): FenceShape => {
    const ring = rays.map((ray, n): [number, number] => {
      const angle = (2 * Math.PI * n) / rays.length
      const lng = middle.lng + Math.cos(angle) * ray * 10 ** size
      return [
        lng > 180 ? lng - 360 : lng < -180 ? lng + 360 : lng,
        middle.lat + Math.sin(angle) * ray * 10 ** size,
      ]
    })
    return { type: 'polygon', coordinates: [...ring, ring[0] as [number, number]] }
  })

/** Places around a shape, most of them near its border. */
const around = (shape: FenceShape, [turn, far]: [number, number]) => {
  const [lng, lat] =
    shape.type === 'circle'
      ? [shape.center.lng, shape.center.lat]
      : (shape.coordinates[Math.floor(turn * shape.coordinates.length)] as [number, number])
  const degrees = (shape.type === 'circle' ? shape.radius / 111_195 : 1) * far
  const north = Math.max(-90, Math.min(90, lat + Math.sin(turn * 50) * degrees))
  const east = lng + (Math.cos(turn * 50) * degrees) / Math.max(0.01, Math.cos((lat * Math.PI) / 180))
  return { lat: north, lng: ((((east + 180) % 360) + 360) % 360) - 180 }
}

/** Whether a place is clear of the border: on the border both answers are right. */
const isClear = (shape: FenceShape, { lat, lng }: { lat: number; lng: number }) =>
  shape.type === 'circle'
    ? [1 - 1e-6, 1 + 1e-6].every(
        part =>
          isInside({ ...shape, radius: shape.radius * part }, { lat, lng }) === isInside(shape, { lat, lng }),
      )
    : [
        [1e-7, 1e-8],
        [-1e-7, -1e-8],
        [1e-8, -1e-7],
        [-1e-8, 1e-7],
      ].every(
        ([north = 0, east = 0]) =>
          isInside(shape, { lat: lat + north, lng: lng + east }) === isInside(shape, { lat, lng }),
      )

describe('A map of geofences', () => {
  it('finds those that contain a place, as looking at each of them does', () => {
    let looked = 0
    fc.assert(
      fc.property(
        fc.array(fc.oneof(circle, polygon), { minLength: 1, maxLength: 40 }),
        fc.array(place, { maxLength: 10 }),
        fc.array(fc.tuple(number(0, 0.999), number(0.001, 1.5)), { maxLength: 5 }),
        (shapes, anywhere, near) => {
          const map = createFenceMap(shapes)
          const places = [...anywhere, ...shapes.flatMap(shape => near.map(one => around(shape, one)))]
          for (const { lat, lng } of places) {
            if (!shapes.every(shape => isClear(shape, { lat, lng }))) continue
            looked++
            const expected = shapes.flatMap((shape, index) => (isInside(shape, { lat, lng }) ? [index] : []))
            expect(map.locate(lat, lng)).toEqual(expected)
          }
        },
      ),
      { numRuns: 300 },
    )
    expect(looked).toBeGreaterThan(1_000)
  })

  it('knows both sides of the antimeridian, its line and the poles', () => {
    const fiji: FenceShape = {
      type: 'polygon',
      coordinates: [[179, -17], [-179, -17], [-179, -16], [179, -16], [179, -17]], // biome-ignore format: one ring
    }
    const map = createFenceMap([
      fiji,
      { type: 'circle', center: { lat: 0, lng: 180 }, radius: 1000 },
      { type: 'circle', center: { lat: 90, lng: 0 }, radius: 10_000 },
    ])
    const last = 180 - 2 ** -45
    for (const lng of [179.5, last, 180, -180, -179.5]) expect(map.locate(-16.5, lng)).toEqual([0])
    for (const lng of [178.9, -178.9, 0]) expect(map.locate(-16.5, lng)).toEqual([])
    for (const lng of [179.995, 180, -180, -179.995]) expect(map.locate(0, lng)).toEqual([1])
    for (const lng of [0, 90, 180, -135]) expect(map.locate(89.95, lng)).toEqual([2])
    expect(map.locate(89.9, 0)).toEqual([])
  })

  it('counts the first 50 where more lie over each other', () => {
    const map = createFenceMap(
      Array.from({ length: 60 }, (_, n) => ({
        type: 'circle',
        center: { lat: 1, lng: 2 },
        radius: 1_000 - n,
      })),
    )
    expect(map.locate(1, 2)).toEqual(Array.from({ length: 50 }, (_, n) => n))
  })
})
