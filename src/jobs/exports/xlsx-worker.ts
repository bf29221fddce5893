import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { parentPort, workerData } from 'node:worker_threads'
import excel from 'exceljs'
import { cellOf, MAX_CELL_CHARACTERS, sheetName, textValue } from './cells.ts'
import type { Column } from './source.ts'

/**
 * Writes a workbook in a thread of its own: to make the XML of a million rows holds a thread for a minute. Rows come as
 * text of JSON, each answered when there is room for the next; null is the end.
 */
export interface SheetOrder {
  path: string
  name: string
  columns: readonly Column[]
  timeZone: string
}
/** How large the file is so far, or why there is none. */
export type SheetAnswer = { bytes: number } | { failure: string }

const port = parentPort as NonNullable<typeof parentPort>
const order = workerData as SheetOrder

/** One object of each, by which exceljs recognizes that it is the same. A text stays one when somebody edits it. */
const STYLES = {
  heading: { font: { bold: true }, numFmt: '@' },
  text: { numFmt: '@' },
  date: { numFmt: 'yyyy-mm-dd' },
  time: { numFmt: 'yyyy-mm-dd hh:mm:ss' },
}
const WIDTHS: { [type in Column['type']]?: number } = { number: 14, boolean: 10, date: 12, datetime: 20 }
const WIDTH = 24

const file = createWriteStream(order.path, { flags: 'wx', mode: 0o600 })
// exceljs waits for ever for what a full disk does not take: the thread ends, and with it the export.
file.on('error', error => {
  throw error
})
const book = new excel.stream.xlsx.WorkbookWriter({
  stream: file,
  useStyles: true,
  useSharedStrings: false,
})
book.creator = 'Fieldline'
const sheet = book.addWorksheet(sheetName(order.name), { views: [{ state: 'frozen', ySplit: 1 }] })
sheet.columns = order.columns.map(({ type }) => ({ width: WIDTHS[type] ?? WIDTH }))
const cells = order.columns.map(column => cellOf(column, order.timeZone))

const header = sheet.addRow([])
for (const [at, { heading }] of order.columns.entries()) {
  const cell = header.getCell(at + 1)
  cell.value = textValue(heading)
  cell.style = STYLES.heading
}
header.commit()

function addRow(values: readonly unknown[]): void {
  const row = sheet.addRow([])
  for (const [at, value] of values.entries()) {
    const made = cells[at]?.(value)
    if (!made) continue
    const cell = row.getCell(at + 1)
    if (made.type === 'text') {
      if (made.value.length > MAX_CELL_CHARACTERS) {
        const field = order.columns[at]?.heading
        throw new TooLarge(
          `A value of ${field} has more than ${MAX_CELL_CHARACTERS} characters, which no cell holds: export it as JSON.`,
        )
      }
      cell.value = textValue(made.value)
      cell.style = STYLES.text
    } else {
      cell.value = made.value
      if (made.type === 'date' || made.type === 'time') cell.style = STYLES[made.type]
    }
  }
  row.commit()
}

class TooLarge extends Error {}

/** exceljs writes on whoever may not follow: what it writes to is not public, and says when there is room again. */
async function whenThereIsRoom(): Promise<void> {
  const { pipes } = (sheet as unknown as { stream: { pipes: Writable[] } }).stream
  for (const pipe of pipes) if (pipe.writableNeedDrain) await once(pipe, 'drain')
}

async function take(rows: string | null): Promise<void> {
  if (rows === null) {
    await book.commit()
    return
  }
  for (const values of JSON.parse(`[${rows}]`) as unknown[][]) addRow(values)
  await whenThereIsRoom()
}

const answer = (text: SheetAnswer) => port.postMessage(text)

port.on('message', (rows: string | null) => {
  take(rows).then(
    () => answer({ bytes: file.bytesWritten }),
    error => {
      if (!(error instanceof TooLarge)) throw error
      answer({ failure: error.message })
    },
  )
})
