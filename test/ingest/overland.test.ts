import { describe, expect, it } from 'vitest'
import { decode } from '../../ingest/decode.ts'
import { FORMATS } from '../../ingest/formats/table.ts'
import type { Point } from '../../stream/point.ts'
import { expectPoint, readPayloads } from '../support/payloads.ts'

const WHEN = '2026-11-21T10:00:00Z'
const readAt = (payload: Buffer | string, when: string) =>
  decode(FORMATS.overland, Buffer.from(payload), {
    subject: 1,
    receivedAt: Date.parse(when) + 1000,
    topic: null,
  })

const feature = (properties: object) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [13.405, 52.52] },
  properties: { timestamp: WHEN, ...properties },
})
const read = (...locations: unknown[]) => readAt(JSON.stringify({ locations }), WHEN)

describe('A message of Overland', () => {
  it.each(readPayloads('overland'))('is read: $file', ({ bytes, expect: [expected] }) => {
    if (!expected) throw new Error('It holds a position')
    const [point, ...more] = readAt(bytes, expected.ts) as Point[]
    expect(more).toEqual([])
    expect(point?.recordedAt).toBe(Date.parse(expected.ts))
    expectPoint(point as Point, expected)
    expect(JSON.parse(point?.attributes ?? '')).toMatchObject({
      motion: ['driving', 'stationary'],
      battery_state: 'charging',
    })
  })

  it('is in metres per second, degrees and fractions of a full battery, and -1 if it is unknown', () => {
    const [known, unknown] = read(
      feature({ speed: 12.5, course: 271, battery_level: 0.57, altitude: 34, horizontal_accuracy: 5 }),
      feature({ speed: -1, course: -1, battery_level: -1, altitude: 34, horizontal_accuracy: -1 }),
    )
    expect(known).toMatchObject({ speed: 12.5, heading: 271, battery: 57, altitude: 34, accuracy: 5 })
    expect(unknown).toMatchObject({ speed: null, heading: null, battery: null, altitude: 34, accuracy: null })
  })

  it('of trips, visits and actions, and of the current position, is nothing, and no fault', () => {
    const message = {
      locations: [feature({ type: 'trip' }), feature({ action: 'visit' }), feature({})],
      current: feature({}),
      trip: { start_location: feature({}) },
    }
    expect(readAt(JSON.stringify(message), WHEN)).toMatchObject([{ kind: 'point' }])
    expect(read()).toEqual([])
  })

  it('that is wrong is rejected with its place, and spoils no other', () => {
    expect(read(feature({ timestamp: 'soon' }), feature({}), 'x', { properties: {} })).toMatchObject([
      { reason: 'bad-timestamp', index: 0 },
      { kind: 'point' },
      { reason: 'bad-shape', index: 2 },
      { reason: 'bad-coordinates', index: 3 },
    ])
    expect(readAt('{"locations":{}}', WHEN)).toMatchObject([{ reason: 'bad-shape', index: null }])
  })
})
