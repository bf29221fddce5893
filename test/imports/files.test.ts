import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Field } from '../../db/schema/flows.ts'
import { convert, styleOf } from '../../src/resources/imports/convert.ts'
import { writeFailedRows } from '../../src/resources/imports/failed-rows.ts'
import { openFile } from '../../src/resources/imports/read-file.ts'
import type { Cell, Source } from '../../src/sheets/cell.ts'
import { openSource, readHeadings } from '../../src/sheets/open-source.ts'
import { cellOf, sheetText } from '../../src/sheets/writers/cell-values.ts'
import { heldBytes } from '../support/held-bytes.ts'
import { until } from '../support/wait.ts'
import { makeWorkbook } from '../support/workbooks.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Format = 'csv' | 'xlsx' | 'json'
const HEADINGS = ['one', 'two', 'three']
const mapping = Object.fromEntries(HEADINGS.map(name => [name, name]))
let number = 0

const keep = (file: Buffer | string): string => {
  const path = join(folder, String(++number))
  writeFileSync(path, file)
  return path
}

async function read(format: Format, file: Buffer | string): Promise<{ rows: Cell[][]; source: Source }> {
  const source = await openSource({ path: keep(file), format }, HEADINGS)
  const rows: Cell[][] = []
  try {
    for await (const { cells } of source.rows)
      rows.push(Array.from(cells, cell => (cell === '' ? null : (cell ?? null))))
  } finally {
    source.close()
  }
  return { rows, source }
}

const anyText = fc
  .array(
    fc.oneof(
      fc
        .string({ unit: 'binary', maxLength: 8 })
        .map(text => text.toWellFormed().replaceAll(/[\0\ufeff]/g, '')),
      fc.constantFrom(
        '_x0041_',
        '_x000D_',
        '\r',
        '\n',
        '\r\n',
        ' ',
        '\t',
        '"',
        ';',
        ',',
        '|',
        '#REF!',
        '=1+1',
        "'",
        '-',
        '@',
        '1e5',
        'sep=;',
      ),
    ),
    { maxLength: 4 },
  )
  .map(parts => parts.join(''))

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

describe('A table of CSV', () => {
  const lineEnd = fc.constantFrom('\r\n', '\n', '\r')

  it('has the same rows whatever ends each of its lines, and keeps line ends within quotation marks', async () => {
    const row = fc.tuple(fc.tuple(anyText, anyText, anyText), lineEnd)
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), lineEnd, async (rows, first) => {
        const text = rows.map(([cells, end]) => `${cells.map(quoted).join(',')}${end}`).join('')
        const found = await read('csv', `${HEADINGS.join(',')}${first}${text}`)
        expect(found.rows.slice(1)).toEqual(rows.map(([cells]) => cells.map(cell => cell || null)))
      }),
      { numRuns: 25 },
    )
  })

  it('has no extra row if a line ends at the edge of a read', async () => {
    // A read ends at 65,536 bytes. Every place in some lines of each kind is there once.
    const READ_BYTES = 65_536
    const lines = Array.from({ length: 60 }, (_, at) => `${at},${'x'.repeat(at % 7)},z`)
    let apart = 0
    for (let lead = 0; lead < 48; lead++) {
      const text = [HEADINGS.join(','), 'x'.repeat(READ_BYTES - 300 + lead), ...lines]
        .map((line, at) => `${line}${at % 3 === 0 ? '\r\n' : at % 3 === 1 ? '\n' : '\r'}`)
        .join('')
      if (text.slice(READ_BYTES - 1, READ_BYTES + 1) === '\r\n') apart++
      const { rows } = await read('csv', text)
      expect(rows).toHaveLength(lines.length + 2)
      expect(rows.slice(2).every(cells => cells.length === 3 && cells[2] === 'z')).toBe(true)
    }
    expect(apart).toBeGreaterThan(0)
  })
})

describe('The header of a workbook', () => {
  const row = (index: number) => `<row><c t="s"><v>${index}</v></c></row>`
  const headingsOf = async (blanks: number) => {
    const others = Array.from({ length: 20 }, () => 'x'.repeat(100_000))
    // More than one read returns.
    const rows = `${row(1).repeat(blanks)}${'<!-- -->'.repeat(20_000)}${row(22)}${row(0)}`
    const path = keep(makeWorkbook({ shared: ['Ada', '  ', ...others, 'Name'], rows }))
    const source = await openSource({ path, format: 'xlsx' }, [], { header: true })
    return readHeadings(source).finally(() => source.close())
  }

  it('may stand below rows whose texts are blank', async () => {
    for (const blanks of [0, 9])
      expect(await headingsOf(blanks)).toEqual({ row: blanks + 1, headings: ['Name'] })
    await expect(headingsOf(10)).rejects.toThrow('The first 10 rows name no columns.')
  })
})

describe('A number that is exported', () => {
  it('is one in a spreadsheet where that keeps all of its digits, and its text is the same number', () => {
    const cell = cellOf({ type: 'number', options: [] }, 'UTC')
    const field: Field = {
      ...{ key: 'a', label: 'A', type: 'number', required: false, unique: false, options: [], order: 0 },
      dataTypeId: null,
    }
    const whole = fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n }).map(Number)
    const styles = ['en', 'de', 'fr'].map(language => styleOf({ language, timeZone: 'UTC', currency: 'EUR' }))
    fc.assert(
      fc.property(fc.oneof(whole, fc.integer()), fc.constantFrom(...styles), (value, style) => {
        const made = cell(value + 0)
        const digits = BigInt(value).toString().replace('-', '').length
        expect(made?.type).toBe(digits > 15 ? 'text' : 'number')
        expect(convert(field, made?.value ?? null, style)).toEqual({ value: value + 0 })
      }),
    )
  })
})

/** Failed rows come back as they were sent: a second import reads the same values and fails in the same way. */
describe('A file of failed rows', () => {
  const styles =
    '<numFmts><numFmt numFmtId="164" formatCode="00000"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="46"/><xf numFmtId="164"/><xf numFmtId="20"/><xf numFmtId="9"/><xf numFmtId="4"/></cellXfs>'
  const escaped = (text: string) =>
    sheetText(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const text = anyText.map(
    value => `<c t="inlineStr"><is><t xml:space="preserve">${escaped(value)}</t></is></c>`,
  )
  const sheetCell = fc.oneof(
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => `<c><v>${value}</v></c>`),
    // Days before March 1900, durations, times with a fraction.
    fc
      .tuple(
        fc.oneof(fc.integer({ min: 0, max: 80 }), fc.double({ min: 0, max: 60_000, noNaN: true })),
        fc.constantFrom(1, 2, 4, 5, 6),
      )
      .map(([serial, style]) => `<c s="${style}"><v>${serial}</v></c>`),
    fc
      .oneof(fc.integer({ min: -200_000, max: 200_000 }), fc.double({ noNaN: true, noDefaultInfinity: true }))
      .map(value => `<c s="3"><v>${value}</v></c>`),
    fc.boolean().map(value => `<c t="b"><v>${Number(value)}</v></c>`),
    fc.constantFrom('#REF!', '#DIV/0!', '#N/A', '#SPILL!').map(code => `<c t="e"><v>${code}</v></c>`),
    fc.constant('<c/>'),
  )
  const header = `<row>${HEADINGS.map(name => `<c t="inlineStr"><is><t>${name}</t></is></c>`).join('')}</row>`

  const made: [Format, fc.Arbitrary<Buffer | string>][] = [
    [
      'csv',
      fc
        .array(fc.tuple(anyText, anyText, anyText), { maxLength: 5 })
        .map(rows => [HEADINGS, ...rows].map(cells => cells.map(quoted).join(',')).join('\n')),
    ],
    [
      'xlsx',
      fc
        .tuple(fc.array(fc.tuple(sheetCell, sheetCell, sheetCell), { maxLength: 5 }), fc.boolean())
        .map(([rows, date1904]) =>
          makeWorkbook({
            styles,
            date1904,
            rows: header + rows.map(cells => `<row>${cells.join('')}</row>`).join(''),
          }),
        ),
    ],
  ]

  async function sendBack(format: Format, file: Buffer | string): Promise<Buffer> {
    const to = new PassThrough()
    const whole = buffer(to)
    const { rows } = await read(format, file)
    const failed = rows.map((_, at) => ({
      row: at + 1,
      errors: JSON.stringify([{ field: null, value: null, message: 'No.' }]),
    }))
    const failedAfter = async (after: number) => failed.slice(Math.max(after, 1))
    await writeFailedRows(keep(file), { format, mapping, countsSep: false }, failedAfter, to)
    return whole
  }
  const padded = (cells: Cell[]) => HEADINGS.map((_, at) => cells[at] ?? null)

  it.each(made)('of %s holds every cell as it was sent', async (format, file) => {
    await fc.assert(
      fc.asyncProperty(file, async given => {
        const before = await read(format, given)
        const after = await read(format, await sendBack(format, given))
        expect(after.rows.slice(1).map(padded)).toEqual(before.rows.slice(1).map(padded))
        expect(after.source.date1904?.()).toBe(before.source.date1904?.())
      }),
      { numRuns: 25 },
    )
  })

  it('of JSON holds every record as it was sent', async () => {
    const json = fc.jsonValue().map(value => JSON.parse(JSON.stringify(value)))
    const record = fc.oneof(json, fc.record({ data: fc.dictionary(fc.constantFrom(...HEADINGS, 'x'), json) }))
    const indent = fc.constantFrom(0, 1, '\r\n')
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 6 }), indent, async (records, space) => {
        const back = JSON.parse(String(await sendBack('json', JSON.stringify(records, null, space))))
        const isObject = (one: unknown) => typeof one === 'object' && one !== null && !Array.isArray(one)
        const expected = records.map(one => ({ ...(isObject(one) ? one : { record: one }), error: 'No.' }))
        expect(back).toEqual(expected)
      }),
      { numRuns: 25 },
    )
  })

  it('needs of the texts that cells share those of its rows alone', async () => {
    const large = 'x'.repeat(250_000)
    const shared = ['one', ...Array.from({ length: 120 }, (_, at) => `${at} ${large}`), 'two', 'last']
    const row = (...indices: number[]) =>
      `<row>${indices.map(index => `<c t="s"><v>${index}</v></c>`).join('')}</row>`
    const many = Array.from({ length: 60 }, (_, at) => row(at + 61, 122))
    const file = makeWorkbook({ shared, rows: [row(0, 121), ...many, row(122, 51), row(122, 0)].join('') })
    const before = heldBytes()
    const to = new PassThrough()
    const whole = buffer(to)
    const path = keep(file)
    await writeFailedRows(
      path,
      { format: 'xlsx', mapping: { a: 'one', b: 'two' }, countsSep: false },
      async after => {
        // All of them together are 30 MB. Another thread frees collected buffers some time later.
        await until('few of them are held', () => heldBytes() - before < 20 * 1024 * 1024)
        return after < 62 ? [{ row: 62, errors: '[{"field":null,"value":null,"message":"No."}]' }] : []
      },
      to,
    )
    const { rows } = await read('xlsx', await whole)
    expect(rows).toEqual([
      ['one', 'two', 'Import error'],
      ['last', `50 ${large}`, 'No.'],
    ])
  })

  it('of CSV with a line that says its delimiter has it again where nothing else says it', async () => {
    const back = async (file: string) => String(await sendBack('csv', file))
    expect(await back('sep=^\none^two^three\n1^a,b;c^3\n')).toBe(
      '\ufeffsep=^\r\none^two^three^Import error\r\n1^"a,b;c"^3^No.\r\n',
    )
    expect(await back('sep=;\none;two;three\n1;2;3\n')).toBe(
      '\ufeffone;two;three;Import error\r\n1;2;3;No.\r\n',
    )
  })

  it('of CSV has the delimiter of the upload, and runs no formula in a spreadsheet that goes by another', async () => {
    const delimiters = [',', ';', '\t', '|']
    const cell = fc
      .array(fc.constantFrom(...delimiters, '\n', '=1+1', '=', '-', '@', '+a', '"', "'", ' ', 'a', '5'), {
        maxLength: 8,
      })
      .map(parts => parts.join(''))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...delimiters),
        fc.tuple(cell, cell, cell),
        async (delimiter, cells) => {
          const lines = [HEADINGS, cells.map(quoted)].map(line => line.join(delimiter))
          const file = String(await sendBack('csv', lines.join('\r\n')))
          expect(file.split('\r\n')[0]).toBe(`\ufeff${[...HEADINGS, 'Import error'].join(delimiter)}`)
          // Checks every place where a cell could begin: quotation marks count only at its beginning, and the file's
          // own are doubled.
          for (const shown of file.split(/[,;\t|\r\n]/)) {
            const isRun = /^"{0,2}\s*[=+@-]/.test(shown) && !/^"?\s*[+-]?[\d\s.]*"?$/.test(shown)
            expect(isRun, `${shown} of ${file}`).toBe(false)
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  it('has the cells right of the last heading behind the message', async () => {
    const cells =
      '<c r="A2"><v>1</v></c><c r="E2"><v>5</v></c><c r="XFC2"><v>6</v></c><c r="XFD2"><v>7</v></c>'
    const { rows } = await read(
      'xlsx',
      await sendBack('xlsx', makeWorkbook({ rows: `${header}<row r="2">${cells}</row>` })),
    )
    expect(rows[0]).toEqual([...HEADINGS, 'Import error'])
    expect([rows[1]?.[0], rows[1]?.[3], rows[1]?.[5], rows[1]?.length, rows[1]?.at(-1)]).toEqual([
      1,
      'No.',
      5,
      16_384,
      6,
    ])
  })

  it('holds no empty cell where a value is missing, which would go in as one', async () => {
    const file = makeWorkbook({ rows: `${header}<row><c><f>1+1</f></c><c><v>x</v></c></row>` })
    const { rows } = await read('xlsx', await sendBack('xlsx', file))
    expect(rows[1]?.slice(0, 2)).toEqual([{ fault: '#N/A' }, { fault: '#N/A' }])
  })
})

it('A file gives signs of life while the row to go on with is looked for', async () => {
  const field: Field = {
    ...{ key: 'a', label: 'A', type: 'text', required: false, unique: false, options: [], order: 0 },
    dataTypeId: null,
  }
  let signs = 0
  const file = openFile(
    {
      path: keep(`A\n${'x\n'.repeat(25_000)}`),
      ...{
        format: 'csv',
        dataTypeId: crypto.randomUUID(),
        fields: [field],
        primaryKey: null,
        mapping: { a: 'A' },
      },
      ...{ language: 'en', timeZone: 'UTC', currency: 'EUR', after: 24_000 },
    },
    () => signs++,
  )
  expect((await file.rows.next()).value).toMatchObject({ row: 24_001 })
  expect(signs).toBe(2)
  file.close()
})
