import type { LocalTime } from './values/dates.ts'

/** A number that a spreadsheet shows in a form with a meaning of its own: the postcode 01067, 12:00, 12 %, an amount. */
export interface FormattedNumber {
  number: number
  /** The text that the cell shows, if it differs from the number. */
  shown?: string
  /** The meaning of its form; without it, a whole number with leading zeros. */
  as?: 'time' | 'percentage' | 'amount'
}

/**
 * The content of a cell. A JSON value stays as it is. A spreadsheet's error (`#REF!`) is a fault, because it has no
 * value to read.
 */
export type Cell =
  | null
  | string
  | number
  | boolean
  | LocalTime
  | FormattedNumber
  | { json: unknown }
  | { fault: string }

/** A row with its number as a spreadsheet shows it. */
export interface SourceRow {
  number: number
  /** The cells by their column, from 0; missing ones are empty. */
  cells: Cell[]
  /** The whole record, in JSON files. */
  record?: unknown
  /** Why the row cannot become a record, because of other values in it or as a whole. */
  wrong?: readonly { value: string | null; message: string }[]
}

/** The rows of a file. The first is the header with the names of the columns. */
export type Rows = AsyncGenerator<SourceRow, void, undefined>

export interface Source {
  rows: Rows
  /** The columns are the keys of records, so every field of the type has one, and the file names none of them. */
  isKeyed?: true
  /** The delimiter between the cells of a text table. */
  delimiter?: string
  /** The line before the header that declares the delimiter, if it would not be recognized without it. */
  sepLine?: string
  /** The part of the file that is read, 0 to 1. */
  fraction(): number
  /** Whether the workbook counts days from 1904; known once the first row is read. */
  date1904?(): boolean
  close(): void
}

export const isBlank = (cell: Cell | undefined): boolean =>
  cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '')

/** A cell as a person reads it. */
export function cellText(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell !== 'object') return String(cell)
  if ('local' in cell)
    return cell.local
      .replace(/T00:00:00\.000$/, '')
      .replace('T', ' ')
      .replace(/\.000$/, '')
  if ('number' in cell) return cell.shown ?? String(cell.number)
  if ('fault' in cell) return cell.fault
  return typeof cell.json === 'string' ? cell.json : JSON.stringify(cell.json)
}

/** The name of a column, from 0: A to XFD. */
export function columnName(at: number): string {
  const last = String.fromCharCode(65 + (at % 26))
  return at < 26 ? last : columnName(Math.floor(at / 26) - 1) + last
}
