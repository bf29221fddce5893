import { describe, expect, it } from 'vitest'
import { decode } from '../../ingest/decode.ts'
import { FORMATS } from '../../ingest/formats/table.ts'
import type { Entry, Point } from '../../stream/point.ts'
import { expectPoint, readPayloads } from '../support/payloads.ts'

/** Reads the payloads as if a phone had just sent them: they are older than the history is kept. */
function readAt(payload: Buffer, when: number): Entry[] {
  return decode(FORMATS.owntracks, payload, {
    subject: 1,
    receivedAt: when + 1000,
    topic: 'owntracks/jane/phone',
  })
}

const encrypted = ({ file }: { file: string }) => file === 'owntracks/encrypted.json'
const payloads = readPayloads('owntracks')

describe('A message of OwnTracks', () => {
  it.each(payloads.filter(one => !encrypted(one)))('is read: $file', ({ bytes, expect: expected }) => {
    const when = expected[0] ? Date.parse(expected[0].ts) : Date.now()
    const points = readAt(bytes, when) as Point[]
    expect(points).toHaveLength(expected.length)
    for (const [index, one] of expected.entries()) {
      const point = points[index] as Point
      expect(point).toMatchObject({ kind: 'point', recordedAt: Date.parse(one.ts) })
      expectPoint(point, one)
    }
  })

  it('encrypted is rejected as encrypted', () => {
    const payload = payloads.find(encrypted)?.bytes as Buffer
    expect(readAt(payload, Date.now())).toMatchObject([{ kind: 'rejection', reason: 'encrypted' }])
  })

  it('beside the position is kept as attributes', () => {
    const message = {
      _type: 'location',
      tst: 1763722800,
      lat: 1,
      lon: 2,
      tid: 'AJ',
      conn: 'w',
      SSID: 'Depot',
      x: 1,
    }
    const [point] = readAt(Buffer.from(JSON.stringify(message)), 1763722800000) as Point[]
    expect(JSON.parse(point?.attributes ?? '')).toEqual({ tid: 'AJ', conn: 'w', SSID: 'Depot' })
  })

  it.each([
    ...['transition', 'waypoint', 'waypoints', 'lwt', 'status', 'card', 'cmd', 'steps', 'beacon', 'dump'],
    ...['request', 'configuration', 'whatever comes next'],
  ])('without a position of its own is nothing, and no fault: %s', type => {
    const message = JSON.stringify({ _type: type, tst: 1763722800, lat: 1, lon: 2 })
    expect(readAt(Buffer.from(message), 1763722800000)).toEqual([])
  })
})
