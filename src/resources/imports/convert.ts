import type { Field } from '../../../db/schema/flows.ts'
import { isStorable } from '../../../db/text.ts'
import { type Cell, cellText, type FormattedNumber } from '../../sheets/cell.ts'
import { readBoolean } from '../../sheets/values/booleans.ts'
import type { Checked } from '../../sheets/values/checked.ts'
import {
  type DateStyle,
  dateStyle,
  isPlausibleDay,
  type LocalTime,
  readSerial,
  readTime,
  toInstant,
} from '../../sheets/values/dates.ts'
import {
  hasAllDigits,
  type NumberStyle,
  numberStyle,
  readNumber,
  writeDigits,
} from '../../sheets/values/numbers.ts'
import { findOption, splitOptions } from '../../sheets/values/options.ts'
import { readPhone } from '../../sheets/values/phones.ts'
import { readPlace } from '../../sheets/values/places.ts'
import { checkValue, isAbsent } from '../data/values.ts'

/** How an organization writes values, and the date system of the spreadsheet. */
export type Style = NumberStyle & DateStyle & { date1904: boolean }

/** The settings of an organization that decide how it writes values. */
export interface Writing {
  language: string
  timeZone: string
  currency: string
}

export const styleOf = ({ language, timeZone, currency }: Writing, date1904 = false): Style => ({
  ...numberStyle(language, currency),
  ...dateStyle(language, timeZone),
  date1904,
})

/** A longer text is only valid in text fields. */
const MAX_READ = 10_000
/** Numbers, dates and the like are never longer than this, so longer texts are not parsed. */
const MAX_SHORT = 100
export const isShort = (text: string): boolean => text.trim().length <= MAX_SHORT
const SHORT: readonly Field['type'][] = ['number', 'boolean', 'date', 'datetime', 'phone']
/** In fields of these types a number means the text that its cell shows, including leading zeros. */
const WRITTEN: readonly Field['type'][] = [
  'text',
  'email',
  'url',
  'phone',
  'select',
  'multiselect',
  'reference',
]
const LOST_DIGITS =
  'A spreadsheet has turned this into a number and dropped its last digits: it keeps 15. Format the column as text, and enter it again.'

/**
 * Converts a cell to the value of a field in the form in which it is stored; null if the cell is empty. A reference
 * stays the text that identifies a record, which is looked up later.
 */
export function convert(field: Field, cell: Cell, style: Style): Checked {
  if (cell !== null && typeof cell === 'object') {
    if ('fault' in cell) return { message: `The cell holds no value: ${cell.fault}.` }
    if ('json' in cell) return fromJson(field, cell.json)
  }
  if (isAbsent(cell)) return { value: null }
  if (typeof cell === 'string' && cell.length > MAX_READ && field.type !== 'text') {
    return { message: `This has more than ${MAX_READ} characters.` }
  }
  if (typeof cell === 'string' && !isShort(cell) && SHORT.includes(field.type)) return checkValue(field, cell)
  const isWritten = WRITTEN.includes(field.type)
  const formatted = cell !== null && typeof cell === 'object' && 'number' in cell ? cell : null
  const number = formatted ? formatted.number : cell
  if (isWritten && typeof number === 'number' && !hasAllDigits(number)) return { message: LOST_DIGITS }
  const unfit = formatted && explainUnfit(field, formatted)
  if (unfit) return { message: unfit }
  const given = isWritten && formatted?.shown !== undefined ? formatted.shown : number
  const read = READERS[field.type](given as Given, style, field)
  if ('message' in read) return read
  return field.type === 'reference' ? asReference(String(read.value)) : checkValue(field, read.value)
}

const NO_DAY = 'This is a time or a duration without a day: write both, such as 2026-11-21 09:00.'
const NO_DATE =
  'A spreadsheet has this as a number and not as a date: format the cell as a date, or write it as 2026-11-21.'

/** Why a spreadsheet's formatted number does not fit the field, although the plain number would. */
function explainUnfit({ type }: Field, { as }: FormattedNumber): string | null {
  if (as === undefined) return null
  if (type === 'date' || type === 'datetime') return as === 'time' ? NO_DAY : NO_DATE
  if (as === 'amount') return null
  if (type === 'boolean') return 'This has to be true or false.'
  return type === 'phone' ? 'This has to be a phone number.' : null
}

/**
 * The text of a reference, unchanged, because a text key can have blanks around it. The database looks it up, so its
 * characters must be storable.
 */
const asReference = (text: string): Checked =>
  isStorable(text) ? { value: text } : { message: 'This text has a character that cannot be stored.' }

function fromJson(field: Field, value: unknown): Checked {
  if (isAbsent(value)) return { value: null }
  if (field.type !== 'reference') return checkValue(field, value)
  return typeof value === 'string' || typeof value === 'number'
    ? asReference(String(value))
    : { message: 'This has to be the primary key or the _id of a record.' }
}

type Given = string | number | boolean | LocalTime

const asText = (cell: Given): Checked => ({
  value: typeof cell === 'number' ? writeDigits(cell) : typeof cell === 'string' ? cell : cellText(cell),
})
const asTrimmed = (cell: Given): Checked => ({
  value: String((asText(cell) as { value: unknown }).value).trim(),
})

const READERS: { [type in Field['type']]: (cell: Given, style: Style, field: Field) => Checked } = {
  text: asText,
  email: asTrimmed,
  url: asTrimmed,
  reference: asText,
  // A value that is not of the type stays as it is, and is refused with a reason later.
  number(cell, style) {
    if (typeof cell === 'string') return readNumber(cell, style) ?? { value: cell }
    return { value: typeof cell === 'object' ? (cell.serial ?? cell) : cell }
  },
  boolean(cell) {
    if (typeof cell === 'number') return { value: cell === 1 ? true : cell === 0 ? false : cell }
    return { value: typeof cell === 'string' ? (readBoolean(cell) ?? cell) : cell }
  },
  // Without this check the digits of a day would pass as a phone number.
  phone: cell =>
    typeof cell === 'number' || typeof cell === 'string'
      ? readPhone(cell)
      : { message: 'This has to be a phone number.' },
  date(cell, style) {
    const time = timeOf(cell, style)
    if (!time) return { value: cell }
    if ('message' in time) return time
    // The day as written, even if the instant is on another day in the organization's time zone.
    return { value: time.local.slice(0, 10) }
  },
  datetime(cell, style) {
    const time = timeOf(cell, style)
    if (!time) return { message: 'This has to be a time such as 2026-11-21 09:00.' }
    if ('message' in time) return time
    const instant = time.instant ?? toInstant(time.local, style.timeZone)
    return { value: Number.isNaN(instant) ? cell : new Date(instant).toISOString() }
  },
  select: (cell, _style, field) => ({
    value: findOption(field.options, String((asText(cell) as { value: unknown }).value)),
  }),
  multiselect: (cell, _style, field) => ({
    value: splitOptions(field.options, String((asText(cell) as { value: unknown }).value)),
  }),
  location: cell => ({ value: typeof cell === 'string' ? (readPlace(cell) ?? cell) : cell }),
}

/** A plain number counts as a day of a spreadsheet whose cell lost its format, if it can mean one. */
function timeOf(cell: Given, style: Style): { local: string; instant?: number } | { message: string } | null {
  if (typeof cell === 'string') return readTime(cell, style)
  if (typeof cell !== 'number') return typeof cell === 'boolean' ? null : cell
  const time = readSerial(cell, style.date1904)
  return time && isPlausibleDay(time) ? time : { message: NO_DATE }
}
