import { type Parsed, parsePayload } from '../decode.ts'
import { NoPoint } from '../formats/format.ts'
import type { ReadMessage, ReadPosition, TrackerMessage } from './profile.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** A message holds at most as many positions as one of our own format. */
export const MAX_POSITIONS = 1000

/** The value of a message's JSON; of a text that is no JSON the text, if `takesText`. */
export function readPayload(
  { payload, parsed = parsePayload(payload) }: Pick<TrackerMessage, 'payload' | 'parsed'>,
  takesText = false,
): Parsed {
  if (!takesText || !(parsed instanceof NoPoint)) return parsed
  try {
    return { value: utf8.decode(payload) }
  } catch {
    return parsed
  }
}

const MAX_REFERENCE_CHARACTERS = 128

/** A reference to a device: a text or a whole number; null for anything else. */
export function readReference(value: unknown): string | null {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof text !== 'string') return null
  const reference = text.trim()
  return reference !== '' && reference.length <= MAX_REFERENCE_CHARACTERS ? reference : null
}

export const positionsOf = (reference: string | null, positions: readonly ReadPosition[]): ReadMessage => ({
  reference,
  positions,
  skipped: null,
  unreadable: null,
})

/** The message has no position by design. */
export const skip = (reference: string | null, why: string): ReadMessage => ({
  reference,
  positions: [],
  skipped: why,
  unreadable: null,
})

/** The whole message is a rejection. */
export const refuse = (reference: string | null, why: NoPoint): ReadMessage => ({
  reference,
  positions: [],
  skipped: null,
  unreadable: why,
})

export const tooMany = (count: number) =>
  new NoPoint('too-many', `A message holds at most ${MAX_POSITIONS} points, this one has ${count}.`)
