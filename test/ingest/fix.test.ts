import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { setRetention } from '../../db/retention.ts'
import { readTimestamp, validateFix } from '../../ingest/fix.ts'
import { NoPoint } from '../../ingest/formats/format.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const good = { lat: 52.5, lng: 13.4, timestamp: '2026-11-21T11:59:00Z' }
const validate = (change: object) => validateFix({ ...good, ...change }, 7, NOW)
const reason = (change: object) => {
  const point = validate(change)
  return point instanceof NoPoint ? point.reason : 'accepted'
}

describe('A point is rejected', () => {
  it.each([
    ['bad-coordinates', { lat: 90.01 }],
    ['bad-coordinates', { lng: -180.01 }],
    ['bad-coordinates', { lat: '52.5' }],
    ['bad-coordinates', { lat: null }],
    ['bad-coordinates', { lat: Number.NaN }],
    ['no-fix', { lat: 0, lng: 0 }],
    ['no-fix', { lat: -0, lng: 1e-310 }],
    ['bad-timestamp', { timestamp: undefined }],
    ['bad-timestamp', { timestamp: '2026-02-30T00:00:00Z' }],
    ['bad-timestamp', { timestamp: '2026-11-21T11:59:00' }],
    ['bad-timestamp', { timestamp: '1795258740' }],
    ['too-old', { timestamp: '2025-11-20T11:00:00Z' }],
  ])('as %s: %j', (expected, change) => {
    expect(reason(change)).toBe(expected)
  })

  it('as too old, by RETENTION_DAYS', () => {
    const aged = (days: number) => ({ timestamp: NOW - days * 24 * 3600_000 })
    setRetention(10)
    try {
      expect(validate(aged(11))).toMatchObject({
        reason: 'too-old',
        message: 'timestamp is older than the history is kept, which is 10 days.',
      })
      expect(reason(aged(9))).toBe('accepted')
      setRetention(800)
      expect(reason(aged(799))).toBe('accepted')
    } finally {
      setRetention(365)
    }
  })

  it('as future, by the clock', () => {
    const aheadBy = (ms: number) => validateFix({ ...good, timestamp: Date.now() + ms }, 7, Date.now())
    // Servers of earlier files in this process may have seen stored times that are up to ten minutes ahead.
    expect(aheadBy(20 * 60_000 + 5_000)).toMatchObject({ reason: 'future' })
    expect(aheadBy(10 * 60_000 - 5_000)).toMatchObject({ kind: 'point' })
  })

  it.each([{ lat: 90 }, { lng: 180 }, { lng: -180 }, { lat: 0 }, { timestamp: '2026-11-21T12:09:59Z' }])(
    'but not at the edge: %j',
    change => expect(reason(change)).toBe('accepted'),
  )
})

describe('An optional value that makes no sense becomes null', () => {
  it.each([
    ['speed', -1, null],
    ['speed', 'NaN', null],
    ['speed', 1e39, null],
    ['speed', 1_001, null],
    ['speed', 1_000, 1_000],
    ['speed', 1e-50, 0],
    ['speed', 3.5, 3.5],
    ['heading', 511, null],
    ['heading', -0.5, null],
    ['heading', 360, 0],
    ['heading', 359.999_999_99, 0],
    ['battery', 140, null],
    ['battery', 0, 0],
    ['accuracy', -1, null],
    ['accuracy', 3e38, null],
    ['accuracy', 20_100_000, 20_100_000],
    ['altitude', -12.5, -12.5],
    ['altitude', -12_001, null],
    ['altitude', 100_001, null],
    ['attributes', [1], null],
    ['attributes', { a: '\0b\ud800' }, '{"a":"b�"}'],
  ])('%s %j is kept as %j', (key, value, expected) => {
    expect(validate({ [key]: value })).toMatchObject({ kind: 'point', [key]: expected })
  })

  it('attributes of more than 2 KiB among them', () => {
    expect(validate({ attributes: { text: 'x'.repeat(2037) } })).toMatchObject({
      attributes: expect.any(String),
    })
    expect(validate({ attributes: { text: 'x'.repeat(2038) } })).toMatchObject({ attributes: null })
  })

  it('and a payload cannot pass for a reason of rejection', () => {
    expect(validate({ reason: 'conflict', message: 'x' })).toMatchObject({ kind: 'point' })
  })
})

describe('A timestamp', () => {
  it.each([
    ['2026-11-21T11:59:00Z', '2026-11-21T11:59:00.000Z'],
    ['2026-11-21t11:59:00.123999z', '2026-11-21T11:59:00.123Z'],
    ['2026-11-21T13:59:00+02:00', '2026-11-21T11:59:00.000Z'],
    ['2026-11-21T06:29:00-05:30', '2026-11-21T11:59:00.000Z'],
    // A leap second counts as the first second of the next day.
    ['2016-12-31T23:59:60.5Z', '2017-01-01T00:00:00.500Z'],
    ['2017-01-01T05:29:60+05:30', '2017-01-01T00:00:00.000Z'],
    ['2016-12-31T18:59:60-05:00', '2017-01-01T00:00:00.000Z'],
    [1_795_262_340, '2026-11-21T11:59:00.000Z'],
    [1_795_262_340.123, '2026-11-21T11:59:00.123Z'],
    [1_795_262_340_123, '2026-11-21T11:59:00.123Z'],
    [1_795_262_340_123.9, '2026-11-21T11:59:00.123Z'],
  ])('%s is %s', (value, expected) => {
    expect(new Date(readTimestamp(value) as number).toISOString()).toBe(expected)
  })

  it.each([
    '2026-11-21T11:59:60Z',
    '2026-11-21T23:58:60Z',
    '2026-11-21T00:00:60Z',
    '2016-12-31T23:59:60+01:00',
    '2016-12-31T23:59:61Z',
  ])('%s is none: a leap second ends a day of UTC', value => {
    expect(readTimestamp(value)).toBeNull()
    expect(validate({ timestamp: value })).toMatchObject({ reason: 'bad-timestamp' })
  })

  it('in seconds with milliseconds is never cut by one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1.6e12, max: 1.9e12 }), ms => {
        expect(readTimestamp(ms / 1000)).toBe(ms)
      }),
      { numRuns: 2000 },
    )
  })
})
