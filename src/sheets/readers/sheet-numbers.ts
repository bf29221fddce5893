import { DAY_MS } from '../../calendar/days.ts'
import type { Cell } from '../cell.ts'
import { isPlausibleDay, LAST_SERIAL, readSerial, serialOf, writeClock } from '../values/dates.ts'
import { hasAllDigits, writeDigits } from '../values/numbers.ts'
import type { NumberFormat } from './workbook.ts'

/** A finite number in XML. [XML Schema part 2, 3.2.5] */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** A number of a sheet, interpreted by the form in which the spreadsheet shows it. */
export function readSheetNumber(text: string, format: NumberFormat, date1904: boolean): Cell {
  if (text === '') return null
  const number = NUMBER.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(number)) return { fault: 'no number' }
  if (typeof format === 'number') return pad(number, format)
  if (format === 'percentage' || format === 'amount') return { number, as: format }
  // A negative number, or one beyond the last day, is shown without a date.
  if (!(number >= 0 && number < LAST_SERIAL)) return number
  if (format === 'duration') return { number, shown: writeClock(number), as: 'time' }
  const day = readSerial(number, date1904)
  const isDay = day !== null && (format === 'day' || isPlausibleDay(day))
  if (isDay) return { ...day, serial: number }
  return number < 1 || format === 'time' ? { number, shown: writeClock(number % 1), as: 'time' } : number
}

/** A whole number with the leading zeros that its cell shows. */
function pad(number: number, width: number): Cell {
  if (!Number.isInteger(number) || !hasAllDigits(number)) return number
  const digits = writeDigits(Math.abs(number))
  return digits.length < width
    ? { number, shown: `${number < 0 ? '-' : ''}${digits.padStart(width, '0')}` }
    : number
}

/** A date in XML. The `Z` that openpyxl and SheetJS append is no time zone: they mean the time that the cell shows. */
const DATE = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z?)?$/
const CLOCK = /^T?\d\d:/

/** A date or time of day that a cell holds in ISO 8601; null if it is neither. [ISO 29500-1, 18.17.4] */
export function readSheetDate(text: string, date1904: boolean): Cell {
  const clock = CLOCK.test(text)
  const parts = DATE.exec(clock ? `1970-01-01T${text.replace('T', '')}` : text)
  if (!parts) return null
  const [, day, minutes = '00:00', seconds = '00', fraction = ''] = parts
  const local = `${day}T${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}`
  const at = Date.parse(`${local}Z`)
  if (Number.isNaN(at) || new Date(at).toISOString() !== `${local}Z`) return null
  if (clock) return { number: at / DAY_MS, shown: writeClock(at / DAY_MS), as: 'time' }
  const serial = serialOf(local, date1904)
  return { local, ...(serial !== null && { serial }) }
}
