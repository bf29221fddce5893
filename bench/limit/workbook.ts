/**
 * `tsx bench/limit/workbook.ts FILE ROWS`: exceljs alone writes a workbook as in its documentation, without a style or a
 * service around it. It waits for the zip stream; otherwise memory would grow with the rows.
 */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import excel from 'exceljs'
import { customer, HEADINGS } from '../customers.ts'

const [, , path = '', rows = '0'] = process.argv
const ROWS_AT_ONCE = 1_000

const book = new excel.stream.xlsx.WorkbookWriter({ stream: createWriteStream(path) })
const sheet = book.addWorksheet('Customers')
sheet.addRow(HEADINGS).commit()
for (let n = 1; n <= Number(rows); n++) {
  const values = customer(n)
  sheet.addRow([...Object.values({ ...values, since: new Date(values.since) })]).commit()
  if (n % ROWS_AT_ONCE > 0) continue
  const { pipes } = (sheet as unknown as { stream: { pipes: Writable[] } }).stream
  for (const pipe of pipes) if (pipe.writableNeedDrain) await once(pipe, 'drain')
}
await book.commit()
