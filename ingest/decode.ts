import type { Entry, Rejection } from '../stream/point.ts'
import { cleanText, toJson, validateFix } from './fix.ts'
import { type Format, NoPoint, type RawFix } from './formats/format.ts'

const PAYLOAD_CHARACTERS = 1024
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** Where a message came from and when. */
export interface Arrival {
  subject: number
  receivedAt: number
  topic: string | null
}

/** A message is decoded in one turn of the event loop: 1,000 points of 250 bytes are a packet, and take 5 ms. */
export const MAX_POINTS = 1000

/**
 * Decodes a payload of JSON: its points, and the reasons of those that are none, in the order in which they were sent.
 * Whatever the format, a message with too many is one rejection.
 */
export function decode(format: Format, payload: Uint8Array, arrival: Arrival): Entry[] {
  if (payload.length === 0 && format.sendsEmpty) return []
  const parsed = parseJson(payload)
  if (parsed instanceof NoPoint) return [reject(parsed, arrival, null, decodeLoosely(payload))]
  const values = format.values(parsed.value)
  if (values.length > MAX_POINTS) {
    const message = `A message holds at most ${MAX_POINTS} points, this one has ${values.length}.`
    return [reject(new NoPoint('too-many', message), arrival, null, decodeLoosely(payload))]
  }
  const isList = Array.isArray(parsed.value)
  const entries: Entry[] = []
  for (const [index, value] of values.entries()) {
    const read = format.read(value)
    if (read) entries.push(validate(value, read, arrival, isList ? index : null))
  }
  return entries
}

/** The point that a format has read of `value`, or why it is none. */
export function validate(
  value: unknown,
  read: RawFix | NoPoint,
  arrival: Arrival,
  index: number | null,
): Entry {
  const point = read instanceof NoPoint ? read : validateFix(read, arrival.subject, arrival.receivedAt)
  return point instanceof NoPoint ? reject(point, arrival, index, toJson(value) ?? '') : point
}

function reject(why: NoPoint, arrival: Arrival, index: number | null, payload: string): Rejection {
  return {
    kind: 'rejection',
    subject: arrival.subject,
    receivedAt: arrival.receivedAt,
    reason: why.reason,
    message: why.message,
    index,
    topic: arrival.topic,
    payload: cleanText(payload.slice(0, PAYLOAD_CHARACTERS)),
  }
}

function parseJson(payload: Uint8Array): { value: unknown } | NoPoint {
  try {
    return { value: JSON.parse(utf8.decode(payload)) as unknown }
  } catch {
    return new NoPoint('not-json', 'The payload is not JSON in UTF-8.')
  }
}

function decodeLoosely(payload: Uint8Array): string {
  return Buffer.from(
    payload.buffer,
    payload.byteOffset,
    Math.min(payload.length, PAYLOAD_CHARACTERS * 4),
  ).toString('utf8')
}
