import { PassThrough, type Writable } from 'node:stream'
import exceljs from 'exceljs'
import type { FailedRow, Import, RowError } from '../../../db/queries/imports.ts'
import { type Cell, cellText, type FormattedNumber, type Source } from '../../sheets/cell.ts'
import { asShown, ERROR_HEADING } from '../../sheets/formulas.ts'
import { MAX_COLUMNS } from '../../sheets/limits.ts'
import { openSource, readHeadings } from '../../sheets/open-source.ts'
import type { SomeRows } from '../../sheets/readers/xlsx.ts'
import { writeClock } from '../../sheets/values/dates.ts'
import { textValue } from '../../sheets/writers/cell-values.ts'
import { drained } from '../../sheets/writers/sheet-stream.ts'
import { headingsIn } from './mapping.ts'

/** Returns the next failed rows after a row, in order; an empty list at the end. */
export type FailedRows = (afterRow: number) => Promise<FailedRow[]>

/** Writes a file in the shape of the upload: its header and the failed rows, with a column for the errors. */
export async function writeFailedRows(
  path: string,
  { format, mapping, countsSep }: Pick<Import, 'format' | 'mapping' | 'countsSep'>,
  failed: FailedRows,
  to: Writable,
): Promise<void> {
  const texts: SomeRows = async function* (rows) {
    const find = createLookup(failed)
    for await (const row of rows) {
      const errors = await find(row.number)
      if (errors === undefined) return
      if (errors !== null) yield row
    }
  }
  const source = await openSource({ path, format, countsSep }, Object.keys(mapping), { texts })
  try {
    const { headings } = await readHeadings(source)
    const writer = WRITERS[format](to, source)
    const column = findColumn(headings, mapping)
    await writer.header(column === headings.length ? [...headings, nameColumn(headings)] : headings)
    const find = createLookup(failed)
    for await (const { number, cells, record } of source.rows) {
      const errors = await find(number)
      if (errors === undefined) break
      if (errors === null) continue
      const message = describe(JSON.parse(errors), mapping)
      // Cells right of the last heading stay right of it, after the message.
      const moved = column === headings.length ? 1 : 0
      const own: Cell[] = []
      for (const at in cells) {
        const to = Number(at) < column ? Number(at) : Number(at) + moved
        if (to < MAX_COLUMNS) own[to] = cells[at] as Cell
      }
      own[column] = message
      own.length = Math.max(own.length, headings.length + moved)
      await writer.row(own, { record, message })
    }
    await writer.end()
  } finally {
    source.close()
  }
}

/** Looks up a row's errors; null if it did not fail, undefined after the last failed row. Rows must come in order. */
function createLookup(failed: FailedRows): (row: number) => Promise<string | null | undefined> {
  let page: FailedRow[] = []
  let at = 0
  let last = 0
  return async row => {
    if (at >= page.length) {
      page = await failed(last)
      at = 0
    }
    const next = page[at]
    if (next === undefined) return undefined
    if (row < next.row) return null
    at++
    last = next.row
    return next.errors
  }
}

/** The column of the message: the error column of a file that is sent again, otherwise a new one after the others. */
function findColumn(headings: readonly string[], mapping: Import['mapping']): number {
  const mapped = new Set(headingsIn(mapping))
  const own = headings.findIndex(
    heading => heading.toLowerCase() === ERROR_HEADING.toLowerCase() && !mapped.has(heading),
  )
  return own === -1 ? headings.length : own
}

function nameColumn(headings: readonly string[]): string {
  const taken = new Set(headings.map(heading => heading.toLowerCase()))
  let name = ERROR_HEADING
  for (let count = 2; taken.has(name.toLowerCase()); count++) name = `${ERROR_HEADING} ${count}`
  return name
}

const columnsOf = (columns: string | string[] | undefined) =>
  typeof columns === 'object' ? columns.join(', ') : columns

const describe = (errors: readonly RowError[], mapping: Import['mapping']) =>
  errors
    .map(({ field, message }) =>
      field === null ? message : `${columnsOf(mapping[field]) ?? field}: ${message}`,
    )
    .join(' ')

interface Writer {
  header(headings: string[]): Promise<void>
  /** Writes a row, in which cells may be missing. */
  row(cells: Cell[], of: { record: unknown; message: string }): Promise<void>
  end(): Promise<void>
}

async function write(to: Writable, text: string): Promise<void> {
  if (!to.write(text)) await new Promise<void>(resolve => to.once('drain', resolve))
}

const WRITERS: { [format in Import['format']]: (to: Writable, source: Source) => Writer } = {
  csv(to, { delimiter = ',', sepLine = '' }) {
    const quoteCell = (cell: Cell) => {
      const text = asShown(cellText(cell))
      return /[";\r\n\t|,]|^\s|\s$/.test(text) || text.includes(delimiter)
        ? `"${text.replaceAll('"', '""')}"`
        : text
    }
    const line = (cells: readonly Cell[]) =>
      write(to, `${Array.from(cells, cell => quoteCell(cell ?? null)).join(delimiter)}\r\n`)
    return {
      // The byte order mark tells spreadsheets that the file is UTF-8.
      header: headings => write(to, `\ufeff${sepLine}`).then(() => line(headings)),
      row: cells => line(cells),
      end: async () => void to.end(),
    }
  },
  json(to) {
    let count = 0
    return {
      header: () => write(to, '['),
      row(_cells, { record, message }) {
        const isRecord = typeof record === 'object' && record !== null && !Array.isArray(record)
        const written = { ...(isRecord ? record : { record }), error: message }
        return write(to, `${count++ > 0 ? ',\n' : ''}${JSON.stringify(written)}`)
      },
      end: () => write(to, ']').then(() => void to.end()),
    }
  },
  xlsx(to, source) {
    const through = new PassThrough()
    through.pipe(to)
    const workbook = new exceljs.stream.xlsx.WorkbookWriter({
      stream: through,
      useStyles: true,
      useSharedStrings: false,
    })
    if (source.date1904?.()) countFrom1904(workbook)
    const sheet = workbook.addWorksheet('Failed rows')
    const addRow = (cells: readonly Cell[]) => {
      const row = sheet.addRow([])
      for (const at in cells) {
        const written = sheetCell(cells[at] ?? null)
        if (written) Object.assign(row.getCell(Number(at) + 1), written)
      }
      row.commit()
    }
    return {
      async header(headings) {
        addRow(headings)
      },
      async row(cells) {
        addRow(cells)
        await drained(sheet)
        if (through.writableNeedDrain) await new Promise<void>(resolve => through.once('drain', resolve))
      },
      async end() {
        sheet.commit()
        await workbook.commit()
      },
    }
  },
}

/** The text format keeps a text a text when somebody edits it. */
const TEXT = { numFmt: '@' }
const DAY = { numFmt: 'yyyy-mm-dd' }
const TIME = { numFmt: 'yyyy-mm-dd hh:mm:ss' }

/**
 * Turns a cell that was read back into a cell of a sheet: it is read as the same value again, and fails in the same way.
 */
function sheetCell(cell: Cell): { value: exceljs.CellValue; style?: Partial<exceljs.Style> } | null {
  if (cell === null) return null
  if (typeof cell === 'string') return { value: textValue(cell), style: TEXT }
  if (typeof cell !== 'object') return { value: cell }
  if ('number' in cell) return { value: cell.number, style: { numFmt: formatOf(cell) } }
  if ('fault' in cell) {
    // A fault must not become an empty cell, because an empty cell is a valid value.
    return { value: { error: (cell.fault.startsWith('#') ? cell.fault : '#N/A') as '#N/A' } }
  }
  if (!('local' in cell) || cell.serial === undefined)
    return { value: textValue(cellText(cell)), style: TEXT }
  return { value: cell.serial, style: Number.isInteger(cell.serial) ? DAY : TIME }
}

function formatOf({ number, shown = '', as }: FormattedNumber): string {
  if (as === 'percentage') return '0.00%'
  if (as === 'amount') return '#,##0.00'
  if (as === undefined) return '0'.repeat(shown.replace('-', '').length)
  return shown === writeClock(number) ? '[hh]:mm:ss' : 'hh:mm:ss'
}

/** Sets the 1904 date system, which exceljs supports in whole workbooks but not in streamed ones. */
function countFrom1904(workbook: exceljs.stream.xlsx.WorkbookWriter): void {
  const { zip } = workbook as unknown as { zip: { append(data: unknown, entry: { name: string }): unknown } }
  const append = zip.append.bind(zip)
  zip.append = (data, entry) =>
    append(
      entry.name === '/xl/workbook.xml'
        ? String(data).replace('<workbookPr ', '<workbookPr date1904="1" ')
        : data,
      entry,
    )
}
