import fc from 'fast-check'
import { expect, it } from 'vitest'
import { findTimeZone } from '../../src/calendar/time-zones.ts'

const name = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
const between = (from: string, to: string) =>
  fc.integer({ min: Date.parse(from) / 1000, max: Date.parse(to) / 1000 }).map(seconds => seconds * 1000)

it('Every time zone shows what its clocks do, in any year that they have been kept', () => {
  fc.assert(
    fc.property(name, between('1901-01-01T00:00Z', '2200-01-01T00:00Z'), (timeZone, at) => {
      const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
      const zone = findTimeZone(timeZone)
      const shown = new Date(zone.toLocal(at)).toISOString().slice(0, 19).replace('T', ' ')
      expect(shown).toBe(format.format(at))
      // A time that the clocks show twice is the first of both.
      const back = zone.toInstant(zone.toLocal(at))
      expect(back).toBeLessThanOrEqual(at)
      expect(zone.toLocal(back)).toBe(zone.toLocal(at))
    }),
    { numRuns: 500 },
  )
})

it('A time before there were time zones is found again, and one after all of them', () => {
  fc.assert(
    fc.property(name, between('-000010-01-01T00:00Z', '+010001-01-01T00:00Z'), (timeZone, at) => {
      const zone = findTimeZone(timeZone)
      expect(zone.toLocal(zone.toInstant(zone.toLocal(at)))).toBe(zone.toLocal(at))
      expect(Math.abs(zone.offsetAt(at))).toBeLessThan(17 * 3_600_000)
    }),
  )
})
