import { describe, expect, test } from 'vitest'
import { createReceiver, hasNetwork, type Reading } from '../../src/streets/receiver.ts'
import { distanceM, type Place } from '../../src/streets/track.ts'

const PLACE: Place = { lat: 37.77, lng: -122.43, speed: 10, heading: 90, isParked: false, isTunnel: false }
const SECONDS = Array.from({ length: 2_000 }, (_, second) => second * 1_000)

describe('a tracker', () => {
  const receive = createReceiver(3)
  const readings = SECONDS.map(now => receive(PLACE, now) as Reading)

  test('is a few metres off, and drifts instead of jumping', () => {
    const errors = readings.map(reading => distanceM(reading, PLACE))
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
    expect(mean).toBeGreaterThan(0.5)
    expect(mean).toBeLessThan(6)
    const steps = readings.slice(1).map((reading, index) => distanceM(reading, readings[index] as Reading))
    expect(steps.filter(metres => metres < 3).length).toBeGreaterThan(0.98 * steps.length)
  })

  test('records nothing in a tunnel', () => {
    expect(receive({ ...PLACE, isTunnel: true }, 3e6)).toBeNull()
    expect(receive(PLACE, 3e6 + 1_000)).not.toBeNull()
  })

  test('says that the engine is off where the driver has left the vehicle', () => {
    const parked = receive({ ...PLACE, speed: 0, isParked: true }, 4e6)
    expect(parked).toMatchObject({ speed: 0, heading: 90, attributes: { ignition: false } })
    expect(receive(PLACE, 4e6)).toMatchObject({ attributes: { ignition: true } })
  })

  test('has a battery that lasts for a working day', () => {
    const levels = Array.from({ length: 10 }, (_, hour) => receive(PLACE, hour * 3_600_000)?.battery)
    expect(Math.max(...(levels as number[]))).toBeGreaterThan(80)
    expect(Math.min(...(levels as number[]))).toBeLessThan(40)
  })

  test('is now and then without network, but not with the others at once', () => {
    const missing = (vehicle: number) =>
      SECONDS.filter(now => !hasNetwork(vehicle, now)).length / SECONDS.length
    expect(missing(0)).toBeGreaterThan(0)
    expect(missing(0)).toBeLessThan(0.1)
    const together = SECONDS.map(now =>
      Array.from({ length: 20 }, (_, one) => one).filter(one => !hasNetwork(one, now)),
    )
    expect(Math.max(...together.map(({ length }) => length))).toBeLessThan(4)
  })
})
