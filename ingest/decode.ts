import type { Entry, Rejection } from '../stream/point.ts'
import { cleanText, judgeFix, type RawFix, Refusal, toJson } from './fix.ts'
import { readNative } from './formats/native.ts'
import { readOwnTracks } from './formats/owntracks.ts'

const PAYLOAD_CHARACTERS = 1024
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** Where a message came from and when. */
export interface Arrival {
  subject: number
  receivedAt: number
  topic: string | null
}

/** How each format reads one value of a message: a fix, why it is none, or null for what holds no position. */
const READERS = { native: readNative, owntracks: readOwnTracks } as const
export type Format = keyof typeof READERS

/** A message is read in one turn of the event loop: 1,000 points of 250 bytes are a packet, and take 5 ms. */
export const MAX_POINTS = 1000

/**
 * The points of a message and the reasons of those that are none, in the order in which they were sent. Whatever the
 * format, a message is one value or an array of them, and one with too many is one rejection.
 */
export function readMessage(format: Format, payload: Uint8Array, arrival: Arrival): Entry[] {
  // OwnTracks clears with an empty message what a broker has retained.
  if (payload.length === 0 && format === 'owntracks') return []
  const parsed = parseJson(payload)
  if (parsed instanceof Refusal) return [reject(parsed, arrival, null, decodeLoosely(payload))]
  const values: unknown[] = Array.isArray(parsed.value) ? parsed.value : [parsed.value]
  if (values.length > MAX_POINTS) {
    const message = `A message holds at most ${MAX_POINTS} points, this one has ${values.length}.`
    return [reject(new Refusal('too-many', message), arrival, null, decodeLoosely(payload))]
  }
  const isList = values === parsed.value
  const entries: Entry[] = []
  for (const [index, value] of values.entries()) {
    const read = READERS[format](value)
    if (read) entries.push(toEntry(value, read, arrival, isList ? index : null))
  }
  return entries
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
