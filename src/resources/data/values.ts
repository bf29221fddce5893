import { isIP } from 'node:net'
import { composeEmail, isEmailAddress } from '../../../db/email-address.ts'
import { isUuid } from '../../../db/ids.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { isStorable } from '../../../db/text.ts'
import type { ErrorParams } from '../../http/envelope.ts'
import type { FieldCode } from '../../http/error-codes.ts'
import { listed } from '../../sheets/quotes.ts'
import type { Checked } from '../../sheets/values/checked.ts'

const MAX_TEXT = 10_000
/** Unique values are indexed, and an index entry has at most 2,704 bytes. */
const MAX_UNIQUE = 500

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
// The times that zod accepts; a test compares both. Each imported file is read by its own thread, and loading zod took
// a third of that thread's start.
const DATETIME =
  /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
/** Digits with common separators, and an optional extension. */
const PHONE = /^\+?[\d\s()./-]{3,40}(?:\s*(?:x|ext\.?|#)\s*\d{1,8})?$/i

/** A field without a value: missing, null or an empty text (such as an empty cell). */
export const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '')

/** Converts a value that is not absent to its stored form, or returns an error. */
export function checkValue(field: Field, value: unknown): Checked {
  const checked = READERS[field.type](value, field)
  if (!field.unique || 'message' in checked) return checked
  const text = String(checked.value)
  if (text.length > MAX_UNIQUE)
    return say(`A unique value has at most ${MAX_UNIQUE} characters.`, 'too-long', { limit: MAX_UNIQUE })
  // RFC 3986, 5.2.4: clients remove both from a path, so that no request could name the record.
  return isDots(text)
    ? say('A unique value cannot be . or .., which no address of a record can hold.')
    : checked
}

const PLACE = 'This has to be a place: { lat, lng, address? } in degrees.'

/** Segments that clients remove from a path, escaped or not. */
export const isDots = (text: string): boolean => text === '.' || text === '..'

const say = (message: string, code: FieldCode = 'wrong-format', params?: ErrorParams): Checked => ({
  message,
  code,
  ...(params && { params }),
})
const text = (value: unknown, max = MAX_TEXT): value is string =>
  typeof value === 'string' && value.length <= max && isStorable(value)

const READERS: { [type in Field['type']]: (value: unknown, field: Field) => Checked } = {
  text(value) {
    if (typeof value !== 'string') return say('This has to be a text.', 'wrong-type', { expected: 'text' })
    if (value.length > MAX_TEXT)
      return say(`A text has at most ${MAX_TEXT} characters.`, 'too-long', { limit: MAX_TEXT })
    return isStorable(value) ? { value } : say('This text has a character that cannot be stored.')
  },
  number(value) {
    return typeof value === 'number' && Number.isFinite(value)
      ? { value: value === 0 ? 0 : value }
      : say('This has to be a number.', 'wrong-type', { expected: 'number' })
  },
  boolean(value) {
    return typeof value === 'boolean'
      ? { value }
      : say('This has to be true or false.', 'wrong-type', { expected: 'boolean' })
  },
  date(value) {
    return text(value) && isDate(value)
      ? { value }
      : say('This has to be a date such as 2026-11-21.', 'wrong-format', { expected: 'date' })
  },
  datetime(value) {
    const time = text(value) && DATETIME.test(value) && isDate(value.slice(0, 10)) ? Date.parse(value) : NaN
    const kept = Number.isNaN(time) ? '' : new Date(time).toISOString()
    // In UTC its year may be outside the years that can be written.
    return isDate(kept.slice(0, 10))
      ? { value: kept }
      : say('This has to be a time with its zone, such as 2026-11-21T09:00:00Z.', 'wrong-format', {
          expected: 'datetime',
        })
  },
  email(value) {
    const address = text(value) ? composeEmail(value) : ''
    return isEmailAddress(address)
      ? { value: address }
      : say('This has to be an e-mail address.', 'wrong-format', { expected: 'email' })
  },
  phone(value) {
    return text(value) && PHONE.test(value.trim()) && (value.match(/\d/g)?.length ?? 0) >= 3
      ? { value: value.trim() }
      : say('This has to be a phone number.')
  },
  url(value) {
    return text(value, 2_000) && isWebAddress(value.trim())
      ? { value: value.trim() }
      : say('This has to be an address that begins with http:// or https://.', 'wrong-format', {
          expected: 'url',
        })
  },
  select(value, { options }) {
    return typeof value === 'string' && options.includes(value)
      ? { value }
      : say(`This has to be one of ${listed(options)}.`, 'not-one-of')
  },
  multiselect(value, { options }) {
    const fits =
      Array.isArray(value) && value.every(one => typeof one === 'string' && options.includes(one as string))
    return fits
      ? { value: [...new Set(value as string[])] }
      : say(`This has to be a list of some of ${listed(options)}.`, 'not-one-of')
  },
  location(value) {
    // Each character of a text would count as a key.
    if (typeof value !== 'object') return say(PLACE)
    const { lat, lng, address, ...rest } = (value ?? {}) as { [key: string]: unknown }
    const within = (degrees: unknown, max: number): degrees is number =>
      typeof degrees === 'number' && Math.abs(degrees) <= max
    if (!within(lat, 90) || !within(lng, 180) || Object.keys(rest).length > 0) return say(PLACE)
    // JSON turns -0 into 0.
    const place = { lat: lat + 0, lng: lng + 0 }
    if (isAbsent(address)) return { value: place }
    return text(address, 500)
      ? { value: { ...place, address } }
      : say('The address of a place is a text of at most 500 characters.')
  },
  reference(value) {
    return isUuid(value) ? { value: value.toLowerCase() } : say('This has to be the _id of a record.')
  },
}

function isDate(value: string): boolean {
  const [, year, month, day] = DATE.exec(value)?.map(Number) ?? []
  if (!year || !month || !day || month > 12) return false
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}

function isWebAddress(value: string): boolean {
  if (!/^https?:\/\//i.test(value) || /\s/.test(value)) return false
  try {
    const { hostname } = new URL(value)
    return hostname.includes('.') || hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) > 0
  } catch {
    return false
  }
}
