import { type Fields, isFields, NoPoint, type RawFix } from '../../formats/format.ts'
import { readNumber } from '../numbers.ts'
import { positionsOf, readPayload, refuse, skip } from '../payload.ts'
import type { BuiltInProfile, ReadMessage, TrackerMessage } from '../profile.ts'

/** The content of a message of a family: a fix, a rejection, or a sentence why it has no position. */
export type Read = RawFix | NoPoint | string

/** A family whose messages are a JSON object with one position each. */
export function readOne(
  message: TrackerMessage,
  receivedAt: number,
  of: { reference: (payload: Fields) => string | null; read: (payload: Fields) => Read },
): ReadMessage {
  const payload = readPayload(message)
  if (payload instanceof NoPoint) return refuse(null, payload)
  if (!isFields(payload.value))
    return refuse(null, new NoPoint('bad-shape', 'The message has to be a JSON object.'))
  return readObject(payload.value, receivedAt, of.reference(payload.value), of.read)
}

/** The position of an object, or why it has none. A fix whose time is undefined has the time of receipt. */
export function readObject(
  value: Fields,
  receivedAt: number,
  reference: string | null,
  read: (value: Fields) => Read,
): ReadMessage {
  const fix = read(value)
  if (typeof fix === 'string') return skip(reference, fix)
  if (!(fix instanceof NoPoint) && fix.timestamp === undefined) fix.timestamp = receivedAt
  return positionsOf(reference, [{ reference, value, index: null, fix }])
}

export const NO_FIX = 'The device has no fix.'
export const NO_POSITION = 'The message holds no position.'

/** Two coordinates, which may be texts; a sentence where they are missing, or 0 and 0. */
export function readPlace(latitude: unknown, longitude: unknown): { lat: number; lng: number } | string {
  const [lat, lng] = [readNumber(latitude), readNumber(longitude)]
  if (lat === null || lng === null) return NO_POSITION
  return lat === 0 && lng === 0 ? NO_FIX : { lat, lng }
}

export const KMH_PER_MPS = 3.6
export const MPS_PER_KNOT = 1852 / 3600

/** A number in another unit; null where it is none. */
export function convert(value: unknown, calculate: (value: number) => number): number | null {
  const number = readNumber(value)
  return number === null ? null : calculate(number)
}

/** An object at a path of names, or null. */
export function fieldsAt(value: unknown, ...names: readonly string[]): Fields | null {
  let at: unknown = value
  for (const name of names) at = isFields(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return isFields(at) ? at : null
}

export type { BuiltInProfile, Fields, ReadMessage, TrackerMessage }
