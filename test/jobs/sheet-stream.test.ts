import { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import excel from 'exceljs'
import { expect, it } from 'vitest'
import { openSheet } from '../../src/sheets/writers/sheet-stream.ts'

it('Writing a sheet waits while nobody reads the workbook, and continues when somebody does', async () => {
  let take: (() => void) | undefined
  const file = new Writable({
    write(_chunk, _encoding, done) {
      take = done
    },
  })
  const sheet = new excel.stream.xlsx.WorkbookWriter({ stream: file }).addWorksheet('Rows')
  sheet.addRow([]).commit()
  const stream = openSheet(sheet)
  // Noise cannot be compressed, so it fills the space between.
  const noise = `<row>${Array.from({ length: 50_000 }, () => Math.random().toString(36)).join('')}</row>`
  let written = 0
  const writing = (async () => {
    for (; written < 20; written++) await stream.write(noise)
  })()
  for (let stands = 0, before = -1; stands < 50; stands = written === before ? stands + 1 : 0) {
    before = written
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  expect(written).toBeLessThan(10)
  while (written < 20) {
    const done = take
    take = undefined
    done?.()
    await turn()
  }
  await writing
})
