import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Cell } from '../../src/sheets/cell.ts'
import { detectFormat } from '../../src/sheets/format.ts'
import { openSource } from '../../src/sheets/open-source.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-tables-'))
afterAll(() => rmSync(folder, { recursive: true }))
let number = 0

const keep = (file: Buffer | string): string => {
  const path = join(folder, String(++number))
  writeFileSync(path, file)
  return path
}

/** Reads the cells of a table and the numbers of its rows. */
async function read(
  file: Buffer | string,
  countsSep = false,
): Promise<{ rows: Cell[][]; numbers: number[] }> {
  const source = await openSource({ path: keep(file), format: 'csv', countsSep }, [])
  const rows: Cell[][] = []
  const numbers: number[] = []
  try {
    for await (const { cells, number } of source.rows) {
      rows.push(cells)
      numbers.push(number)
    }
  } finally {
    source.close()
  }
  return { rows, numbers }
}

describe('A row of CSV', () => {
  it('is numbered as a spreadsheet does, which hides a line that says the delimiter', async () => {
    for (const file of ['one;two\n1;2\n', 'sep=;\none;two\n1;2\n', '\ufeff"sep=^"\r\none^two\r\n1^2\r\n'])
      expect((await read(file)).numbers).toEqual([1, 2])
    // The rows keep their numbers.
    expect((await read('sep=;\none;two\n1;2\n', true)).numbers).toEqual([2, 3])
    await expect(read('sep=;\none;two\n1;"2\n')).rejects.toThrow('opened in row 2 ')
  })

  it('has a bound in bytes in any encoding, and its cells have no bound of their own', async () => {
    const { rows } = await read(`one,two\n"${'x'.repeat(900_000)}",2\n`)
    expect(rows[1]).toEqual(['x'.repeat(900_000), '2'])
    for (const letter of ['x', 'я', '漢']) {
      const text = letter.repeat(1_100_000 / Buffer.byteLength(letter))
      await expect(read(`one,two\n"${text}",2\n`)).rejects.toThrow('Row 2 has more than 1 MiB of text')
    }
  })
})

describe('A table of one column', () => {
  it.each([
    ['name\nBerlin, Germany\nParis; France\n', ['name', 'Berlin, Germany', 'Paris; France']],
    ['price\r\n1,5\r\n"2,5"\r\n', ['price', '1,5', '2,5']],
    [' \n"a, b"\n1|2\n1\t2', ['a, b', '1|2', '1\t2']],
    ['name', ['name']],
  ])('is not divided by what its values hold: %j', async (text, cells) => {
    const { rows } = await read(text)
    expect(rows.filter(row => String(row[0]).trim() !== '')).toEqual(cells.map(cell => [cell]))
  })

  it('has as many values in a row as stand there in quotation marks, whatever its header says', async () => {
    const { rows } = await read(
      [
        'name',
        '"Berlin","Germany"',
        '"Paris";75',
        '"Rome",',
        '"say ""hi"", he said","x","y"',
        '"Ada",  "Bob"',
        '"Eve","x\ny"',
        // One value, as it stands and as it is meant.
        '"a, b"',
        '"Stop", he said',
        '"""Yes"",""No"""',
        '5" pipe, long',
        '"5" pipe',
        '""',
      ].join('\r\n'),
    )
    expect(rows.slice(1)).toEqual([
      ['Berlin', 'Germany'],
      ['Paris', '75'],
      ['Rome', ''],
      ['say "hi", he said', 'x', 'y'],
      ['Ada', '  "Bob"'],
      ['Eve', '"x'],
      ['y"'],
      ['a, b'],
      ['"Stop", he said'],
      ['"Yes","No"'],
      ['5" pipe, long'],
      ['"5" pipe'],
      [''],
    ])
  })

  it('is one where a row of blank cells stands above the header of several', async () => {
    expect((await read(';;\na;b;c\n1,5;2;3\n')).rows.at(-1)).toEqual(['1,5', '2', '3'])
  })
})

describe('A text is what it holds, in whatever it is encoded', () => {
  const texts: [string, string, string | RegExp][] = [
    ['a table', 'one;two\n1;2\n', 'csv'],
    ['records', ' [ {"data":{"one":"1"}}]', 'json'],
    ['no records', '[]', 'json'],
    ['a table in Chinese', `${'漢字'.repeat(100)};姓名\n一郎;${'漢'.repeat(40_000)}\n`, 'csv'],
    ['records in Chinese', `[{"data":{"one":"${'漢'.repeat(200)}𠮷${'一'.repeat(9)}"}}]`, 'json'],
    ['records whose sample ends within a character', `[{"data":{"one":"${'𠮷'.repeat(20_000)}"}}]`, 'json'],
    ['a table in Russian', 'Имя;Город\nАнна;Москва\n', 'csv'],
    ['a table in Hindi', 'नाम;शहर\nनमन;मनसा\n', 'csv'],
    ['a table in Malayalam', 'പേര്;നഗരം\nരമണി;നഗരം\n', 'csv'],
    ['one record', '{"data":{"one":"1"}}', /one object of JSON/],
    ['a web page', '<!DOCTYPE html><p>One</p>', /a web page or an XML file/],
  ]
  it.each(texts)('%s', async (_what, text, becomes) => {
    const wide = (given: string) => Buffer.from(given, 'utf16le')
    const files = [text, `\ufeff${text}`].flatMap(one => [Buffer.from(one), wide(one), wide(one).swap16()])
    for (const file of files) {
      const found = detectFormat(keep(file))
      if (typeof becomes === 'string') expect(await found).toBe(becomes)
      else await expect(found).rejects.toThrow(becomes)
    }
  })

  it('also where few of its letters have zeros', async () => {
    const text = `${'名'.repeat(99)};市\n一郎;東京\n`
    const wide = Buffer.from(text, 'utf16le')
    for (const file of [wide, Buffer.from(wide).swap16()]) {
      const { rows } = await read(file)
      expect(rows).toEqual([
        ['名'.repeat(99), '市'],
        ['一郎', '東京'],
      ])
    }
  })

  it('and is refused for a NUL wherever it strayed into a short one', async () => {
    for (const text of ['one;two\n1;2\nÄnne;Café\n', '[{"data":{"one":"1"}}]\n', 'name\r\nAda\r\nBob\r\n']) {
      for (let at = 0; at <= text.length; at++) {
        const file = Buffer.from(`${text.slice(0, at)}\0${text.slice(at)}`)
        await expect(detectFormat(keep(file))).rejects.toThrow('NUL bytes')
      }
    }
  })

  it('and is refused if it is no table', async () => {
    const bytes = Buffer.from(Array.from({ length: 4_000 }, (_, at) => (at * 7) % 5))
    const strayed = ['one;two\n1;2\0\n', 'one;two\n1;\0two\n', '[{"data":{"one":"\0漢"}}]', '\0'.repeat(99)]
    const lone = Buffer.from(`漢\n${'漢'.repeat(20)}\ud800漢`, 'utf16le')
    for (const none of [bytes, ...strayed.map(text => Buffer.from(text)), lone, lone.swap16()])
      await expect(detectFormat(keep(none))).rejects.toThrow('NUL bytes')
  })
})
