import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import exceljs from 'exceljs'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Field } from '../../db/schema/flows.ts'
import { openFile } from '../../src/resources/imports/read-file.ts'
import type { Reading } from '../../src/resources/imports/read-rows.ts'

const BOTH_NUMBERS = expect.stringContaining('a decimal point and with a decimal comma')
const BOTH_DAYS = expect.stringContaining('the day and with the month first')

describe('A text that can be read in two ways', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'columns-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const reading = (type: Field['type'], format: 'csv' | 'xlsx', more: Partial<Reading>): Reading => ({
    ...{ path: join(folder, 'file'), format, dataTypeId: crypto.randomUUID(), primaryKey: null },
    fields: [
      ...[
        {
          key: 'a',
          label: 'A',
          type,
          required: false,
          unique: false,
          options: [],
          order: 0,
          dataTypeId: null,
        },
      ],
      ...[
        {
          key: 'b',
          label: 'B',
          type,
          required: false,
          unique: false,
          options: [],
          order: 1,
          dataTypeId: null,
        },
      ],
    ],
    ...{ mapping: { a: 'A', b: 'B' }, language: 'de', timeZone: 'UTC', currency: 'EUR', after: 0 },
    ...more,
  })
  async function write(format: 'csv' | 'xlsx', rows: readonly (readonly string[])[]): Promise<void> {
    const path = join(folder, 'file')
    if (format === 'csv') return writeFileSync(path, rows.map(cells => `"${cells.join('";"')}"`).join('\n'))
    const workbook = new exceljs.Workbook()
    workbook.addWorksheet('One').addRows(rows.map(cells => [...cells]))
    await workbook.xlsx.writeFile(path)
  }
  /** Returns the values or errors of a column. The column beside it has only unambiguous texts. */
  async function readColumn(
    type: Field['type'],
    texts: readonly string[],
    more: Partial<Reading> = {},
    format: 'csv' | 'xlsx' = 'csv',
  ): Promise<unknown[]> {
    const beside = type === 'number' ? '1,5' : '2026-01-31'
    await write(format, [['A', 'B'], ...texts.map(text => [text, beside])])
    const file = openFile(reading(type, format, more), () => {})
    const found: unknown[] = []
    for await (const { values, errors, warnings } of file.rows) {
      found.push(errors[0]?.message ?? JSON.parse(values).a)
      expect(warnings.every(({ field }) => field === 'a')).toBe(true)
    }
    file.close()
    return found
  }

  it.each<[string, string[], unknown[]]>([
    ['where nothing else is said', ['1.234', '1'], [1234, 1]],
    ['where the rest is so, too', ['1.234', '1,5'], [1234, 1.5]],
    ['where the rest says so before it', ['12.5', '1.234'], [12.5, 1.234]],
    [
      'where the rest says so far behind it',
      ['1.234', ...Array(1_500).fill('7'), '0.5'],
      [1.234, ...Array(1_500).fill(7), 0.5],
    ],
    ['where the rest groups by the other sign', ['1.234', '1,234,567'], [1.234, 1_234_567]],
    ['where the rest is in other brackets', ['(1.234 €)', '12.50 EUR', '-3'], [-1.234, 12.5, -3]],
    [
      'where the rest is both',
      ['1.234', '1,234', '1.5', '1,5', '1.234,5', '7'],
      [BOTH_NUMBERS, BOTH_NUMBERS, 1.5, 1.5, 1234.5, 7],
    ],
    [
      'where what would say it is no number',
      ['1.234', '12.5 kg', 'x'],
      [1234, 'This has to be a number.', 'This has to be a number.'],
    ],
  ])('is a number as its column has it, %s', async (_where, texts, expected) => {
    for (const format of ['csv', 'xlsx'] as const)
      expect(await readColumn('number', texts, {}, format)).toEqual(expected)
  })

  it.each<[string, string, string[], unknown[]]>([
    ['en-US', 'where nothing else is said', ['03/04/2026'], ['2026-03-04']],
    ['en-GB', 'where nothing else is said', ['03/04/2026', '5.6.2026'], ['2026-04-03', '2026-06-05']],
    ['en-US', 'where the rest says so', ['03/04/2026', '25/12/2026'], ['2026-04-03', '2026-12-25']],
    ['en-GB', 'where the rest says so', ['03/04/2026', '12/25/2026'], ['2026-03-04', '2026-12-25']],
    ['en-GB', 'where the rest says so', ['5.6.2026', '12.25.2026'], ['2026-05-06', '2026-12-25']],
    [
      'en-US',
      'where only what has points says so',
      ['03/04/2026', '25.12.2026'],
      ['2026-03-04', '2026-12-25'],
    ],
    [
      'en-US',
      'where the rest is both',
      ['03/04/2026', '25/12/2026', '12/25/2026', '04/04/2026', '2026-05-06', '5.6.2026'],
      [BOTH_DAYS, '2026-12-25', '2026-12-25', '2026-04-04', '2026-05-06', '2026-06-05'],
    ],
  ])('is a day as its column has it, in %s %s', async (language, _where, texts, expected) => {
    expect(await readColumn('date', texts, { language })).toEqual(expected)
    const times = expected.map(one => (typeof one === 'string' ? `${one}T09:30:00.000Z` : one))
    expect(
      await readColumn(
        'datetime',
        texts.map(text => `${text} 09:30`),
        { language },
      ),
    ).toEqual(times)
  })

  it.each<[Field['type'], string, string[], string[]]>([
    [
      'number',
      'en',
      ['1,234', '2,500', '9,000'],
      [
        'ca 12,5',
        'kg 3,50',
        '3,50 kg',
        '12,5 %',
        '$12,5',
        '5,5 USD',
        'Stand 1,5',
        '(1,5)5',
        '1,5\n2',
        '1,5e999',
        `1,5${'0'.repeat(100)}`,
      ],
    ],
    [
      'date',
      'en-US',
      ['03/04/2026'],
      ['31/02/2026', '99/01/26', '25/12/2026 25:00', '25/12/2026 9:00 xm', '25/12/0000'],
    ],
    ['datetime', 'en-US', ['03/04/2026 09:00'], ['31/02/2026 09:00', '25/12/2026 24:30']],
    ['date', 'th', ['03/04/2026'], ['12/25/2569']],
  ])(
    'is a %s as its column has it, whatever else is refused, in %s',
    async (type, language, texts, refused) => {
      const alone = await readColumn(type, texts, { language })
      for (const text of refused) {
        const found = await readColumn(type, [...texts, text], { language })
        expect([text, found.at(-1)]).toEqual([text, expect.stringMatching(/^(This|A percentage) /)])
        expect([text, found.slice(0, -1)]).toEqual([text, alone])
      }
    },
  )

  it('is the same with blanks around it or in the cell that says how', async () => {
    const blanks = ' '.repeat(110)
    expect(await readColumn('number', [`${blanks}1.234`, `12.5${blanks}`])).toEqual([1.234, 12.5])
    expect(await readColumn('date', [`03/04/2026${blanks}`, `12/25/2026${blanks}`])).toEqual([
      '2026-03-04',
      '2026-12-25',
    ])
  })

  it('is the same whichever row the import goes on with', async () => {
    const texts = ['1.234', '2.345', '0.5', '3.456']
    const whole = await readColumn('number', texts)
    expect(whole).toEqual([1.234, 2.345, 0.5, 3.456])
    for (let after = 2; after <= 5; after++)
      expect(await readColumn('number', texts, { after })).toEqual(whole.slice(after - 1))
  })

  it('says so of a row that fails, where the row alone would be read as another', async () => {
    const errorsOf = async (texts: string[][]) => {
      await write('csv', [['A', 'B'], ...texts])
      const file = openFile(reading('number', 'csv', {}), () => {})
      const errors: string[][] = []
      for await (const row of file.rows) errors.push(row.errors.map(({ message }) => message.slice(0, 12)))
      file.close()
      return errors
    }
    expect(
      await errorsOf([
        ['1.234', '1'],
        ['1.5', '1'],
        ['1.234', 'x'],
        ['1', 'x'],
      ]),
    ).toEqual([[], [], ['This has to ', 'This is read'], ['This has to ']])
    expect(
      await errorsOf([
        ['1.234', '1'],
        ['1,5', '1'],
        ['1.234', 'x'],
      ]),
    ).toEqual([[], [], ['This has to ']])
  })

  it('is never read in one way beside a number of the other, in any order', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('1.234', '9,876', '1.5', '2,5', '3.456,7', '8,765.4', '6', ''), {
          minLength: 1,
          maxLength: 8,
        }),
        fc.constantFrom('de', 'en'),
        async (texts, language) => {
          const clear: { [text: string]: '.' | ',' } = {
            '1.5': '.',
            '2,5': ',',
            '3.456,7': ',',
            '8,765.4': '.',
          }
          const shown = new Set(texts.flatMap(text => clear[text] ?? []))
          const found = await readColumn(
            'number',
            texts.map(text => text || '0'),
            { language },
          )
          for (const [at, text] of texts.entries()) {
            if (text !== '1.234' && text !== '9,876') continue
            const decimal = shown.size === 1 ? [...shown][0] : language === 'de' ? ',' : '.'
            const expected = text.includes(decimal as string)
              ? Number(text.replace(',', '.'))
              : Number(text.replace(/[.,]/, ''))
            expect(found[at]).toEqual(shown.size === 2 ? BOTH_NUMBERS : expected)
          }
        },
      ),
      { numRuns: 25 },
    ))
})
