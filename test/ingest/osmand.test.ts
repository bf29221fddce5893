import { describe, expect, it } from 'vitest'
import { decodeValues } from '../../ingest/decode.ts'
import { osmand } from '../../ingest/formats/osmand.ts'
import { parseQuery } from '../../src/http/plugins/strict-inputs.ts'
import type { Entry, Point } from '../../stream/point.ts'
import { expectPoint, queryOf, readPayloads } from '../support/payloads.ts'

const WHEN = '2026-11-21T10:00:00Z'

function read(message: unknown, when = WHEN): Entry[] {
  const values = osmand.values(message).map(value => ({ value, index: null }))
  return decodeValues(osmand, values, { subject: 1, receivedAt: Date.parse(when) + 1000, topic: null })
}
const readQuery = (query: string, when = WHEN) => read(parseQuery(query), when)

describe('A message of Traccar Client, OsmAnd or GPSLogger', () => {
  const recorded = readPayloads('osmand', 'gpslogger', 'traccar-client-json')
  it.each(recorded.filter(({ expect: [first] }) => first))('is read: $file', payload => {
    const [expected] = payload.expect as [(typeof payload.expect)[number]]
    const message = payload.file.endsWith('.json')
      ? JSON.parse(payload.bytes.toString())
      : parseQuery(queryOf(payload))
    const [point, ...more] = read(message, expected.ts) as Point[]
    expect(more).toEqual([])
    expect(point?.recordedAt).toBe(Date.parse(expected.ts))
    expectPoint(point as Point, expected)
  })

  it('has its speed in knots as speed, and in metres per second as s and in JSON', () => {
    const fix = `lat=52.5&lon=13.4&timestamp=${WHEN}`
    expect(readQuery(`${fix}&speed=10`)).toMatchObject([{ speed: expect.closeTo(5.1444, 4) }])
    expect(readQuery(`${fix}&s=10`)).toMatchObject([{ speed: 10 }])
    expect(readQuery(`${fix}&spd=10`)).toMatchObject([{ speed: 10 }])
    const coords = { latitude: 52.5, longitude: 13.4, speed: 10, heading: -1, accuracy: 5 }
    expect(read({ location: { timestamp: WHEN, coords, battery: { level: 0.5 } } })).toMatchObject([
      { speed: 10, heading: null, accuracy: 5, battery: 50 },
    ])
  })

  it('has every spelling of a field, and keeps the others as attributes', () => {
    const at = Date.parse(WHEN)
    for (const query of [
      `lat=52.5&lon=13.4&timestamp=${at}&bearing=90&altitude=34&accuracy=5&batt=67&id=1&hdop=0.9&sat=12`,
      `lat=52.5&lon=13.4&time=${WHEN}&dir=90&alt=34&acc=5&batt=67&u=1&hdop=0.9&sat=12`,
      `location=52.5,13.4&timestamp=${at / 1000}&heading=90&alt=34&acc=5&batt=67&hdop=0.9&sat=12`,
      // The plus sign of the offset is not escaped.
      'lat=52.5&lon=13.4&time=2026-11-21T12:00:00+02:00&dir=90&alt=34&acc=5&batt=67&hdop=0.9&sat=12',
    ]) {
      const [point] = readQuery(query) as Point[]
      expect(point, query).toMatchObject({
        ...{ recordedAt: at, lat: 52.5, lng: 13.4 },
        ...{ heading: 90, altitude: 34, accuracy: 5, battery: 67 },
      })
      expect(JSON.parse(point?.attributes ?? '')).toEqual({ hdop: '0.9', sat: '12' })
    }
    const location = {
      timestamp: WHEN,
      coords: { latitude: 1, longitude: 2 },
      ...{
        is_moving: true,
        event: 'motionchange',
        uuid: 'x',
        activity: { type: 'still' },
        extras: { shift: 7 },
      },
    }
    const [point] = read({ location: [location], device_id: '1' }) as Point[]
    expect(JSON.parse(point?.attributes ?? '')).toEqual({
      ...{ is_moving: true, event: 'motionchange', activity: 'still', shift: 7 },
    })
  })

  it('stands at any of the names of a position, as in the address that GPSLogger begins with', () => {
    for (const query of [
      'lat=5.75641094&longitude=7.56704068&time=2026-11-21T10:00:00.000Z&s=3.18',
      'latitude=5.75641094&longitude=7.56704068&time=2026-11-21T10:00:00.000Z&s=3.18',
      'lat=5.75641094&lng=7.56704068&time=2026-11-21T10:00:00.000Z&s=3.18',
    ]) {
      const [point] = readQuery(query) as Point[]
      expect(point, query).toMatchObject({
        ...{ lat: 5.75641094, lng: 7.56704068, speed: expect.closeTo(3.18, 4) },
        ...{ recordedAt: Date.parse(WHEN), attributes: null },
      })
    }
  })

  it('without a position is a heartbeat, with an identifier or without one, unless a position was meant', () => {
    for (const heartbeat of [
      {},
      { location: { timestamp: WHEN } },
      { location: { event: 'heartbeat', coords: null } },
      { device_id: '1' },
      { device_id: '1', location: null },
      { device_id: '1', location: [] },
      { device_id: '1', location: { timestamp: WHEN, event: 'heartbeat', battery: { level: 1 } } },
      { device_id: '1', location: { timestamp: WHEN, coords: null, extras: { heartbeat: true } } },
    ])
      expect(read(heartbeat), JSON.stringify(heartbeat)).toEqual([])
    for (const query of [
      '',
      'id=1',
      `deviceid=1&timestamp=${WHEN}&batt=67&charge=true`,
      'batt=67',
      'is_moving=true',
    ])
      expect(readQuery(query), query).toEqual([])
    for (const query of [
      `id=1&latt=1&lonn=2&timestamp=${WHEN}`,
      `id=1&lat=1&timestamp=${WHEN}`,
      `id=1&location=`,
      // No field is known here, so the sender has to get an error.
      'breite=1&laenge=2&zeit=3',
    ])
      expect(readQuery(query), query).toMatchObject([{ reason: 'bad-coordinates' }])
    expect(read({ device_id: '1', location: { timestamp: WHEN, coords: {} } })).toMatchObject([
      { reason: 'bad-coordinates' },
    ])
  })

  it('is rejected with a reason if it has no point, also if it has only cells and networks', () => {
    expect(readQuery(queryOf(readPayloads('osmand')[0] as never))).toEqual([])
    expect(readQuery(`lat=1&lat=2&lon=3&timestamp=${WHEN}`)).toMatchObject([{ reason: 'bad-coordinates' }])
    expect(readQuery('lat=1&lon=2')).toMatchObject([{ reason: 'bad-timestamp' }])
    expect(readQuery(`lat=1&lon=2&timestamp=${WHEN}&valid=false`)).toMatchObject([{ reason: 'no-fix' }])
    expect(read({ location: { timestamp: WHEN, coords: 1 } })).toMatchObject([{ reason: 'bad-shape' }])
    expect(read('x')).toMatchObject([{ reason: 'bad-shape' }])
  })
  it('with a decimal comma is rejected by that name, and moved nowhere', () => {
    const comma = { reason: 'bad-coordinates', message: expect.stringContaining('decimal point') }
    for (const place of ['lat=52,5&lon=13,4', 'lat=52.5&lon=13,4', 'location=52,5,13,4', 'location=52,13,4'])
      expect(readQuery(`${place}&timestamp=${WHEN}`), place).toMatchObject([comma])
    // A wrong optional value does not make the point wrong.
    expect(readQuery(`lat=52.5&lon=13.4&timestamp=${WHEN}&s=3,5`)).toMatchObject([{ lat: 52.5, speed: null }])
  })

  it('has no field that its reader takes and the document leaves out', () => {
    const fix = `lat=52.5&lon=13.4&timestamp=${WHEN}`
    for (const { names } of osmand.http.fields) {
      for (const name of names) {
        // A known field becomes a value of the point, or nothing; others become attributes.
        const [entry] = read({ ...parseQuery(fix), [name]: '1' })
        expect((entry as Point).attributes ?? null, name).toBeNull()
      }
    }
    const [entry] = readQuery(`${fix}&unlisted=1`) as Point[]
    expect(entry?.attributes).toBe('{"unlisted":"1"}')
  })
})
