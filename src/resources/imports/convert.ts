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

/** How the people of an organization write, and the days of their spreadsheet count. */
export type Style = NumberStyle & DateStyle & { date1904: boolean }

/** What of an organization says how its people write. */
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

/** Longer ones are a text, or nothing. */
const MAX_READ = 10_000
/** What nobody writes in more characters than this is not looked for in them. */
const MAX_SHORT = 100
export const isShort = (text: string): boolean => text.trim().length <= MAX_SHORT
const SHORT: readonly Field['type'][] = ['number', 'boolean', 'date', 'datetime', 'phone']
/** Of these a number is what is read in its cell, zeros before it too. */
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
 * The value of a field out of a cell, in the form in which it is stored; null where there is none. A reference is the
 * text that names a record, still to be looked for.
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

/** Why what a spreadsheet shows is no value of the field, although its number could be one. */
function explainUnfit({ type }: Field, { as }: FormattedNumber): string | null {
  if (as === undefined) return null
  if (type === 'date' || type === 'datetime') return as === 'time' ? NO_DAY : NO_DATE
  if (as === 'amount') return null
  if (type === 'boolean') return 'This has to be true or false.'
  return type === 'phone' ? 'This has to be a phone number.' : null
}

/** The text that names a record, as it is: a key of text can have blanks around it. Whether there is one is asked of the database, which takes no other characters. */
const asReference = (text: string): Checked =>
  isStorable(text) ? { value: text } : { message: 'This text holds a character that is none.' }

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
  // What is no such value is left as it is, and refused with its reason.
  number(cell, style) {
    if (typeof cell === 'string') return readNumber(cell, style) ?? { value: cell }
    return { value: typeof cell === 'object' ? (cell.serial ?? cell) : cell }
  },
  boolean(cell) {
    if (typeof cell === 'number') return { value: cell === 1 ? true : cell === 0 ? false : cell }
    return { value: typeof cell === 'string' ? (readBoolean(cell) ?? cell) : cell }
  },
  // The digits of a day would pass for one.
  phone: cell =>
    typeof cell === 'number' || typeof cell === 'string'
      ? readPhone(cell)
      : { message: 'This has to be a phone number.' },
  date(cell, style) {
    const time = timeOf(cell, style)
    if (!time) return { value: cell }
    if ('message' in time) return time
    // The day that is written, also of an instant that is on another one elsewhere.
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

/** A plain number is a day of a spreadsheet whose cell lost its format, where it can be meant as one. */
function timeOf(cell: Given, style: Style): { local: string; instant?: number } | { message: string } | null {
  if (typeof cell === 'string') return readTime(cell, style)
  if (typeof cell !== 'number') return typeof cell === 'boolean' ? null : cell
  const time = readSerial(cell, style.date1904)
  return time && isPlausibleDay(time) ? time : { message: NO_DATE }
}
