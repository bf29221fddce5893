import type { Field } from '../../db/schema/flows.ts'
import { type Checked, checkValue, isAbsent } from '../data/values.ts'
import { type Cell, cellText } from './cells.ts'
import { readBoolean } from './values/booleans.ts'
import { type DateStyle, dateStyle, type LocalTime, readSerial, readTime, toInstant } from './values/dates.ts'
import { fold } from './values/fold.ts'
import { type NumberStyle, numberStyle, readNumber, writeDigits } from './values/numbers.ts'
import { readPhone } from './values/phones.ts'
import { readPlace } from './values/places.ts'

/** How the people of an organization write, and the days of their spreadsheet count. */
export type Style = NumberStyle & DateStyle & { date1904: boolean }

export const styleOf = (language: string, timeZone: string, date1904 = false): Style => ({
  ...numberStyle(language),
  ...dateStyle(language, timeZone),
  date1904,
})

/** Longer ones are a text, or nothing. */
const MAX_READ = 10_000

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
  const read = READERS[field.type](
    cell as Exclude<Cell, null | { json: unknown } | { fault: string }>,
    style,
    field,
  )
  if ('message' in read || field.type === 'reference') return read
  return checkValue(field, read.value)
}

function fromJson(field: Field, value: unknown): Checked {
  if (isAbsent(value)) return { value: null }
  if (field.type !== 'reference') return checkValue(field, value)
  return typeof value === 'string' || typeof value === 'number'
    ? { value: String(value).trim() }
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
  reference: asTrimmed,
  // What is no such value is left as it is, and refused with its reason.
  number(cell, style) {
    if (typeof cell === 'string') return { value: readNumber(cell, style) ?? cell }
    return { value: typeof cell === 'object' ? (cell.serial ?? cell) : cell }
  },
  boolean(cell) {
    if (typeof cell === 'number') return { value: cell === 1 ? true : cell === 0 ? false : cell }
    return { value: typeof cell === 'string' ? (readBoolean(cell) ?? cell) : cell }
  },
  phone: cell =>
    readPhone(typeof cell === 'number' ? cell : String((asText(cell) as { value: unknown }).value)),
  date(cell, style) {
    const time = timeOf(cell, style)
    if (!time) return { value: cell }
    return {
      value: 'local' in time ? time.local.slice(0, 10) : new Date(time.instant).toISOString().slice(0, 10),
    }
  },
  datetime(cell, style) {
    const time = timeOf(cell, style)
    if (!time) return { value: cell }
    const instant = 'local' in time ? toInstant(time.local, style.timeZone) : time.instant
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

/** A date that is written as a number is a spreadsheet's whose cell lost its format. */
function timeOf(cell: Given, style: Style) {
  if (typeof cell === 'number') return readSerial(cell, style.date1904)
  if (typeof cell === 'string') return readTime(cell, style)
  return typeof cell === 'boolean' ? null : cell
}

/** The option that a text means: itself, or else one that differs in case, accents and punctuation alone. */
function findOption(options: readonly string[], text: string): string {
  const given = text.trim()
  if (options.includes(given)) return given
  const folded = fold(given)
  const alike = folded === '' ? [] : options.filter(option => fold(option) === folded)
  return alike.length === 1 ? (alike[0] as string) : given
}

const SEPARATOR = /^\s*[,;|\n]\s*/
const SEPARATOR_CHARACTERS = 20

/** As an export writes a list that could be read in another way. */
function readList(text: string): string[] | null {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : null
  } catch {
    return null
  }
}

/** The options of a list; an option may itself hold what separates them. What is left over is an option that is none. */
function splitOptions(options: readonly string[], text: string): string[] {
  const given = text.trim()
  if (options.includes(given)) return [given]
  const list = given.startsWith('[') ? readList(given) : null
  if (list) return list
  const exact = splitExactly(options, given)
  if (exact) return exact
  const alike = findOption(options, given)
  return options.includes(alike) ? [alike] : given.split(/[,;|\n]/).map(part => findOption(options, part))
}

/** Where all of a text is options and what separates them: the longest first. From its end, so that each place is seen once. */
function splitExactly(options: readonly string[], text: string): string[] | null {
  const byFirst = new Map<string, string[]>()
  for (const option of [...options].sort((a, b) => b.length - a.length))
    byFirst.set(option.slice(0, 1), [...(byFirst.get(option.slice(0, 1)) ?? []), option])
  const found = new Map<number, { option: string; next: number }>()
  for (let at = text.length - 1; at >= 0; at--) {
    for (const option of byFirst.get(text[at] as string) ?? []) {
      if (!text.startsWith(option, at)) continue
      const end = at + option.length
      const separator = SEPARATOR.exec(text.slice(end, end + SEPARATOR_CHARACTERS))?.[0]
      const next = end === text.length ? end : separator === undefined ? -1 : end + separator.length
      if (next !== text.length && !found.has(next)) continue
      if (next === text.length && end !== next) continue
      found.set(at, { option, next })
      break
    }
  }
  const list: string[] = []
  for (let step = found.get(0); step; step = found.get(step.next)) list.push(step.option)
  return list.length > 0 ? list : null
}
