import { describe, expect, it } from 'vitest'
import type { JudgedFix } from '../../db/queries/geofence-spans.ts'
import { followBorder } from '../../src/resources/geofence-events/stays.ts'
import { createFenceMap } from '../../stream/fences/fence-map.ts'
import { createChance, METRE, readJitter } from '../support/receiver-noise.ts'

const STEP_S = 10
const RADIUS_M = 500
const DWELL_S = 120
const SPIKE_M = 200
/** Of a hundred fixes. */
const SPIKES = 1

const chance = createChance(20_261_128)
const jitter = readJitter()
const gauss = () => Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance())

/** What a receiver reports while it moves along these distances from the middle, one every ten seconds. */
function receive(distances: readonly number[]): JudgedFix[] {
  const direction = 2 * Math.PI * chance()
  const begin = Math.floor(chance() * jitter.length)
  let [driftEast, driftNorth] = [0, 0]
  return distances.map((distance, index): JudgedFix => {
    const [strayEast, strayNorth] = jitter[(begin + index) % jitter.length] as (typeof jitter)[number]
    driftEast = 0.9 * driftEast + 1.3 * gauss()
    driftNorth = 0.9 * driftNorth + 1.3 * gauss()
    // A history that began with a stray fix would tell the way back from there.
    const isSpike = chance() < SPIKES / 100 && index > 0
    const spike = isSpike ? 2 * Math.PI * chance() : null
    const east = distance * Math.cos(direction) + driftEast + strayEast
    const north = distance * Math.sin(direction) + driftNorth + strayNorth
    const at = (index + 1) * STEP_S * 1000
    return {
      at,
      receivedAt: at,
      lng: (east + (spike === null ? 0 : SPIKE_M * Math.cos(spike))) * METRE,
      lat: (north + (spike === null ? 0 : SPIKE_M * Math.sin(spike))) * METRE,
      accuracy: spike === null ? 4 + 8 * chance() : chance() < 0.5 ? null : 100 + 200 * chance(),
    }
  })
}

const shape = { type: 'circle' as const, center: { lat: 0, lng: 0 }, radius: RADIUS_M }

function judge(fixes: readonly JudgedFix[], { dwellSeconds = 0, marginMeters = 0 }) {
  const map = createFenceMap([{ shape, marginMeters }])
  const zones = fixes.map(fix => map.zoneOf(0, fix, map.locate(fix.lat, fix.lng).length > 0))
  const whole = { before: -1, last: fixes.length - 1, dwellMs: dwellSeconds * 1000, isBeginning: true }
  return followBorder(
    fixes.map(({ at }) => at),
    index => zones[index] as (typeof zones)[number],
    whole,
  ).crossings
}

describe('A geofence with a dwell of 120 s and a margin of 30 m', () => {
  const rules = { dwellSeconds: DWELL_S, marginMeters: 30 }

  it('tells no crossing in 1,000 hours of standing beside and inside its border, however the receiver strays', () => {
    expect(jitter.length).toBeGreaterThan(300)
    let [told, flaps] = [0, 0]
    for (let hour = 0; hour < 1_000; hour++) {
      // 10 to 60 m from the border, on either side. Nearer, hardly any fix decides, and two stray ones can look like a stay.
      const beside = (10 + 50 * chance()) * (hour % 2 === 0 ? 1 : -1)
      const fixes = receive(Array.from({ length: 3_600 / STEP_S }, () => RADIUS_M + beside))
      told += judge(fixes, rules).length
      flaps += judge(
        fixes.map(fix => ({ ...fix, accuracy: null })),
        {},
      ).length
    }
    expect(told).toBe(0)
    // Without all that there are thousands.
    expect(flaps).toBeGreaterThan(2_000)
  })

  it('tells of 1,000 true crossings at least 99 % within a fix after the dwell', () => {
    let inTime = 0
    for (let n = 0; n < 1_000; n++) {
      const speedMps = 1.4 + 12 * chance()
      const isEntering = n % 2 === 0
      const distances = Array.from({ length: 90 }, (_, step) => {
        const gone = Math.min(600, step * STEP_S * speedMps)
        return isEntering ? RADIUS_M + 300 - gone : RADIUS_M - 300 + gone
      })
      const fixes = receive(distances)
      const crossings = judge(fixes, rules)
      // The first fix that is truly on the other side, and surely so.
      const first = fixes.findIndex(({ accuracy }, index) => {
        const beyond = ((distances[index] as number) - RADIUS_M) * (isEntering ? -1 : 1)
        return beyond > 0 && accuracy !== null && accuracy < beyond
      })
      const [only, ...more] = crossings
      const due = first + DWELL_S / STEP_S
      if (only && more.length === 0 && only.isInside === isEntering && only.told <= due + 1) inTime++
    }
    expect(inTime).toBeGreaterThanOrEqual(990)
  })
})
