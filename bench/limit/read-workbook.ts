/** `tsx bench/limit/read-workbook.ts FILE ROWS`: exceljs alone reads every value, without a service around it. */
import excel from 'exceljs'

const [, , path = '', rows = '0'] = process.argv
let count = 0
let values = 0
for await (const sheet of new excel.stream.xlsx.WorkbookReader(path, { sharedStrings: 'cache' })) {
  for await (const row of sheet) {
    count++
    row.eachCell(cell => {
      if (cell.value !== null) values++
    })
  }
}
if (count !== Number(rows) + 1)
  throw new Error(`${count} rows with ${values} values, of ${rows} and a header`)
