import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { read } from '@e965/xlsx'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { DataStep } from '../../db/queries/data-in-steps.ts'
import { ExportFailure, type Source } from '../../src/resources/exports/source.ts'
import { writeExport } from '../../src/resources/exports/write.ts'
import { convert, styleOf } from '../../src/resources/imports/convert.ts'
import type { Column } from '../../src/sheets/column.ts'
import { cellOf, createLocalTime, sheetName, sheetText } from '../../src/sheets/writers/cell-values.ts'
import { createSheetRows } from '../../src/sheets/writers/sheet-rows.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-export-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = () => join(folder, String(++files))

/** A source with these steps. It calls `onRead` when a step is requested. */
const sourceOf = (steps: readonly Partial<DataStep>[], onRead = () => {}): Source => {
  let at = 0
  return {
    name: 'Things',
    columns: [{ heading: 'Name', type: 'text', options: [] }],
    keys: () => ['name'],
    timeZone: 'UTC',
    isFiltered: false,
    findFew: async () => null,
    count: async () => 1,
    async read() {
      onRead()
      const step = steps[at++]
      return { text: '', count: 0, looked: 0, last: String(at), ended: at >= steps.length, ...step }
    },
  }
}
const write = (
  source: Source,
  format: 'xlsx' | 'json',
  options: { signal?: AbortSignal; path?: string; maxFileBytes?: number } = {},
) => {
  const { signal = new AbortController().signal, path = newPath(), maxFileBytes = 1e9 } = options
  return writeExport(path, { source, format, ids: null, signal }, { maxFileBytes })
}

describe('Writing an export', () => {
  it.each(['xlsx', 'json'] as const)('puts steps together, empty ones and none at all: %s', async format => {
    const rows = (from: number, count: number): Partial<DataStep> => {
      const names = Array.from({ length: count }, (_, at) => `n${from + at}`)
      const texts = names.map(name => JSON.stringify(format === 'json' ? { name } : [name]))
      return { text: texts.join(',\n'), count, looked: count + 1 }
    }
    for (const steps of [[], [rows(0, 0), rows(0, 3), rows(0, 0), rows(3, 2000), rows(0, 0)]]) {
      const path = newPath()
      const { count, bytes } = await write(sourceOf(steps), format, { path })
      const file = readFileSync(path)
      expect([count, bytes]).toEqual([steps.length && 2003, file.length])
      const sheet = () => read(file).Sheets.Things as { [cell: string]: { v: unknown } }
      const names =
        format === 'json'
          ? JSON.parse(file.toString()).map(({ name }: { name: string }) => name)
          : Array.from(
              { length: count },
              (
                (cells = sheet()) =>
                (_, at) =>
                  cells[`A${at + 2}`]?.v
              )(),
            )
      expect(names).toEqual(Array.from({ length: count }, (_, at) => `n${at}`))
    }
  })

  it('stops when it is aborted, and reads nothing more', async () => {
    for (const format of ['xlsx', 'json'] as const) {
      const stopping = new AbortController()
      let asked = 0
      const endless = Array.from({ length: 10_000 }, () => ({ text: '["x"]', count: 1 }))
      const source = sourceOf(endless, () => ++asked === 5 && stopping.abort(new Error('told to')))
      await expect(write(source, format, { signal: stopping.signal })).rejects.toThrow('told to')
      expect(asked).toBeLessThan(8)
    }
  })

  it('fails if the writing thread fails or cannot write', async () => {
    const path = join(folder, 'nowhere', 'file')
    for (const format of ['xlsx', 'json'] as const)
      await expect(write(sourceOf([{ text: '["x"]', count: 1 }]), format, { path })).rejects.toThrow('ENOENT')
    await expect(write(sourceOf([{ text: 'no JSON', count: 1 }]), 'xlsx')).rejects.toThrow('JSON')
  })

  it('says what a file cannot hold: too many rows of a sheet, too long a cell, too many bytes', async () => {
    const many = [
      { text: '["x"]', count: 600_000 },
      { text: '["x"]', count: 600_000 },
    ]
    await expect(write(sourceOf(many), 'xlsx')).rejects.toThrow('at most 1,048,575 records')
    expect((await write(sourceOf(many), 'json')).count).toBe(1_200_000)
    const long = [{ text: JSON.stringify(['x'.repeat(32_768)]), count: 1 }]
    await expect(write(sourceOf(long), 'xlsx')).rejects.toThrow(ExportFailure)
    const large = Array.from({ length: 20 }, () => ({ text: JSON.stringify(['x'.repeat(9_000)]), count: 1 }))
    for (const format of ['xlsx', 'json'] as const)
      await expect(write(sourceOf(large), format, { maxFileBytes: 100 })).rejects.toThrow('would be larger')
  })
})

describe('A row of a sheet', () => {
  const styles = { text: 1, date: 2, time: 3 }
  const row = (types: Column['type'][], values: unknown[]) => {
    const columns = types.map(type => ({ heading: 'A', type, options: [] }))
    return createSheetRows(columns, 'UTC', styles)(2, values)
  }

  it('has its cells where they belong, up to the last column', () => {
    const count = 16_384
    const xml = row(
      Array(count).fill('number'),
      Array.from({ length: count }, (_, at) => at),
    )
    const places = [...xml.matchAll(/<c r="([A-Z]+)2"/g)].map(([, name]) => name)
    expect([0, 25, 26, 51, 52, 701, 702, 16_383].map(at => places[at])).toEqual([
      ...['A', 'Z', 'AA', 'AZ', 'BA', 'ZZ', 'AAA', 'XFD'],
    ])
    expect(new Set(places).size).toBe(count)
  })

  it('has no cell without a value, and no row without any', () => {
    expect(row(['text', 'number'], [null, 5])).toBe('<row r="2"><c r="B2"><v>5</v></c></row>')
    expect(row(['text', 'number'], [null, null])).toBe('')
  })

  it('is well-formed and says the same, whatever texts are in it', () => {
    const decode = (xml: string) =>
      xml
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&')
        .replaceAll(/_x([0-9A-F]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({
            unit: fc.constantFrom(
              '&',
              '<',
              '>',
              '"',
              '_x0041_',
              '_',
              ' ',
              '\n',
              '\r',
              '\0',
              'a',
              ']]>',
              '😀',
            ),
          }),
          fc.string({ unit: 'grapheme' }),
        ),
        text => {
          const xml = row(['text'], [text])
          const plain = /^<row r="2"><c r="A2" s="1" t="str"><v>([^<>]*)<\/v><\/c><\/row>$/.exec(xml)
          const rich = /<is><r><t xml:space="preserve">([^<>]*)<\/t><\/r><\/is><\/c><\/row>$/.exec(xml)
          expect(decode((plain ?? rich)?.[1] as string)).toBe(text)
          // Only in rich text do readers keep blanks and know escapes.
          expect(rich !== null).toBe(text !== text.trim() || sheetText(text) !== text)
        },
      ),
    )
  })
})

describe('A cell', () => {
  it('holds any text so that XML and spreadsheets change nothing of it', () => {
    const decode = (text: string) =>
      text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('_x0041_', '_x005F_', '_', 'x0041_', '\r\n', '\u0001', '\uffff', '_x', '0041_'),
    )
    fc.assert(
      fc.property(fc.array(part), parts => {
        const text = parts.join('')
        expect(decode(sheetText(text))).toBe(text)
        expect(sheetText(text)).not.toMatch(/[^\t\n\x20-\x7e\x80-\ufffd]/)
      }),
    )
  })

  it('shows a time of the clock of which there is one, or else the text', () => {
    const berlin = cellOf({ type: 'datetime', options: [] }, 'Europe/Berlin')
    expect(berlin('2026-10-25T00:30:00.000Z')).toEqual({ type: 'text', value: '2026-10-25T00:30:00.000Z' })
    expect(berlin('2026-10-25T01:30:00.000Z')?.type).toBe('text')
    expect(berlin('2026-10-24T23:59:59.999Z')?.type).toBe('time')
    expect(berlin('2026-10-25T02:00:00.000Z')?.type).toBe('time')
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Pacific/Apia',
    ]
    const clocks = zones.map(timeZone => ({
      local: createLocalTime(timeZone),
      format: new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
    }))
    const span = { min: Date.UTC(1901, 0, 1), max: Date.UTC(2100, 0, 1) }
    fc.assert(
      fc.property(
        fc.constantFrom(...clocks),
        fc.integer(span),
        fc.integer(span),
        ({ local, format }, one, other) => {
          const [a, b] = [local(one), local(other)]
          if (a !== null && b !== null && one !== other) expect(a).not.toBe(b)
          const near = [0, 15, 30, 60, 61].flatMap(minutes => local(one + minutes * 60_000) ?? [])
          expect(new Set(near).size).toBe(near.length)
          if (a === null) return
          expect(new Date(a).toISOString().slice(0, 19).replace('T', ' ')).toBe(format.format(one))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is a text where a spreadsheet would count other days', () => {
    const date = cellOf({ type: 'date', options: [] }, 'UTC')
    expect(['0001-01-01', '1900-02-28', '1900-03-01', '9999-12-31'].map(date)).toEqual([
      { type: 'text', value: '0001-01-01' },
      { type: 'text', value: '1900-02-28' },
      { type: 'date', value: 61 },
      { type: 'date', value: 2_958_465 },
    ])
  })

  it.each(['en', 'de', 'ar', 'ar-SA', 'fa', 'th', 'he', 'hi'])(
    'is taken back as the day and the time that it was, of whatever year: %s',
    language => {
      const style = styleOf({ language, timeZone: 'Asia/Tehran', currency: 'EUR' })
      for (const type of ['date', 'datetime'] as const) {
        const field = { key: 'a', label: 'A', type, required: false, unique: false, options: [], order: 0 }
        const make = cellOf({ type, options: [] }, 'Asia/Tehran')
        for (let year = 1; year < 1900; year += 7) {
          const day = `${String(year).padStart(4, '0')}-02-03`
          const value = type === 'date' ? day : `${day}T04:05:06.789Z`
          const cell = make(value)
          expect(cell?.type).toBe('text')
          expect(convert({ ...field, dataTypeId: null }, cell?.value as string, style)).toEqual({ value })
        }
      }
    },
  )

  it('is the text that a record has where the fields of two flows share a column, and it is of the other one', () => {
    const texts = [
      ...['Suite 12', '5', 'Tor 7', 'May 4', '2026', '2026-11', '2026-11-21 09:00', '2026-11-21T09:00'],
      ...['1400-99-99', '2500-99-99', '2026-02-31', '2026-02-31T09:00:00.000Z', '', '1 (2)'],
    ]
    for (const type of ['number', 'boolean', 'date', 'datetime', 'multiselect', 'location'] as const)
      expect(texts.map(cellOf({ type, options: [] }, 'America/New_York'))).toEqual(
        texts.map(value => ({ type: 'text', value })),
      )
    for (const type of ['date', 'datetime', 'location', 'text'] as const)
      expect(cellOf({ type, options: [] }, 'UTC')({ a: 1 })).toEqual({ type: 'text', value: '{"a":1}' })
  })

  it('holds a list or a place as people write it, and as JSON where that could be read in another way', () => {
    const list = (options: string[]) => cellOf({ type: 'multiselect', options }, 'UTC')
    const place = cellOf({ type: 'location', options: [] }, 'UTC')
    expect([
      ...[['a', 'b'], ['a'], []].map(list(['a', 'b', 'c d'])),
      ...[['a', 'b'], ['ab']].map(list(['a', 'b', 'ab'])),
      ...[['a', 'b'], ['a, b']].map(list(['a', 'b', 'a, b'])),
      ...[
        { lat: 52.5, lng: -13 },
        { lat: 1, lng: 2, address: 'A (b)\nc' },
      ].map(place),
      ...[
        { lat: 1e-7, lng: 2 },
        { lat: 1, lng: 2, address: ' x' },
      ].map(place),
    ]).toEqual(
      [
        ...['a, b', 'a', '[]', '["a","b"]', 'ab', '["a","b"]', '["a, b"]', '52.5, -13', '1, 2 (A (b)\nc)'],
        ...['{"lat":1e-7,"lng":2}', '{"lat":1,"lng":2,"address":" x"}'],
      ].map(value => ({ type: 'text', value })),
    )
  })

  it('stands in a sheet whose name every spreadsheet takes', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom("'", '[', ':', 'History', '\u{1f600}'),
    )
    fc.assert(
      fc.property(fc.array(part), parts => {
        const name = sheetName(parts.join(''))
        expect(name).toMatch(/^(?!')[^*?:\\/[\]]{1,31}(?<!')$/s)
        expect(name.isWellFormed() || !parts.join('').isWellFormed()).toBe(true)
        expect(name.toLowerCase()).not.toBe('history')
      }),
    )
  })
})
