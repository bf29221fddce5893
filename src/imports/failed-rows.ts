import { PassThrough, type Writable } from 'node:stream'
import exceljs from 'exceljs'
import type { Import, RowError } from '../../db/queries/imports.ts'
import { type Cell, cellText } from './cells.ts'
import { openSource, readHeadings } from './open-source.ts'

/** The rows that failed, in their order, some after a row; none at the end. */
export type FailedRows = (afterRow: number) => Promise<{ row: number; errors: RowError[] }[]>

/** Records of JSON have it beside their `data`, where an import looks at nothing. */
const ERROR_HEADING = 'Import error'

/** A file in the shape of the upload: its header and the rows that failed, with a column that says why. */
export async function writeFailedRows(
  path: string,
  { format, mapping }: Pick<Import, 'format' | 'mapping'>,
  failed: FailedRows,
  to: Writable,
): Promise<void> {
  const source = await openSource({ path, format }, Object.keys(mapping))
  try {
    const { headings } = await readHeadings(source)
    const writer = WRITERS[format](to)
    await writer.header([...headings, nameColumn(headings)])
    let page = await failed(0)
    let at = 0
    for await (const { number, cells } of source.rows) {
      if (at >= page.length) {
        page = await failed(page.at(-1)?.row ?? 0)
        at = 0
      }
      const next = page[at]
      if (!next) break
      if (number < next.row) continue
      at++
      const own = Array.from(
        { length: Math.max(headings.length, format === 'csv' ? cells.length : 0) },
        (_, column) => cells[column] ?? null,
      )
      const message = describe(next.errors, mapping)
      await writer.row(
        format === 'csv' ? fill(own, headings.length, message) : [...own.slice(0, headings.length), message],
        headings,
      )
    }
    await writer.end()
  } finally {
    source.close()
  }
}

/** Cells beyond the header stay where they are, after the message. */
const fill = (cells: Cell[], columns: number, message: string): Cell[] => [
  ...cells.slice(0, columns),
  message,
  ...cells.slice(columns),
]

function nameColumn(headings: readonly string[]): string {
  const taken = new Set(headings.map(heading => heading.toLowerCase()))
  let name = ERROR_HEADING
  for (let count = 2; taken.has(name.toLowerCase()); count++) name = `${ERROR_HEADING} ${count}`
  return name
}

const describe = (errors: readonly RowError[], mapping: Import['mapping']) =>
  errors
    .map(({ field, message }) => (field === null ? message : `${mapping[field] ?? field}: ${message}`))
    .join(' ')

interface Writer {
  header(headings: string[]): Promise<void>
  row(cells: Cell[], headings: readonly string[]): Promise<void>
  end(): Promise<void>
}

async function write(to: Writable, text: string): Promise<void> {
  if (!to.write(text)) await new Promise<void>(resolve => to.once('drain', resolve))
}

const WRITERS: { [format in Import['format']]: (to: Writable) => Writer } = {
  csv(to) {
    const quoteCell = (cell: Cell) => {
      const text = cellText(cell)
      return /[";\r\n\t|,]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
    }
    const line = (cells: readonly Cell[]) => write(to, `${cells.map(quoteCell).join(';')}\r\n`)
    return {
      // The mark tells spreadsheets that it is UTF-8.
      header: headings => write(to, '\ufeff').then(() => line(headings)),
      row: cells => line(cells),
      end: async () => void to.end(),
    }
  },
  json(to) {
    let count = 0
    return {
      header: () => write(to, '['),
      row(cells, headings) {
        const given = headings.flatMap((key, at) => {
          const cell = cells[at]
          return cell && typeof cell === 'object' && 'json' in cell ? [[key, cell.json] as const] : []
        })
        const record = { data: Object.fromEntries(given), error: cellText(cells.at(-1) ?? null) }
        return write(to, `${count++ > 0 ? ',\n' : ''}${JSON.stringify(record)}`)
      },
      end: () => write(to, ']').then(() => void to.end()),
    }
  },
  xlsx(to) {
    const through = new PassThrough()
    through.pipe(to)
    const workbook = new exceljs.stream.xlsx.WorkbookWriter({
      stream: through,
      useStyles: true,
      useSharedStrings: false,
    })
    const sheet = workbook.addWorksheet('Failed rows')
    return {
      async header(headings) {
        sheet.addRow(headings).commit()
      },
      async row(cells) {
        const row = sheet.addRow([])
        cells.forEach((cell, at) => {
          const to = row.getCell(at + 1)
          if (cell !== null && typeof cell === 'object' && 'local' in cell) {
            to.value = new Date(`${cell.local}Z`)
            to.numFmt = /T00:00:00\.000$/.test(cell.local) ? 'yyyy-mm-dd' : 'yyyy-mm-dd hh:mm:ss'
          } else if (cell !== null) to.value = typeof cell === 'object' ? cellText(cell) : cell
        })
        row.commit()
        if (through.writableNeedDrain) await new Promise<void>(resolve => through.once('drain', resolve))
      },
      async end() {
        sheet.commit()
        await workbook.commit()
      },
    }
  },
}
