import type { CellRichTextValue } from 'exceljs'
import { DAY_MS } from '../../calendar/days.ts'
import { findTimeZone } from '../../calendar/time-zones.ts'
import type { Column } from '../column.ts'
import { hasOtherMeaning } from '../values/dates.ts'
import { fold } from '../values/fold.ts'
import { hasAllDigits } from '../values/numbers.ts'

/**
 * The content of a written cell: a value that a spreadsheet calculates with if that loses nothing, and otherwise a
 * text. An import reads each back to the original value.
 */
export type Cell =
  | { type: 'text'; value: string }
  | { type: 'number' | 'date' | 'time'; value: number }
  | { type: 'boolean'; value: boolean }

/** No spreadsheet shows a longer text, and Excel calls the file damaged. */
export const MAX_CELL_CHARACTERS = 32_767

/** The serial numbers of days count from 1899-12-30; they are correct from 1900-03-01 on. */
const DAY_ZERO = Date.UTC(1899, 11, 30)
const FIRST_DAY = Date.UTC(1900, 2, 1)
const END_OF_DAYS = Date.UTC(10_000, 0, 1)

/** Returns a function that turns the values of a column into cells; null is an empty cell. */
export function cellOf(
  { type, options, part }: Pick<Column, 'type' | 'options' | 'part'>,
  timeZone: string,
): (value: unknown) => Cell | null {
  if (part !== undefined) {
    const write = cellOf({ type: part === 'address' ? 'text' : 'number', options }, timeZone)
    return value => write(isPlace(value) ? value[part] : null)
  }
  const folded = new Set(options.map(fold))
  // An option that contains a separator could be read as two options.
  const isPlain = options.every(option => /^[\p{L}\p{N} _-]+$/u.test(option))
  const local = type === 'datetime' ? createLocalTime(timeZone) : null
  return value => {
    if (value === null || value === undefined) return null
    switch (type) {
      case 'number':
        return typeof value === 'number' && hasAllDigits(value)
          ? { type: 'number', value }
          : text(textOf(value))
      case 'boolean':
        return typeof value === 'boolean' ? { type: 'boolean', value } : text(textOf(value))
      case 'date':
        return dateCell(textOf(value))
      case 'datetime':
        return timeCell(textOf(value), local as LocalTime)
      case 'multiselect':
        return text(Array.isArray(value) ? listText(value, isPlain ? folded : null) : textOf(value))
      case 'location':
        return text(isPlace(value) ? placeText(value) : textOf(value))
      default:
        return text(textOf(value))
    }
  }
}

/** A flow's field may have had another type when its value was written. */
const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

const text = (value: string): Cell => ({ type: 'text', value })

/**
 * Reads a time in the form in which it is stored, otherwise NaN: `Date.parse` accepts other texts too, and makes `Suite
 * 12` a time in December 2001.
 */
function parseTime(iso: string): number {
  const at = Date.parse(iso)
  return at >= FIRST_DAY && at < END_OF_DAYS && new Date(at).toISOString() === iso ? at : Number.NaN
}

/** A day that could belong to another calendar is written as a time, because imports never ask about a time's calendar. */
function dateCell(day: string): Cell {
  const begin = `${day}T00:00:00.000Z`
  const at = parseTime(begin)
  return Number.isNaN(at)
    ? text(hasOtherMeaning(day) ? begin : day)
    : { type: 'date', value: (at - DAY_ZERO) / DAY_MS }
}

/** A time in the organization's time zone, if its clock time is unambiguous. */
function timeCell(iso: string, local: LocalTime): Cell {
  const at = parseTime(iso)
  const shown = at >= FIRST_DAY + DAY_MS && at < END_OF_DAYS - DAY_MS ? local(at) : null
  return shown === null ? text(iso) : { type: 'time', value: (shown - DAY_ZERO) / DAY_MS }
}

type LocalTime = (at: number) => number | null

/** The local time in a zone as if it were UTC; null if the clock shows it twice, when it is put back. */
export function createLocalTime(timeZone: string): LocalTime {
  const { offsetAt } = findTimeZone(timeZone)
  return at => {
    const own = offsetAt(at)
    const shown = at + own
    const others = [offsetAt(at - DAY_MS), offsetAt(at + DAY_MS)].filter(offset => offset !== own)
    return others.some(offset => offsetAt(shown - offset) === offset) ? null : shown
  }
}

/** `a, b`, or a JSON list if that would be ambiguous. */
function listText(chosen: readonly string[], folded: ReadonlySet<string> | null): string {
  const plain = chosen.join(', ')
  const isClear = folded && chosen.length > 0 && (chosen.length === 1 || !folded.has(fold(plain)))
  return isClear ? plain : JSON.stringify(chosen)
}

interface Place {
  lat: number
  lng: number
  address?: string
}

const isPlace = (value: unknown): value is Place =>
  typeof value === 'object' && value !== null && 'lat' in value && 'lng' in value

/** `52.52, 13.405 (Alexanderplatz 1)`, or JSON if that would be ambiguous. */
function placeText(place: Place): string {
  const { lat, lng, address } = place
  const isPlain = [lat, lng].every(degrees => /^-?\d{1,3}(\.\d+)?$/.test(String(degrees)))
  if (!isPlain || address !== address?.trim()) return JSON.stringify(place)
  return `${lat}, ${lng}${address === undefined ? '' : ` (${address})`}`
}

/**
 * A text in the XML of a sheet: characters that XML cannot hold or would change become `_xHHHH_` [ISO 29500-1,
 * 22.9.2.19], and so does an underscore that would be read as the beginning of such an escape.
 */
export function sheetText(value: string): string {
  return value.replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_').replaceAll(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
    /[\0-\x08\x0b-\x1f\x7f\ufffe\uffff]/g,
    character => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
  )
}

/** A text for exceljs: as rich text it keeps blanks at its ends, and readers recognize the escapes. */
export function textValue(value: string): string | CellRichTextValue {
  const text = sheetText(value)
  return text === value && value === value.trim() ? value : { richText: [{ text }] }
}

/** The name of a sheet: at most 31 characters, without those that are forbidden; apostrophes may only stand inside. */
export function sheetName(name: string): string {
  const isOuter = /^['\s]+|['\s]+$/g
  const allowed = name.replaceAll(/[*?:\\/[\]\p{Cc}\ufffe\uffff]/gu, ' ').replaceAll(isOuter, '')
  let cut = ''
  for (const character of allowed) {
    if (cut.length + character.length > 31) break
    cut += character
  }
  cut = cut.replaceAll(isOuter, '')
  return cut === '' || cut.toLowerCase() === 'history' ? 'Export' : cut
}
