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

it.each([
  ['America/Recife', '2000-10-10T12:00Z'],
  ['Asia/Gaza', '2040-10-23T12:00Z'],
  ['Asia/Hebron', '2054-03-28T00:00Z'],
  ['Africa/Tunis', '1943-04-20T12:00Z'],
])('%s shows the offset that it has for some days only, around %s', (timeZone, middle) => {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  const zone = findTimeZone(timeZone)
  for (let hours = -480; hours <= 480; hours++) {
    const at = Date.parse(middle) + hours * 3_600_000
    expect(new Date(zone.toLocal(at)).toISOString().slice(0, 19).replace('T', ' ')).toBe(format.format(at))
  }
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
