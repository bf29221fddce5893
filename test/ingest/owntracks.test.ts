import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decode } from '../../ingest/decode.ts'
import { FORMATS } from '../../ingest/formats/table.ts'
import type { Entry, Point } from '../../stream/point.ts'

const FOLDER = resolve(import.meta.dirname, '../data/payloads')

interface Expected {
  ts: string
  lat: number
  lon: number
  speed_mps: number | null
  heading: number | null
  altitude_m: number | null
  accuracy_m: number | null
  battery_pct: number | null
}

const manifest: { file: string; format: string; expect: Expected[] }[] = JSON.parse(
  readFileSync(resolve(FOLDER, 'manifest.json'), 'utf8'),
)

/** As long after the payload as it takes a phone to send it: the payloads are older than the history is kept. */
function readAt(payload: Buffer, when: number): Entry[] {
  return decode(FORMATS.owntracks, payload, {
    subject: 1,
    receivedAt: when + 1000,
    topic: 'owntracks/jane/phone',
  })
}

describe('What OwnTracks sends', () => {
  it.each(
    manifest.filter(({ file, format }) => format === 'owntracks' && file !== 'owntracks/encrypted.json'),
  )('is read: $file', ({ file, expect: expected }) => {
    const raw = readFileSync(resolve(FOLDER, file))
    const payload = file.endsWith('.http') ? Buffer.alloc(0) : raw
    const when = expected[0] ? Date.parse(expected[0].ts) : Date.now()
    const points = readAt(payload, when) as Point[]
    expect(points).toHaveLength(expected.length)
    for (const [index, one] of expected.entries()) {
      const point = points[index] as Point
      expect(point).toMatchObject({
        kind: 'point',
        recordedAt: Date.parse(one.ts),
        lat: one.lat,
        lng: one.lon,
      })
      expect(point.speed ?? 0).toBeCloseTo(one.speed_mps ?? 0, 2)
      expect([point.speed === null, point.heading, point.altitude, point.accuracy, point.battery]).toEqual([
        one.speed_mps === null,
        one.heading,
        one.altitude_m,
        one.accuracy_m,
        one.battery_pct,
      ])
    }
  })

  it('encrypted is rejected as encrypted', () => {
    const payload = readFileSync(resolve(FOLDER, 'owntracks/encrypted.json'))
    expect(readAt(payload, Date.now())).toMatchObject([{ kind: 'rejection', reason: 'encrypted' }])
  })
})
