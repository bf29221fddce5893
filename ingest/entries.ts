import type { Entry, Rejection } from '../stream/point.ts'
import { cleanText, judgeFix, type RawFix, Refusal, toJson } from './fix.ts'
import { MOST_POINTS, readNative } from './formats/native.ts'
import { readOwnTracks } from './formats/owntracks.ts'

const PAYLOAD_CHARACTERS = 1024
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** Where a message came from and when. */
export interface Arrival {
  subject: number
  receivedAt: number
  topic: string | null
}

/** The points of a native message and the reasons of those that are none, in the order in which they were sent. */
export function readNativeMessage(payload: Uint8Array, arrival: Arrival): Entry[] {
  const parsed = parseJson(payload)
  if (parsed instanceof Refusal) return [reject(parsed, arrival, null, decodeLoosely(payload))]
  if (!Array.isArray(parsed.value)) return [toEntry(parsed.value, readNative(parsed.value), arrival, null)]
  if (parsed.value.length > MOST_POINTS) {
    const message = `A message holds at most ${MOST_POINTS} points, this one has ${parsed.value.length}.`
    return [reject(new Refusal('too-many', message), arrival, null, decodeLoosely(payload))]
  }
  return parsed.value.map((value, index) => toEntry(value, readNative(value), arrival, index))
}

/** The point of an OwnTracks message, or why it is none; nothing for messages that hold no position. */
export function readOwnTracksMessage(payload: Uint8Array, arrival: Arrival): Entry[] {
  // An empty message is legal: it clears what the broker retained.
  if (payload.length === 0) return []
  const parsed = parseJson(payload)
  if (parsed instanceof Refusal) return [reject(parsed, arrival, null, decodeLoosely(payload))]
  const values = Array.isArray(parsed.value) ? parsed.value : [parsed.value]
  return values.flatMap((value, index) => {
    const read = readOwnTracks(value)
    return read ? [toEntry(value, read, arrival, values.length > 1 ? index : null)] : []
  })
}

/** Judges what a format has read of `value`. */
export function toEntry(
  value: unknown,
  read: RawFix | Refusal,
  arrival: Arrival,
  index: number | null,
): Entry {
  const judged = read instanceof Refusal ? read : judgeFix(read, arrival.subject, arrival.receivedAt)
  return judged instanceof Refusal ? reject(judged, arrival, index, toJson(value) ?? '') : judged
}

function reject(refusal: Refusal, arrival: Arrival, index: number | null, payload: string): Rejection {
  return {
    kind: 'rejection',
    subject: arrival.subject,
    receivedAt: arrival.receivedAt,
    reason: refusal.reason,
    message: refusal.message,
    index,
    topic: arrival.topic,
    payload: cleanText(payload.slice(0, PAYLOAD_CHARACTERS)),
  }
}

function parseJson(payload: Uint8Array): { value: unknown } | Refusal {
  try {
    return { value: JSON.parse(utf8.decode(payload)) as unknown }
  } catch {
    return new Refusal('not-json', 'The payload is not JSON in UTF-8.')
  }
}

function decodeLoosely(payload: Uint8Array): string {
  return Buffer.from(
    payload.buffer,
    payload.byteOffset,
    Math.min(payload.length, PAYLOAD_CHARACTERS * 4),
  ).toString('utf8')
}
