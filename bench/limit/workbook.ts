/**
 * `tsx bench/limit/workbook.ts FILE ROWS`: exceljs alone, as its documentation has it, without a style or a service around
 * it: rows of the kind that `bench/export.ts` exports. It waits for the zip, or memory would grow with the rows.
 */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import excel from 'exceljs'

const [, , path = '', rows = '0'] = process.argv
const ROWS_AT_ONCE = 1_000

const book = new excel.stream.xlsx.WorkbookWriter({ stream: createWriteStream(path) })
const sheet = book.addWorksheet('Customers')
sheet.addRow(['Code', 'Name', 'E-mail', 'Phone', 'City', 'VIP', 'Revenue', 'Since']).commit()
for (let n = 1; n <= Number(rows); n++) {
  const digits = String(n).padStart(8, '0')
  sheet
    .addRow([
      ...[
        `C${n}`,
        `Customer number ${n} Ltd`,
        `contact${n}@example.com`,
        `+49 30 ${digits}`,
        `City ${n % 50}`,
      ],
      ...[n % 10_000 === 0, (n * 7919) % 1_000_003, new Date(Date.UTC(2000 + (n % 25), 0, 1))],
    ])
    .commit()
  if (n % ROWS_AT_ONCE > 0) continue
  const { pipes } = (sheet as unknown as { stream: { pipes: Writable[] } }).stream
  for (const pipe of pipes) if (pipe.writableNeedDrain) await once(pipe, 'drain')
}
await book.commit()
