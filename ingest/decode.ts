import { isUtf8 } from 'node:buffer'
import { type Measured, parseJson } from '../fair/parse-json.ts'
import type { Entry, Rejection } from '../stream/point.ts'
import { cleanText, toJson, validateFix } from './fix.ts'
import { type Format, NoPoint, type RawFix } from './formats/format.ts'
import { hideKeys } from './identity/authenticate.ts'

const PAYLOAD_CHARACTERS = 1024
/** Another broker's topics have up to 65,535 bytes, and may hold a NUL, which would keep the whole batch from being stored. */
const TOPIC_CHARACTERS = 512
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** Where a message came from, and when. */
export interface Arrival {
  subject: number
  receivedAt: number
  topic: string | null
}

/** A message is decoded in one turn of the event loop: a packet holds 1,000 points of 250 bytes, which take 5 ms. */
export const MAX_POINTS = 1000

/**
 * Decodes a JSON payload into points and rejections, in the order in which they were sent. A message with too many
 * points becomes one rejection, whatever its format.
 */
export function decode(format: Format, payload: Uint8Array, arrival: Arrival): Entry[] {
  if (payload.length === 0 && format.sendsEmpty) return []
  const values = listValues(format, payload, MAX_POINTS)
  if (values instanceof NoPoint) return [rejectPayload(values, payload, arrival)]
  return decodeValues(format, values, arrival)
}

/** The values of a JSON payload with their indices in a list, or why it has none. */
export function listValues(
  format: Format,
  payload: Uint8Array,
  max: number,
  parsed = parsePayload(payload),
): Value[] | NoPoint {
  if (parsed instanceof NoPoint) return parsed
  const values = format.values(parsed.value)
  if (values.length > max) {
    return new NoPoint('too-many', `A message holds at most ${max} points, this one has ${values.length}.`)
  }
  const isList = Array.isArray(parsed.value) || values.length > 1
  return values.map((value, index) => ({ value, index: isList ? index : null }))
}

/** A value of a message, and its index if the message is a list. */
export interface Value {
  value: unknown
  index: number | null
}

export function decodeValues(format: Format, values: readonly Value[], arrival: Arrival): Entry[] {
  const entries: Entry[] = []
  for (const { value, index } of values) {
    const read = format.read(value)
    if (read) entries.push(validate(value, read, arrival, index))
  }
  return entries
}

/** Rejects a payload as a whole. */
export const rejectPayload = (why: NoPoint, payload: Uint8Array, arrival: Arrival): Rejection =>
  reject(why, arrival, null, decodeLoosely(payload))

/** The validated point that a format read from `value`, or its rejection. */
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
    topic: arrival.topic && cleanText(hideKeys(arrival.topic.slice(0, TOPIC_CHARACTERS))),
    payload: cleanText(hideKeys(payload.slice(0, PAYLOAD_CHARACTERS))),
  }
}

/** The value of a JSON payload, or why it has none. */
export type Parsed = { value: unknown } | NoPoint

const NOT_JSON = new NoPoint('not-json', 'The payload is not JSON in UTF-8.')

export function parsePayload(payload: Uint8Array): Parsed {
  try {
    return { value: JSON.parse(utf8.decode(payload)) as unknown }
  } catch {
    return NOT_JSON
  }
}

/** The same in steps, for a payload that may take long. */
export function* parseLargePayload(payload: Buffer, measured: Measured): Generator<void, Parsed> {
  if (!isUtf8(payload)) return NOT_JSON
  try {
    return { value: yield* parseJson(payload, measured) }
  } catch (error) {
    if (error instanceof SyntaxError) return NOT_JSON
    throw error
  }
}

function decodeLoosely(payload: Uint8Array): string {
  return Buffer.from(
    payload.buffer,
    payload.byteOffset,
    Math.min(payload.length, PAYLOAD_CHARACTERS * 4),
  ).toString('utf8')
}
