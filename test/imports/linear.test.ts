import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { BULK } from '../../db/drivers/postgres.ts'
import type { Field } from '../../db/schema/flows.ts'
import { convert, styleOf } from '../../src/resources/imports/convert.ts'
import type { Reading } from '../../src/resources/imports/read-rows.ts'
import { readBatches } from '../../src/resources/imports/reader.ts'
import type { Cell } from '../../src/sheets/cell.ts'
import { FileError } from '../../src/sheets/file-error.ts'
import { MAX_CELL_CHARACTERS } from '../../src/sheets/limits.ts'
import { openSource } from '../../src/sheets/open-source.ts'
import { processorMsSince } from '../support/processor-time.ts'
import { makeZip, workbookParts } from '../support/workbooks.ts'

/** The texts are made of these units. An expression might look through such a text again and again. */
const UNITS = [
  ...[
    ' ',
    'T',
    ',',
    ';',
    '.',
    '-',
    '+',
    '/',
    ':',
    "'",
    '"',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '\\',
    '_',
    '*',
    '|',
  ],
  ...[
    '\n',
    '\t',
    '1',
    'a',
    'e',
    'x',
    'ä',
    '\u0300',
    '\ufdfa',
    '😀',
    '1 ',
    '1,',
    '1.',
    'a ',
    'a.',
    'a,',
    '_x',
  ],
]
/** Texts before and after the units, so that a match that has begun fails at the end. */
const FRAMES: [before: string, after: string][] = [
  ['', ''],
  ['', '\u0001'],
  ['1', '!'],
  ['1,', '!'],
  ['52.5, 13.4 (', '!'],
]
/** Each mark above a letter has to be moved before all of the others. */
const MARKS = (length: number) => `a${'\u0315'.repeat(length / 2)}${'\u0300'.repeat(length / 2)}\u0001`

/** An expression that looks through a text for each of its characters has a ratio of 8. */
const MAX_RATIO = 4
const SHARES = 8
/** A shorter time says nothing about its growth. */
const SHORTEST_MS = 3
const ROUNDS = 5

/**
 * Asserts that a text takes about as long to read as eight texts of an eighth of its length. None of them takes less than
 * `leastMs`, if that is known: what it says is not measured again.
 */
async function expectLinear<Made>(
  what: string,
  length: number,
  make: (length: number) => Made,
  read: (made: Made) => unknown,
  leastMs = 0,
): Promise<void> {
  const whole = make(length)
  let share: Made | undefined
  const time = async (times: number, made: Made) => {
    const begun = process.cpuUsage()
    for (let count = 0; count < times; count++) await read(made)
    return processorMsSince(begun)
  }
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const one = await time(1, whole)
    if (one < Math.max(SHORTEST_MS, MAX_RATIO * SHARES * leastMs)) return
    share ??= make(length / SHARES)
    least = Math.min(least, one / (await time(SHARES, share)))
    if (least < MAX_RATIO) return
  }
  expect.soft(least, `${what} at ${length} characters`).toBeLessThan(MAX_RATIO)
}

const TYPES: Field['type'][] = [
  ...(['text', 'number', 'boolean', 'date', 'datetime', 'email'] as const),
  ...(['phone', 'url', 'select', 'multiselect', 'location', 'reference'] as const),
]

const fieldOf = (type: Field['type'], options: string[] = []): Field => ({
  ...{ key: 'a', label: 'A', type, required: false, unique: false, options, order: 0, dataTypeId: null },
})

describe('Reading takes as long as a text is', () => {
  const options = Array.from({ length: 500 }, (_, at) => `${'a '.repeat(40)}${at}`)
  const style = styleOf({ language: 'de', timeZone: 'Europe/Berlin', currency: 'EUR' })
  it.each(TYPES)('whatever it is made of, in a cell for a %s', async type => {
    const target = fieldOf(type, options)
    const check = (name: string, length: number, make: (length: number) => Cell) =>
      expectLinear(name, length, make, cell => convert(target, cell, style))
    for (const length of [8_192, MAX_CELL_CHARACTERS]) {
      for (const unit of UNITS) {
        for (const [before, after] of FRAMES) {
          const name = JSON.stringify([before, unit, after])
          await check(name, length, length => {
            const count = (length - before.length - after.length) / unit.length
            return before + unit.repeat(count) + after
          })
        }
      }
      await check('marks', length, MARKS)
      await check('JSON', length, length => ({ json: Array(length / 4).fill('a') }))
    }
  })

  it('of a list of options, however many there are', () => {
    const spent = (count: number) => {
      const target = fieldOf('multiselect', options.slice(0, count))
      const cells = ['a,'.repeat(4_900), `${'a '.repeat(40)}x,`.repeat(120), 'ä'.repeat(9_000)]
      const begun = process.cpuUsage()
      for (const cell of cells) convert(target, cell, style)
      return processorMsSince(begun)
    }
    spent(500)
    const ratio = Math.min(...[1, 2, 3].map(() => spent(500) / Math.max(spent(5), SHORTEST_MS)))
    expect(ratio).toBeLessThan(20)
  })
})

describe('Reading takes as long as a file is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-linear-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const LENGTH = 32_768
  const LETTERS = [
    ' ',
    'a',
    '/',
    '../',
    'a/../',
    '[',
    '"',
    '\\',
    '_x',
    '_x0041',
    '1',
    '.',
    ',',
    ';',
    '\u0300',
  ]

  const read = async (format: 'xlsx' | 'csv' | 'json', file: Buffer | string) => {
    const path = join(folder, 'file')
    writeFileSync(path, file)
    try {
      const source = await openSource({ path, format }, ['a'])
      try {
        for await (const _ of source.rows) {
          // The file is read to its end.
        }
      } finally {
        source.close()
      }
    } catch (error) {
      if (!(error instanceof FileError)) throw error
    }
  }
  const inXml = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

  /** Workbooks with a text at each place that can hold one. */
  const PLACES: { [place: string]: (text: string) => Buffer } = {
    'a format': text =>
      workbook({ styles: `<numFmts><numFmt numFmtId="200" formatCode="${text}"/></numFmts>` }),
    'a number of a format': text =>
      workbook({ styles: `<numFmts><numFmt numFmtId="${text}" formatCode="d"/></numFmts>` }),
    'a target': text => workbook({ target: text }),
    'a cell': text => workbook({ cell: `<c t="inlineStr"><is><t>${text}</t></is></c>` }),
    'a number': text => workbook({ cell: `<c><v>${text}</v></c>` }),
    'a shared text': text => workbook({ cell: '<c t="s"><v>0</v></c>', shared: [text] }),
    'a number of a shared text': text => workbook({ cell: `<c t="s"><v>${text}</v></c>`, shared: ['a'] }),
    'a place of a cell': text => workbook({ cell: `<c r="${text}"><v>1</v></c>` }),
    'a type of a cell': text => workbook({ cell: `<c t="${text}"><v>1</v></c>` }),
    'a style of a cell': text => workbook({ cell: `<c s="${text}"><v>1</v></c>` }),
    'an attribute': text => workbook({ cell: `<c a="${text}"><v>1</v></c>` }),
    'a comment': text => workbook({ cell: `<!-- ${text.replaceAll('-', '')} --><c><v>1</v></c>` }),
  }
  function workbook({
    styles,
    target,
    cell,
    shared,
  }: {
    styles?: string
    target?: string
    cell?: string
    shared?: string[]
  }): Buffer {
    const parts = workbookParts({
      rows: `<row r="1">${cell ?? '<c><v>1</v></c>'}</row>`,
      ...(styles && { styles }),
      ...(shared && { shared }),
    })
    if (target === undefined) return makeZip(parts)
    return makeZip(
      parts.map(part =>
        part.name.endsWith('workbook.xml.rels')
          ? {
              ...part,
              data: String(part.data).replace(
                '<Relationship ',
                `<Relationship Id="x" Type="x" Target="${target}"/><Relationship `,
              ),
            }
          : part,
      ),
    )
  }

  /** The time of the shortest file. */
  async function findLeastMs(read: () => Promise<void>): Promise<number> {
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < 10; round++) {
      const begun = process.cpuUsage()
      await read()
      least = Math.min(least, processorMsSince(begun))
    }
    return least
  }

  it.each(Object.keys(PLACES))('whatever stands in %s of a workbook', async place => {
    const write = PLACES[place] as (text: string) => Buffer
    const shortest = write('a')
    const leastMs = await findLeastMs(() => read('xlsx', shortest))
    for (const letter of LETTERS) {
      const make = (length: number) => write(inXml(letter.repeat(length / letter.length)))
      await expectLinear(JSON.stringify(letter), LENGTH, make, file => read('xlsx', file), leastMs)
    }
  })

  const TEXTS = {
    csv: [
      ['', ''],
      ['a,b\n"', '"'],
    ],
    json: [
      ['[{"data":{"a":"', '"}}]'],
      ['[{"data":{"a":', '}}]'],
    ],
  }
  it.each(['csv', 'json'] as const)('whatever stands in a text of a .%s file', async format => {
    const leastMs = await findLeastMs(() => read(format, TEXTS[format][0]?.join('a') as string))
    for (const letter of [' ', 'a', '"', '""', '"a"', '\\', ',', ';', '\n', '{', '[1,', 'sep=']) {
      for (const [before, after] of TEXTS[format]) {
        const name = JSON.stringify([before, letter, after])
        const make = (length: number) => `${before}${letter.repeat(length / letter.length)}${after}`
        await expectLinear(name, LENGTH, make, file => read(format, file), leastMs)
      }
    }
  })

  it('and no file is read for ever, however short each of its parts takes', async () => {
    const path = join(folder, 'many.csv')
    writeFileSync(path, `A\n${'x\n'.repeat(50)}`)
    const reading = {
      ...{ path, format: 'csv' as const, dataTypeId: '', primaryKey: null, mapping: { a: 'A' }, after: 0 },
      ...{ fields: [fieldOf('text')], language: 'en', timeZone: 'UTC', currency: 'EUR' },
    } satisfies Reading
    const count = async (withinMs?: number) => {
      let rows = 0
      const batches = readBatches(reading, { ...BULK, rows: 1 }, new AbortController().signal, withinMs)
      for await (const batch of batches) rows += batch.rows.length
      return rows
    }
    expect(await count()).toBe(50)
    await expect(count(1)).rejects.toThrow('takes longer than a file may')
  })
})
