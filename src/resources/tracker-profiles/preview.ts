import { validateFix } from '../../../ingest/fix.ts'
import { NoPoint } from '../../../ingest/formats/format.ts'
import type { ProfileReader, TrackerMessage } from '../../../ingest/profiles/profile.ts'
import { readMessage } from '../../../ingest/profiles/read-message.ts'
import type { Point } from '../../../stream/point.ts'

/** A message as a request gives it. */
interface GivenMessage {
  topic: string | null
  payload: unknown
  clientId: string | null
  query: { [name: string]: unknown } | null
}

/** A text is taken as its bytes, anything else as JSON. Without a topic the message came over HTTP. */
export function toMessage({ topic, payload, clientId, query }: GivenMessage): TrackerMessage {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const isQueryAlone = payload === null && query !== null
  return {
    payload: isQueryAlone ? new Uint8Array() : Buffer.from(text),
    topic,
    clientId,
    username: null,
    query: topic === null ? (query ?? {}) : query,
  }
}

/** Previews the points and rejections that a profile reads from a message. */
export function previewMessage(reader: ProfileReader, given: GivenMessage, receivedAt: number) {
  const { reference, positions, skipped, unreadable } = readMessage(reader, toMessage(given), receivedAt)
  const read = positions.map(({ fix, reference }) => ({
    reference,
    point: fix instanceof NoPoint ? fix : validateFix(fix, 0, receivedAt),
  }))
  return {
    device: reference,
    points: read.flatMap(({ reference, point }) =>
      point instanceof NoPoint ? [] : [showPoint(point, reference)],
    ),
    rejected: [
      ...(unreadable ? [unreadable] : []),
      ...read.flatMap(({ point }) => (point instanceof NoPoint ? point : [])),
    ].map(({ reason, message }) => ({ reason, message })),
    skipped,
  }
}

const showPoint = (
  { recordedAt, lat, lng, speed, heading, accuracy, altitude, battery, attributes }: Point,
  device: string | null,
) => ({
  lat,
  lng,
  timestamp: new Date(recordedAt),
  ...{ speed, heading, accuracy, altitude, battery },
  attributes: attributes === null ? null : JSON.parse(attributes),
  device,
})
