import { createWriteStream } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import excel from 'exceljs'
import type { Column } from '../column.ts'
import { sheetName, textValue } from './cell-values.ts'
import { createSheetRows, TooLarge } from './sheet-rows.ts'
import { openSheet } from './sheet-stream.ts'

/**
 * Writes a workbook in a thread of its own, because making the XML of a million rows blocks a thread for a minute. Rows
 * come as JSON text, each answered when there is room for the next; null is the end.
 */
export interface SheetOrder {
  path: string
  name: string
  columns: readonly Column[]
  timeZone: string
}
/** The size of the file so far, or why it cannot be written. */
export type SheetAnswer = { bytes: number } | { failure: string }

const port = parentPort as NonNullable<typeof parentPort>
const order = workerData as SheetOrder

/** The text format keeps a text a text when somebody edits it. */
const STYLES = {
  heading: { font: { bold: true }, numFmt: '@' },
  text: { numFmt: '@' },
  date: { numFmt: 'yyyy-mm-dd' },
  time: { numFmt: 'yyyy-mm-dd hh:mm:ss' },
}
const WIDTHS: { [type in Column['type']]?: number } = { number: 14, boolean: 10, date: 12, datetime: 20 }
const WIDTH = 24

const file = createWriteStream(order.path, { flags: 'wx', mode: 0o600 })
// exceljs waits forever for a full disk, so this error ends the thread, and with it the export.
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
const header = sheet.addRow([])
for (const [at, { heading }] of order.columns.entries()) {
  const cell = header.getCell(at + 1)
  cell.value = textValue(heading)
  cell.style = STYLES.heading
}
header.commit()

/** A private part of exceljs: its tables of styles. */
const { styles } = book as unknown as { styles: { addStyleModel(style: object): number } }
const stream = openSheet(sheet)
const rowXml = createSheetRows(order.columns, order.timeZone, {
  text: styles.addStyleModel(STYLES.text),
  date: styles.addStyleModel(STYLES.date),
  time: styles.addStyleModel(STYLES.time),
})
/** Counts the header too. */
let count = 1

async function take(rows: string | null): Promise<void> {
  if (rows === null) {
    await book.commit()
    return
  }
  let xml = ''
  for (const values of JSON.parse(`[${rows}]`) as unknown[][]) xml += rowXml(++count, values)
  if (xml !== '') await stream.write(xml)
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
