import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import exceljs from 'exceljs'
import { afterAll, describe, expect, it } from 'vitest'
import { type Cell, cellText } from '../../src/imports/cells.ts'
import { detectFormat } from '../../src/imports/format.ts'
import { openSource } from '../../src/imports/open-source.ts'
import { makeWorkbook } from '../support/workbooks.ts'

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

  it('is what the spreadsheet shows, where that has more digits', async () => {
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

  it('and is that number where it is none of a whole one, or the format says more', async () => {
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

  it('is what it shows: a day, a time without one, or a duration', async () => {
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
    // 29 February 1900, which there never was, and what a spreadsheet shows as ####.
    expect([await shownIn('yyyy-mm-dd', 60), await shownIn('h:mm', -0.5)]).toEqual([60, -0.5])
  })
})

describe('What the format of a workbook does not know as a value', () => {
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
