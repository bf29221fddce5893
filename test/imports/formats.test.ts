import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import exceljs from 'exceljs'
import { afterAll, describe, expect, it } from 'vitest'
import type { Field } from '../../db/schema/flows.ts'
import { openFile } from '../../src/resources/imports/read-file.ts'
import { type Cell, cellText } from '../../src/sheets/cell.ts'
import { detectFormat } from '../../src/sheets/format.ts'
import { openSource } from '../../src/sheets/open-source.ts'
import { readSerial, serialOf } from '../../src/sheets/values/dates.ts'
import { inlineRow, makeWorkbook, makeZip, workbookParts } from '../support/workbooks.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-formats-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

async function readRows(workbook: Buffer): Promise<Cell[][]> {
  const path = join(folder, String(++files))
  writeFileSync(path, workbook)
  const source = await openSource({ path, format: 'xlsx' }, [])
  const rows: Cell[][] = []
  try {
    for await (const { cells } of source.rows) rows.push(Array.from(cells, cell => cell ?? null))
  } finally {
    source.close()
  }
  return rows
}

describe('A number in a format of zeros', () => {
  const shownAs = async (code: string, values: number[]) => {
    const styles = `<numFmts><numFmt numFmtId="200" formatCode="${code}"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="200"/></cellXfs>`
    const cells = values.map(value => `<c s="1"><v>${value}</v></c>`).join('')
    const rows = await readRows(makeWorkbook({ styles, rows: `<row>${cells}</row>` }))
    return rows[0]
  }

  it('is the text that the spreadsheet shows if that has more digits', async () => {
    expect(await shownAs('00000', [1067, 10_115, 0, -7])).toEqual([
      { number: 1067, shown: '01067' },
      10_115,
      { number: 0, shown: '00000' },
      { number: -7, shown: '-00007' },
    ])
    expect(await shownAs('0'.repeat(20), [1, 1e15])).toEqual([
      { number: 1, shown: `${'0'.repeat(19)}1` },
      1e15,
    ])
  })

  it('and stays a number if it is not whole, or if the format says more', async () => {
    expect(await shownAs('00000', [1.5])).toEqual([1.5])
    for (const code of ['0', 'General', '@']) expect(await shownAs(code, [7])).toEqual([7])
    for (const code of [
      '0'.repeat(21),
      '00.00',
      '#00000',
      '#,##0.00 &quot;d&quot;',
      '[$$-409]#,##0',
      '0.00E+00',
    ])
      expect(await shownAs(code, [7])).toEqual([{ number: 7, as: 'amount' }])
    expect(await shownAs('00000%', [7])).toEqual([{ number: 7, as: 'percentage' }])
  })
})

describe('A number that a workbook shows as a time', () => {
  const shownIn = async (code: string, serial: number, date1904 = false) => {
    const styles = `<numFmts><numFmt numFmtId="200" formatCode="${code}"/></numFmts><cellXfs><xf numFmtId="200"/></cellXfs>`
    const rows = await readRows(
      makeWorkbook({ styles, date1904, rows: `<row><c s="0"><v>${serial}</v></c></row>` }),
    )
    const cell = rows[0]?.[0] ?? null
    return cell !== null && typeof cell === 'object' ? cellText(cell) : cell
  }

  it('is the shown value: a day, a time of day, or a duration', async () => {
    expect(await shownIn('yyyy-mm-dd', 46_347)).toBe('2026-11-21')
    expect(await shownIn('m/d/yy h:mm', 46_347.375)).toBe('2026-11-21 09:00:00')
    expect(await shownIn('mmmm', 46_347)).toBe('2026-11-21')
    for (const code of ['h:mm', 'hh:mm:ss', 'h:mm AM/PM', 'mm:ss.0', 'm/d/yy h:mm']) {
      expect(await shownIn(code, 0.5)).toBe('12:00')
      expect(await shownIn(code, 0.000_015)).toBe('00:00:01.296')
    }
    for (const code of ['[h]:mm', '[hh]:mm:ss', '[h]', '[mm]', '[ss]'])
      expect(await shownIn(code, 1.25)).toBe('30:00')
    expect(await shownIn('h:mm', 1.25)).toBe('06:00')
    expect(await shownIn('h:mm', 46_347.375)).toBe('2026-11-21 09:00:00')
    expect([await shownIn('h:mm', 0.5, true), await shownIn('yyyy-mm-dd', 0, true)]).toEqual([
      '12:00',
      '1904-01-01',
    ])
    // 29 February 1900, which never existed, and a value that a spreadsheet shows as ####.
    expect([await shownIn('yyyy-mm-dd', 60), await shownIn('h:mm', -0.5)]).toEqual([60, -0.5])
  })
})

describe('A value that the format of a workbook does not define', () => {
  const cellOfXml = async (type: string, value: string) => {
    const rows = await readRows(
      makeWorkbook({ shared: ['first'], rows: `<row><c t="${type}"><v>${value}</v></c></row>` }),
    )
    return rows[0]?.[0] ?? null
  }

  it('is none', async () => {
    for (const value of [
      '1e400',
      '-1e400',
      '0x10',
      '0b1',
      '0o7',
      'Infinity',
      'NaN',
      '1,5',
      '1_0',
      '--1',
      '1e',
      '.',
      'x',
    ])
      expect([value, await cellOfXml('n', value)]).toEqual([value, { fault: 'no number' }])
    for (const value of ['2', 'yes', 'TRUE', '-1'])
      expect([value, await cellOfXml('b', value)]).toEqual([value, { fault: 'neither true nor false' }])
    for (const value of ['0x0', '1e0', '-0', '0.0', '1'])
      await expect(cellOfXml('s', value)).rejects.toThrow('refers to a text that is not there')
  })

  it('unlike what it knows', async () => {
    const numbers = ['1', ' -1.5 ', '+.5', '1.', '1E-7', '8.49E+10']
    for (const value of numbers) expect(await cellOfXml('n', value)).toBe(Number(value))
    expect(await Promise.all(['1', '0', 'true', 'false'].map(value => cellOfXml('b', value)))).toEqual([
      true,
      false,
      true,
      false,
    ])
    expect([await cellOfXml('s', '0'), await cellOfXml('n', ''), await cellOfXml('s', '')]).toEqual([
      'first',
      null,
      null,
    ])
  })
})

describe('A cell of a workbook', () => {
  const inline = '<is><t>inline</t></is>'
  const cellIn = async (xml: string, date1904 = false) =>
    (await readRows(makeWorkbook({ shared: ['shared'], date1904, rows: `<row>${xml}</row>` })))[0]?.[0]

  it('that has a value and a text of its own is read once, as its type says', async () => {
    const value = '<v>0</v>'
    for (const both of [value + inline, inline + value])
      expect([
        await cellIn(`<c t="s">${both}</c>`),
        await cellIn(`<c>${both}</c>`),
        await cellIn(`<c t="str">${both}</c>`),
        await cellIn(`<c t="inlineStr">${both}</c>`),
        await cellIn(`<c t="b">${both}</c>`),
      ]).toEqual(['shared', 0, '0', 'inline', false])
    // Each of the two elements is read instead of the other.
    expect([
      await cellIn(`<c t="inlineStr">${value}</c>`),
      await cellIn(`<c t="str">${inline}</c>`),
      await cellIn('<c t="inlineStr"><is/></c>'),
    ]).toEqual(['0', 'inline', ''])
  })

  it('that has a date by ISO 8601 is that date, as a number in the system of its workbook too', async () => {
    const isoIn = (text: string, date1904 = false) => cellIn(`<c t="d"><v>${text}</v></c>`, date1904)
    const local = '2026-11-21T00:00:00.000'
    expect(await isoIn('2026-11-21')).toEqual({ local, serial: 46_347 })
    expect(await isoIn('2026-11-21', true)).toEqual({ local, serial: 44_885 })
    for (const text of ['2026-11-21T12:00', '2026-11-21T12:00:00', ' 2026-11-21T12:00:00.000Z'])
      expect(await isoIn(text)).toEqual({ local: '2026-11-21T12:00:00.000', serial: 46_347.5 })
    expect([await isoIn('1899-12-31'), await isoIn('1904-01-01', true)]).toEqual([
      { local: '1899-12-31T00:00:00.000' },
      { local: '1904-01-01T00:00:00.000', serial: 0 },
    ])
    for (const text of ['12:00:00', 'T12:00'])
      expect(await isoIn(text)).toEqual({ number: 0.5, shown: '12:00', as: 'time' })
    // The text is read by the type of the field that it goes to.
    for (const text of ['2026-02-30', '2026-11-21T09:30:00+02:00', '21.11.2026', '24:00', ''])
      expect(await isoIn(text)).toBe(text)
  })

  it('counts its days as a date is counted back', () => {
    for (const date1904 of [false, true])
      for (let serial = date1904 ? 0 : 1; serial < 3_000; serial += serial < 90 ? 0.25 : 97.125) {
        const time = readSerial(serial, date1904)
        if (time) expect(serialOf(time.local, date1904)).toBeCloseTo(serial, 8)
        else expect(Math.floor(serial)).toBe(60)
      }
  })
})

it('A workbook is the same with its parts in UTF-16', async () => {
  const text = 'Zoë 漢 😀'
  const shared = Array.from({ length: 3_000 }, (_, at) => `${at} ${text}`)
  const rows = `<row><c t="s"><v>2999</v></c>${`<c t="inlineStr"><is><t>${text}</t></is></c>`.repeat(3_000)}</row>`
  const parts = workbookParts({ shared, rows, date1904: true })
  const expected = await readRows(makeZip(parts))
  expect(expected[0]?.slice(0, 2)).toEqual([`2999 ${text}`, text])
  for (const mark of ['\ufeff', ''])
    for (const isBig of [false, true]) {
      const wide = parts.map(part => {
        const data = Buffer.from(mark + String(part.data).replace('UTF-8', 'UTF-16'), 'utf16le')
        return { ...part, data: isBig ? data.swap16() : data }
      })
      expect(await readRows(makeZip(wide))).toEqual(expected)
    }
})

describe('A row', () => {
  const made = (key: string, type: Field['type']): Field => ({
    ...{ key, label: key, type, required: false, unique: false, options: [], order: 0, dataTypeId: null },
  })
  async function readErrors(format: 'csv' | 'xlsx' | 'json', file: Buffer | string) {
    const path = join(folder, String(++files))
    writeFileSync(path, file)
    const fields = [made('name', 'text'), { ...made('size', 'number'), default: 1 }]
    const opened = openFile(
      {
        ...{ path, format, fields, mapping: { name: 'name', size: 'size' }, primaryKey: null, after: 0 },
        ...{ dataTypeId: crypto.randomUUID(), language: 'en', timeZone: 'UTC', currency: 'EUR' },
      },
      () => {},
    )
    const found: [number, string?][] = []
    for await (const { row, errors } of opened.rows)
      found.push([row, ...errors.slice(0, 1).map(({ message }) => message)] as [number, string?])
    opened.close()
    return found
  }
  const header = inlineRow(1, 'name', 'size', 'other')
  const none = 'The row has no value for any field.'

  it('without a value for any field fails, and one without any value is skipped', async () => {
    expect(await readErrors('csv', 'name,size,other\n,,x\n,,\nAda,,x\n')).toEqual([[2, none], [4]])
    const rows = `${header}${inlineRow(2, ' ', '', 'x')}${inlineRow(3, ' ', '', ' ')}${inlineRow(4, 'Ada')}`
    expect(await readErrors('xlsx', makeWorkbook({ rows }))).toEqual([[2, none], [4]])
    const records = '[{"data":{}},{"data":{"name":" ","size":null}},{"data":{"size":0}}]'
    expect(await readErrors('json', records)).toEqual([[2, none], [3, none], [4]])
  })

  it('with a value right of the last heading fails, in a workbook as in CSV', async () => {
    const rows = `${header}<row r="2"><c r="A2"><v>7</v></c><c r="XFD2"><v>1</v></c></row>
      <row r="3"><c r="AB3"><v>1</v></c></row><row r="4"><c r="A4"><v>7</v></c><c r="D4" t="str"><v> </v></c></row>`
    const beyond = (column: string) =>
      `Column ${column} has a value and no heading: name the column, or empty its cell.`
    expect(await readErrors('xlsx', makeWorkbook({ rows }))).toEqual([
      [2, beyond('XFD')],
      [3, beyond('AB')],
      [4],
    ])
    expect(await readErrors('csv', 'name,size\nAda,1,x\nBob,2,\n')).toEqual([
      [2, expect.stringContaining('The row has 3 values, and the header 2')],
      [3],
    ])
  })
})

describe('A file', () => {
  it.each([
    ['csv', 'PKW;Name\nB 1;Ada\n'],
    ['csv', 'PK'],
    ['csv', ''],
    ['xlsx', 'PK\u0003\u0004'],
    ['xlsx', 'PK\u0005\u0006'],
  ])('is taken for %s by all of its mark: %j', async (format, text) => {
    const path = join(folder, String(++files))
    writeFileSync(path, text)
    expect(await detectFormat(path)).toBe(format)
  })

  it.each(['hidden', 'veryHidden', 'visible'] as const)(
    'whose first sheet is %s: it is the one that is read, and never unseen',
    async state => {
      const workbook = new exceljs.Workbook()
      workbook.addWorksheet('Codes', { state }).addRow(['Unseen'])
      workbook.addWorksheet('Table', { state: state === 'visible' ? 'hidden' : 'visible' }).addRow(['Name'])
      const read = readRows(Buffer.from(await workbook.xlsx.writeBuffer()))
      if (state === 'visible') expect(await read).toEqual([['Unseen']])
      else await expect(read).rejects.toThrow('it is hidden: "Codes". Move the table before it.')
    },
  )
})
