import { DAY_MS } from '../../calendar/days.ts'
import type { Cell } from '../cell.ts'
import { isPlausibleDay, LAST_SERIAL, readSerial, serialOf, writeClock } from '../values/dates.ts'
import { hasAllDigits, writeDigits } from '../values/numbers.ts'
import type { NumberFormat } from './workbook.ts'

/** As XML writes one that is finite. [XML Schema part 2, 3.2.5] */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** What a number of a sheet is in the form in which the spreadsheet shows it. */
export function readSheetNumber(text: string, format: NumberFormat, date1904: boolean): Cell {
  if (text === '') return null
  const number = NUMBER.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(number)) return { fault: 'no number' }
  if (typeof format === 'number') return pad(number, format)
  if (format === 'percentage' || format === 'amount') return { number, as: format }
  // Less than nothing, or more than a spreadsheet has days: it shows none.
  if (!(number >= 0 && number < LAST_SERIAL)) return number
  if (format === 'duration') return { number, shown: writeClock(number), as: 'time' }
  const day = readSerial(number, date1904)
  const isDay = day !== null && (format === 'day' || isPlausibleDay(day))
  if (isDay) return { ...day, serial: number }
  return number < 1 || format === 'time' ? { number, shown: writeClock(number % 1), as: 'time' } : number
}

/** A whole number with the zeros that are shown before it. */
function pad(number: number, width: number): Cell {
  if (!Number.isInteger(number) || !hasAllDigits(number)) return number
  const digits = writeDigits(Math.abs(number))
  return digits.length < width
    ? { number, shown: `${number < 0 ? '-' : ''}${digits.padStart(width, '0')}` }
    : number
}

/** As XML writes them. The `Z` that openpyxl and SheetJS put behind them is no zone: they mean the time that the cell shows. */
const DATE = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z?)?$/
const CLOCK = /^T?\d\d:/

/** A date, or a time without one, that a cell of a sheet holds by ISO 8601; null where it is none. [ISO 29500-1, 18.17.4] */
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
