import { describe, expect, it } from 'vitest'
import { validateFix } from '../../ingest/fix.ts'
import { NoPoint } from '../../ingest/formats/format.ts'
import { matches } from '../../ingest/mqtt/topics.ts'
import type { ProfileReader, TrackerMessage } from '../../ingest/profiles/profile.ts'
import { profileReader } from '../../ingest/profiles/readers.ts'
import type { Point } from '../../stream/point.ts'
import {
  type ExpectedPosition,
  readOwnProfiles,
  readTrackerPayloads,
  type TrackerPayload,
} from '../support/trackers.ts'

const own = readOwnProfiles()
const payloads = readTrackerPayloads()
/** Its values come on a topic each. */
const isWhole = ({ family }: TrackerPayload) => !family.startsWith('ovms')
const isRejected = ({ why }: TrackerPayload) => /rejected as/.test(why ?? '')

const readerOf = ({ profile, family }: TrackerPayload) =>
  profileReader(profile ?? (own[family] as NonNullable<(typeof own)[string]>)) as ProfileReader

/** Reads a message as long after its newest fix as a tracker needs to send it: some are older than the history is kept. */
function read(reader: ProfileReader, message: TrackerMessage, expected: readonly ExpectedPosition[]) {
  const times = expected.flatMap(({ ts }) => (ts ? Date.parse(ts) : []))
  const receivedAt = times.length > 0 ? Math.max(...times) + 1000 : Date.now()
  const { positions, ...rest } = reader.read(message, receivedAt)
  const points = positions.map(({ fix, reference }) => ({
    reference,
    point: fix instanceof NoPoint ? fix : validateFix(fix, 1, receivedAt),
  }))
  return { ...rest, points, receivedAt }
}

const near = (value: number | null) => (value === null ? null : expect.closeTo(value, 2))

describe('A tracker’s message', () => {
  it.each(payloads.filter(one => isWhole(one) && one.expect.length > 0))('is read: $file', payload => {
    const { points, skipped, unreadable, receivedAt } = read(
      readerOf(payload),
      payload.message,
      payload.expect,
    )
    expect([skipped, unreadable]).toEqual([null, null])
    expect(points).toHaveLength(payload.expect.length)
    for (const [index, one] of payload.expect.entries()) {
      const { reference, point } = points[index] as { reference: string; point: Point }
      expect(reference).toBe(one.device)
      expect(point).toMatchObject({
        kind: 'point',
        recordedAt: one.ts ? Date.parse(one.ts) : receivedAt,
        lat: expect.closeTo(one.lat, 9),
        lng: expect.closeTo(one.lng, 9),
        speed: near(one.speed_mps),
        heading: near(one.heading),
        altitude: near(one.altitude_m),
        accuracy: near(one.accuracy_m),
        battery: near(one.battery_pct),
      })
    }
  })

  it.each(payloads.filter(one => isWhole(one) && one.expect.length === 0 && !isRejected(one)))(
    'without a position is no rejection: $file ($why)',
    payload => {
      const { points, skipped, unreadable } = read(readerOf(payload), payload.message, [])
      expect(points).toEqual([])
      // The one text of the manifest that should be JSON and is not.
      if (/invalid JSON/.test(payload.why ?? '')) expect(unreadable?.reason).toBe('not-json')
      else expect([typeof skipped, unreadable]).toEqual(['string', null])
    },
  )

  it('of a clock that was never set is rejected as too old', () => {
    const [payload] = payloads.filter(isRejected)
    const { points } = read(readerOf(payload as TrackerPayload), (payload as TrackerPayload).message, [])
    expect(points).toMatchObject([{ reference: '352093081452251', point: { reason: 'too-old' } }])
  })

  it.each(payloads.filter(({ message, profile }) => message.topic !== null && profile))(
    'comes on a topic that its profile takes: $file',
    payload => {
      expect(matches(readerOf(payload).topic, payload.message.topic ?? '')).toBe(true)
    },
  )
})
