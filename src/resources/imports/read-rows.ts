import { isDeepStrictEqual } from 'node:util'
import type { ImportFormat, Mapping, RowError } from '../../../db/queries/imports.ts'
import { type RecordText, recordText } from '../../../db/record-text.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { uniqueValue } from '../../../db/unique-value.ts'
import { type Cell, cellText, columnName, isBlank, type Source } from '../../sheets/cell.ts'
import { type Header, readHeadings } from '../../sheets/open-source.ts'
import { joinPlace } from '../../sheets/values/places.ts'
import { isAbsent } from '../data/values.ts'
import { isUnclear, type Shown } from './column-writing.ts'
import { complete } from './complete.ts'
import { convert, type Style, styleOf, type Writing } from './convert.ts'
import { keyNames } from './key-names.ts'
import { resolveMapping } from './mapping.ts'
import { reportOf } from './report.ts'
import { createSeenRoom, createSeenValues, digestOf, type SeenValues } from './seen-values.ts'

const READ_AS_OTHERS =
  'This is read as other rows of the file show it, and without them would be another value: write it in a way that is clear by itself, such as 1234 or 2026-11-21.'

const NO_VALUE = 'The row has no value for any field.'

/** A file and how to read it. */
export interface Reading extends Writing {
  path: string
  format: ImportFormat
  /** See `Import`. */
  countsSep?: boolean
  dataTypeId: string
  fields: Field[]
  primaryKey: string | null
  mapping: Mapping
  /** The last row that is done; it and those before it are only checked for values that later rows repeat. */
  after: number
  /** How the columns are written, by the keys of their fields. Without it reading ends at an ambiguous text. */
  shown?: { [key: string]: Shown } | undefined
}

/** A row, as far as it can be read without the database. */
export interface ReadRow {
  row: number
  /** The values of the present columns, as JSON; null is an empty cell. References are still texts. */
  values: string
  /** The value of the primary key in the form in which keys are compared; null if there is none. */
  key: string | null
  /** The new record that the row would create; null if the row has errors or repeats another. */
  made: MadeRecord | null
  errors: RowError[]
  /** Warnings in case the row fails for another reason and is sent again without the rows around it. */
  warnings: RowError[]
  /** Fields whose reference is to an earlier row. */
  toEarlier: string[]
  /** Whether an earlier row is exactly the same. */
  repeats: boolean
}

/** A record as the texts to store, or the required values that it lacks. */
export type MadeRecord = RecordText | { lacks: RowError[] }

/** The part of a row that is collected during reading. */
type Row = Pick<ReadRow, 'row' | 'errors' | 'warnings' | 'toEarlier' | 'repeats'> & {
  values: Values
  /** Whether the meaning of a text depends on the rest of its column, which is unknown. */
  isUnclear: boolean
}

/**
 * The rows with values, one after the other; rows up to `after` are only checked for values that later rows repeat.
 * Returns whether all rows were read, or the next one has an ambiguous text.
 */
export async function* readRows(
  reading: Reading,
  source: Source,
): AsyncGenerator<ReadRow, 'complete' | 'unclear'> {
  const { fields, format, after, primaryKey, dataTypeId } = reading
  const header = await readHeadings(source)
  const { headings } = header
  const style = styleOf(reading, source.date1904?.())
  const columns = columnsOf(reading, header)
  const mapped = columns.map(({ field }) => field.key)
  const room = createSeenRoom()
  const seen = new Map(
    columns.filter(({ field }) => field.unique).map(({ field }) => [field.key, createSeenValues(room)]),
  )
  const ofRecords = columns.filter(
    ({ field }) => field.type === 'reference' && field.dataTypeId === dataTypeId,
  )
  const keyField = fields.find(({ key }) => key === primaryKey)

  for await (const { number, cells, wrong = [] } of source.rows) {
    if (format !== 'json' && findValue(cells, 0) === -1) continue
    const read = startRow(number)
    read.errors.push(...wrong.map(one => ({ field: null, ...one })))
    const beyond = format === 'json' ? -1 : findValue(cells, headings.length)
    if (beyond !== -1) {
      const value = cellText(cells[beyond] as Cell)
      const message =
        format === 'csv'
          ? `The row has ${cells.length} values, and the header ${headings.length}: perhaps one of them has to stand in quotation marks.`
          : `Column ${columnName(beyond)} has a value and no heading: name the column, or empty its cell.`
      read.errors.push({ field: null, value: format === 'csv' ? null : value, message })
    }
    for (const { field, columns: own } of columns) {
      if (own.length === 1) readCell(read, field, cells[own[0] as number] ?? null, style, reading)
      else
        readPlace(
          read,
          field,
          own.map(column => cells[column] ?? null),
          style,
          reading,
        )
    }
    if (read.isUnclear) return 'unclear'
    if (read.errors.length === 0 && Object.values(read.values).every(isAbsent))
      read.errors.push({ field: null, value: null, message: NO_VALUE })
    if (keyField) findEarlier(read, ofRecords, keyField, seen.get(keyField.key), format, style)
    const values = JSON.stringify(read.values)
    findRepeats(read, values, columns, seen, primaryKey)
    if (number <= after) continue
    const value = keyField && read.values[keyField.key]
    const key = keyField && !isAbsent(value) ? uniqueValue(keyField, value) : null
    const isDone = read.errors.length > 0 || read.repeats
    const errors = reportOf(read.errors.length > 0 ? [...read.errors, ...read.warnings] : [])
    const { warnings, toEarlier, repeats } = read
    const made = isDone ? null : makeRecord(fields, mapped, read.values)
    yield { row: number, values, key, made, errors, warnings, toEarlier, repeats }
  }
  return 'complete'
}

const startRow = (row: number): Row => ({
  row,
  values: {},
  errors: [],
  warnings: [],
  toEarlier: [],
  repeats: false,
  isUnclear: false,
})

/**
 * The first column from `from` on that has a value, or -1. A row of a workbook may have only its last cell and nothing
 * before it.
 */
function findValue(cells: readonly Cell[], from: number): number {
  if (cells.length <= from) return -1
  for (const at in cells) if (Number(at) >= from && !isBlank(cells[at])) return Number(at)
  return -1
}

/** The columns of each field: one, or several for a place. */
export function columnsOf(
  { fields, mapping: given }: Pick<Reading, 'fields' | 'mapping'>,
  header: Header,
): { field: Field; columns: number[] }[] {
  const mapping = resolveMapping(given, header)
  return fields
    .filter(({ key }) => Object.hasOwn(mapping, key))
    .map(field => ({
      field,
      columns: [mapping[field.key] as string | string[]]
        .flat()
        .map(heading => header.headings.indexOf(heading)),
    }))
}

export function makeRecord(fields: readonly Field[], mapped: readonly string[], values: Values): MadeRecord {
  const { data, errors } = complete(fields, mapped, values)
  return errors.length > 0 ? { lacks: reportOf(errors) } : recordText(fields, data)
}

function readCell(
  read: Row,
  field: Field,
  cell: Cell,
  style: Style,
  { format, shown }: Reading,
  shownAs = () => cellText(cell),
): void {
  // A key that a JSON record lacks has no effect.
  if (format === 'json' && cell === null) return
  const unclear = isUnclear(field, cell, style)
  if (unclear && !shown) {
    read.isUnclear = true
    return
  }
  const converted = convert(field, cell, unclear ? { ...style, ...shown?.[field.key] } : style)
  if ('value' in converted) {
    const { value } = converted
    read.values[field.key] = value
    if (unclear && !isDeepStrictEqual(convert(field, cell, style), converted))
      read.warnings.push({ field: field.key, value: cellText(cell), message: READ_AS_OTHERS })
    if (value !== null || !field.required || !isAbsent(field.default)) return
    read.errors.push({ field: field.key, value: null, message: `${field.label} is required.` })
  } else read.errors.push({ field: field.key, value: shownAs(), message: converted.message })
}

/** Reads a place from separate columns for its degrees. */
function readPlace(read: Row, field: Field, cells: Cell[], style: Style, reading: Reading): void {
  const joined =
    field.type === 'location'
      ? joinPlace(cells)
      : { message: `${field.label} is read from one column alone.` }
  const shown = () => cells.map(cellText).join(', ')
  if ('cell' in joined) readCell(read, field, joined.cell, style, reading, shown)
  else read.errors.push({ field: field.key, value: shown(), message: joined.message })
}

function findEarlier(
  read: Row,
  columns: readonly { field: Field }[],
  keyField: Field,
  keys: SeenValues | undefined,
  format: ImportFormat,
  style: Style,
): void {
  for (const { field } of columns) {
    const text = read.values[field.key]
    if (typeof text === 'string' && keyNames(keyField, text, format, style).some(name => keys?.has(name)))
      read.toEarlier.push(field.key)
  }
}

/** The first of two rows with one unique value counts; a row that is equal to an earlier one is harmless. */
function findRepeats(
  read: Row,
  values: string,
  columns: readonly { field: Field }[],
  seen: ReadonlyMap<string, SeenValues>,
  primaryKey: string | null,
): void {
  const digest = seen.size > 0 ? digestOf(values).readUInt32LE(0) : 0
  for (const { field } of columns) {
    const value = read.values[field.key]
    const earlierValues = seen.get(field.key)
    if (!earlierValues || value === null || value === undefined) continue
    const earlier = earlierValues.add(uniqueValue(field, value), read.row, digest)
    if (!earlier || read.repeats) continue
    if (field.key === primaryKey && earlier.digest === digest && read.errors.length === 0) {
      read.repeats = true
      continue
    }
    const message = `Row ${earlier.row} has this ${field.label} already, and it counts or has failed itself: keep one of the two.`
    read.errors.push({ field: field.key, value: String(value), message })
  }
}
