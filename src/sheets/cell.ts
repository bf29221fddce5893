import type { LocalTime } from './values/dates.ts'

/** A number that a spreadsheet shows in a form that says more: the postcode 01067, 12:00, 12 %, an amount. */
export interface FormattedNumber {
  number: number
  /** What is read in its cell, where that is not the number. */
  shown?: string
  /** What it is by its form; without it, a whole number with zeros before it. */
  as?: 'time' | 'percentage' | 'amount'
}

/**
 * What a cell of a file holds. A value of JSON is as it is; an error of a spreadsheet (`#REF!`) stands for a value that
 * is not there to be read.
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

/** A row with its number as a spreadsheet shows it, and how much of the file is read. */
export interface SourceRow {
  number: number
  /** By their column, from 0; those that are left out are empty. */
  cells: Cell[]
  /** Of JSON, the record as it is. */
  record?: unknown
  /** Why it cannot be one of ours, by what else it holds, or as a whole. */
  wrong?: readonly { value: string | null; message: string }[]
}

/** A row of a file whose columns have names: the first is the header. */
export type Rows = AsyncGenerator<SourceRow, void, undefined>

export interface Source {
  rows: Rows
  /** Whether the columns are the keys of records, which all fields of the type have: nothing of the file names them. */
  isKeyed?: true
  /** What stands between the cells of a table as text. */
  delimiter?: string
  /** The line before the header that says the delimiter, where nothing else would. */
  sepLine?: string
  /** 0 to 1. */
  fraction(): number
  /** Whether the days of a spreadsheet count from 1904; known with the first row. */
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
