import { describe, expect, it } from 'vitest'
import { countCells, isCrowd, isDense } from '../../console/live/density.ts'
import { createFleet } from '../../console/live/fleet.ts'
import { type Position, pack } from '../../console/live/packed.ts'

const CITY = { x: 0.1637, y: 0.3865 }
/** A city on the screen at zoom 12, in shares of the world. */
const WORLD_PX = 512 * 2 ** 12
const SIGHT = { centerX: CITY.x, centerY: CITY.y, width: 1_000 / WORLD_PX, height: 800 / WORLD_PX }

function scatter(count: number, width = SIGHT.width, height = SIGHT.height) {
  const x = Float64Array.from({ length: count }, (_, index) => CITY.x + width * (((index * 0.618) % 1) - 0.5))
  const y = Float64Array.from(
    { length: count },
    (_, index) => CITY.y + height * (((index * 0.414) % 1) - 0.5),
  )
  return { x, y }
}

describe('The picture of very many', () => {
  it('is one of dots and numbers when many are in sight, and of rings when few are', () => {
    const many = scatter(5_000)
    expect(isDense(many.x, many.y, 5_000, SIGHT)).toBe(true)
    const few = scatter(200)
    expect(isDense(few.x, few.y, 200, SIGHT)).toBe(false)
    // The whole fleet is elsewhere.
    expect(isDense(many.x, many.y, 5_000, { ...SIGHT, centerX: CITY.x + 0.3 })).toBe(false)
    // Across the edge of the world they are in sight, too.
    const edge = many.x.map(one => (one - CITY.x + 1) % 1)
    expect(isDense(edge, many.y, 5_000, { ...SIGHT, centerX: 1 })).toBe(true)
  })

  it('does not flicker between the two at the limit', () => {
    const { x, y } = scatter(700)
    expect(isDense(x, y, 700, SIGHT, false)).toBe(false)
    expect(isDense(x, y, 700, SIGHT, true)).toBe(true)
  })

  it('counts everybody once, draws all of them, and has few numbers', () => {
    const { x, y } = scatter(5_000)
    // One that the filters hide.
    x[7] = -8
    const { clusters, alone } = countCells(x, y, 5_000, WORLD_PX)
    expect(alone.every(one => one === 1)).toBe(true)
    const counted = clusters.flatMap(({ members }) => members)
    expect(new Set(counted).size).toBe(counted.length)
    expect(counted).not.toContain(7)
    expect(counted.length).toBeGreaterThan(4_500)
    expect(clusters.length).toBeLessThan(100)
    for (const { x: middle, members } of clusters) {
      const mean = members.reduce((sum, slot) => sum + (x[slot] as number), 0) / members.length
      expect(middle).toBeCloseTo(mean, 9)
    }
  })

  it('takes a click among many dots for none of them', () => {
    const data = Float32Array.from([10, 10, 12, 11, 14, 9, 16, 12, 300, 300])
    expect(isCrowd(data, 5, 2, 12, 10)).toBe(true)
    expect(isCrowd(data, 5, 2, 300, 301)).toBe(false)
  })
})

describe('A state', () => {
  const van = (subjectId: string, state: Position['state'], timestamp: string): Position => ({
    ...{ subjectId, subjectType: 'device', name: subjectId, lat: 52, lng: 13, speed: 0 },
    ...{ heading: null, accuracy: null, battery: null, state, timestamp },
  })
  const [early, later, last] = [
    '2026-11-21T10:00:00.000Z',
    '2026-11-21T10:05:00.000Z',
    '2026-11-21T10:09:00.000Z',
  ]

  it('has a beginning where the page has seen it, also after others have gone', () => {
    const fleet = createFleet()
    fleet.replace(pack([van('gone', 'moving', early), van('van', 'moving', early)]), 0)
    expect(fleet.stateSince('van')).toBeNaN()
    fleet.update(pack([van('van', 'idle', later)]), 1_000)
    fleet.update(pack([van('van', 'idle', last)]), 2_000)
    fleet.remove(['gone'])
    expect(fleet.stateSince('van')).toBe(Date.parse(later))
    fleet.update(pack([van('new', 'idle', last)]), 3_000)
    expect([fleet.stateSince('new'), fleet.stateSince('gone')]).toEqual([Number.NaN, Number.NaN])
  })
})
