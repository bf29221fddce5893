import { hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Field } from '../../db/schema/flows.ts'
import { convert, styleOf } from '../../src/resources/imports/convert.ts'
import { createSeenValues, digestOf } from '../../src/resources/imports/seen-values.ts'
import type { Cell } from '../../src/sheets/cell.ts'
import { readSerial, toInstant } from '../../src/sheets/values/dates.ts'
import { processorMsSince, slowness } from '../support/processor-time.ts'

const field = (type: Field['type'], more: Partial<Field> = {}): Field => ({
  ...{ key: 'a', label: 'A', type, required: false, unique: false, options: [], order: 0, dataTypeId: null },
  ...more,
})
/** An import makes one for all of its cells. */
const styles = new Map<string, ReturnType<typeof styleOf>>()
const styleIn = (language: string, timeZone: string) => {
  const key = `${language} ${timeZone}`
  const style = styles.get(key) ?? styleOf({ language, timeZone, currency: 'EUR' })
  styles.set(key, style)
  return style
}
const read = (
  type: Field['type'],
  cell: Cell,
  language = 'en',
  timeZone = 'UTC',
  more: Partial<Field> = {},
) => {
  const found = convert(field(type, more), cell, styleIn(language, timeZone))
  return 'value' in found ? found.value : found.message
}

describe('A cell becomes', () => {
  it.each<[string, string, unknown]>([
    ['en', '2026-11-21', '2026-11-21'],
    ['en-US', '11/21/2026', '2026-11-21'],
    ['en-US', '3/4/26', '2026-03-04'],
    ['en-GB', '3/4/2026', '2026-04-03'],
    ['de', '3.4.2026', '2026-04-03'],
    ['en-US', '3.4.2026', '2026-04-03'],
    ['en-US', '21/11/2026', '2026-11-21'],
    ['de', '1. März 2024', '2024-03-01'],
    ['de', 'Sonntag, 1. Mrz. 2024', 'This has to be a date such as 2026-11-21.'],
    ['de', 'Freitag, 1. März 2024', '2024-03-01'],
    ['fr', '14 juil. 2026', '2026-07-14'],
    ['es', '2 de mayo de 2026', '2026-05-02'],
    ['en', 'November 21, 2026', '2026-11-21'],
    ['en', '21-Nov-26', '2026-11-21'],
    ['en', '1/1/31', '1931-01-01'],
    ['en', '20261121', '2026-11-21'],
    ['hu', '2026. 11. 21.', '2026-11-21'],
    ['hu', '2026. november 21.', '2026-11-21'],
    ['ko', '2026. 11. 21.', '2026-11-21'],
    ['ko', '2026년 11월 21일', '2026-11-21'],
    ['ja', '2026年11月21日', '2026-11-21'],
    ['ja', '2026年11月21日土曜日', '2026-11-21'],
    ['bg', '21.11.2026 г.', '2026-11-21'],
    ['hi', '21 जनवरी 2026', '2026-01-21'],
    ['hi', '21 नव॰ 2026', '2026-11-21'],
    ['th', '21 กุมภาพันธ์ 2026', '2026-02-21'],
    ['th', '21 ม.ค. 2026', '2026-01-21'],
    ['ta', '21 நவம்பர், 2026', '2026-11-21'],
    ['uk', '21 листопада 2026 р.', '2026-11-21'],
    ['fr', '14 aou\u0302t 2026', '2026-08-14'],
    ['ar', '21\u200f/11\u200f/2026', '2026-11-21'],
    ['ar', '٢١/١١/٢٠٢٦', '2026-11-21'],
    ['ja', '２０２６/１１/２１', '2026-11-21'],
    ['ja', '２０２６年１１月２１日', '2026-11-21'],
    ['fa', '۱۴۰۴/۱۰/۱۱', expect.stringContaining('another calendar')],
    ['hi', '२१ नवंबर २०२६', '2026-11-21'],
    ['en', '\u200e21/11/2026', '2026-11-21'],
    // The day as written, whatever day it is in Greenwich.
    ['en', '2026-11-21T00:30:00+02:00', '2026-11-21'],
    ['en', '2026-11-20T23:30:00-05:00', '2026-11-20'],
    ['fa', '1 دی 1404', 'This has to be a date such as 2026-11-21.'],
    ['fa', '1404/10/11', expect.stringContaining('another calendar')],
    ['fa', '05/10/11', expect.stringContaining('which year')],
    ['fa', '2026/10/11', '2026-10-11'],
    ['th', '21/11/2569', expect.stringContaining('another calendar')],
    ['th', '25691121', expect.stringContaining('another calendar')],
    ['th', '21/11/69', expect.stringContaining('which year')],
    ['ko', '26. 11. 21.', expect.stringContaining('which year')],
    ['sv', '26-11-21', expect.stringContaining('which year')],
    ['th', '21/11/2026', '2026-11-21'],
    ['ar-SA', '1448-06-11', expect.stringContaining('another calendar')],
    ['en', '2026-11-21 00:00:00', '2026-11-21'],
    ['en', '29.02.2023', 'This has to be a date such as 2026-11-21.'],
    ['en', '2026-13-01', 'This has to be a date such as 2026-11-21.'],
    ['en', 'soon', 'This has to be a date such as 2026-11-21.'],
  ])('a date as it is written in %s: %s', (language, text, expected) => {
    expect(read('date', text, language)).toEqual(expected)
  })

  it('a date, or the reason why it is invalid, in every language: never another day', () => {
    const languages =
      'ar ar-EG ar-SA bg bn ckb cs da de el en-GB es fa fi fr he hr hu hy id it ja ka km ko lt lv mn nl pl ps pt-BR ro ru sk sr sv th tr uk ur uz vi zh zh-TW'
    const days = [new Date(Date.UTC(2026, 10, 21)), new Date(Date.UTC(2027, 0, 30))]
    let count = 0
    for (const language of languages.split(' ')) {
      const style = styleOf({ language, timeZone: 'UTC', currency: 'EUR' })
      for (const dateStyle of ['short', 'medium', 'long', 'full'] as const) {
        const format = new Intl.DateTimeFormat(language, { dateStyle, timeZone: 'UTC' })
        for (const day of days) {
          const text = format.format(day)
          const found = convert(field('date'), text, style)
          if ('message' in found) continue
          count++
          expect([language, text, found.value]).toEqual([language, text, day.toISOString().slice(0, 10)])
        }
      }
    }
    expect(count).toBeGreaterThan(200)
  })

  it.each<[string, string]>([
    ['2026-11-21 09:00', '2026-11-21T08:00:00.000Z'],
    ['21.11.2026 09:00 Uhr', '2026-11-21T08:00:00.000Z'],
    ['21.11.2026, 9:00 pm', '2026-11-21T20:00:00.000Z'],
    ['2026-07-01T09:00:00', '2026-07-01T07:00:00.000Z'],
    ['2026-07-01T09:00:00.123Z', '2026-07-01T09:00:00.123Z'],
    ['2026-07-01T09:00:00+0530', '2026-07-01T03:30:00.000Z'],
    // The clocks skip 02:30, and show 02:30 twice.
    ['2026-03-29 02:30', '2026-03-29T01:30:00.000Z'],
    ['2026-10-25 02:30', '2026-10-25T00:30:00.000Z'],
  ])('a time of the organization where it names no zone: %s', (text, expected) => {
    expect(read('datetime', text, 'de', 'Europe/Berlin')).toBe(expected)
  })

  it('no time if it is invalid, with a reason that fits a file', () => {
    expect(read('datetime', 'soon')).toBe('This has to be a time such as 2026-11-21 09:00.')
  })

  it('the same time as before, through any zone and year', () => {
    const clocks = new Map<string, Intl.DateTimeFormat>()
    const clockOf = (timeZone: string) => {
      const made =
        clocks.get(timeZone) ??
        new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
      clocks.set(timeZone, made)
      return made
    }
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1900-01-02'), max: new Date('2100-01-01'), noInvalidDate: true }),
        fc.constantFrom(
          'UTC',
          'Europe/Berlin',
          'America/New_York',
          'Australia/Lord_Howe',
          'Asia/Kathmandu',
          'Pacific/Apia',
        ),
        (at, timeZone) => {
          const parts = clockOf(timeZone)
          const local = `${parts.format(at).replace(' ', 'T')}.000`
          // A time that the clock shows twice may be either instant: both are shown alike.
          const found = toInstant(local, timeZone)
          expect(`${parts.format(found).replace(' ', 'T')}.000`).toBe(local)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('a day of a spreadsheet in both systems', () => {
    expect(readSerial(1, false)).toEqual({ local: '1900-01-01T00:00:00.000' })
    expect(readSerial(59, false)).toEqual({ local: '1900-02-28T00:00:00.000' })
    expect(readSerial(61, false)).toEqual({ local: '1900-03-01T00:00:00.000' })
    expect(readSerial(46_347.375, false)).toEqual({ local: '2026-11-21T09:00:00.000' })
    expect(readSerial(46_347 - 1462, true)).toEqual({ local: '2026-11-21T00:00:00.000' })
    for (const none of [-1, 0, 0.5, 60, 60.5, 2_958_466]) expect(readSerial(none, false)).toBeNull()
  })

  it('a day or a number of a spreadsheet, as the field has it, in both systems', () => {
    const cell = { local: '1904-01-01T01:30:00.000', serial: 0.0625 }
    expect(read('number', cell)).toBe(0.0625)
    expect(read('datetime', cell)).toBe('1904-01-01T01:30:00.000Z')
    for (const date1904 of [false, true]) {
      const found = convert(
        field('date'),
        46_347 - (date1904 ? 1462 : 0),
        styleOf({ language: 'en', timeZone: 'UTC', currency: 'EUR' }, date1904),
      )
      expect(found).toEqual({ value: '2026-11-21' })
    }
  })

  it('no day of a number that is meant as none', () => {
    for (const type of ['date', 'datetime'] as const) {
      for (const number of [0, 0.5, 7, 2026, 18_000, 80_000, 20_261_121, 1e300])
        expect([number, read(type, number)]).toEqual([
          number,
          expect.stringContaining('as a number and not as a date'),
        ])
      for (const as of ['percentage', 'amount'] as const)
        expect(read(type, { number: 46_347, as })).toContain('as a number and not as a date')
      expect(read(type, { number: 1.25, shown: '30:00', as: 'time' })).toContain('without a day')
    }
    expect([read('date', 18_264), read('date', 73_415)]).toEqual(['1950-01-01', '2100-12-31'])
  })

  it('no phone number and no truth of what is shown as something else', () => {
    const cells: Cell[] = [
      { local: '2026-11-21T00:00:00.000', serial: 46_347 },
      { number: 1.25, shown: '30:00', as: 'time' },
      ...[0.12, 1, 100].map(number => ({ number, as: 'percentage' as const })),
      ...[1234.5, true],
    ]
    for (const cell of cells)
      expect([cell, read('phone', cell)]).toEqual([cell, 'This has to be a phone number.'])
    for (const cell of cells.slice(0, -1))
      expect([cell, read('boolean', cell)]).toEqual([cell, 'This has to be true or false.'])
  })

  it('a time, a duration or a percentage: the number, and what is shown where a text is wanted', () => {
    const time: Cell = { number: 1.25, shown: '30:00', as: 'time' }
    expect([read('number', time), read('text', time)]).toEqual([1.25, '30:00'])
    const percentage: Cell = { number: 0.12, as: 'percentage' }
    expect([read('number', percentage), read('text', percentage)]).toEqual([0.12, '0.12'])
    expect(read('text', { number: 1e15, as: 'amount' })).toContain('dropped its last digits')
  })

  it.each<[Cell, string]>([
    ['\u202a+49 30 1234567\u202c', '+49 30 1234567'],
    ['+49 30 1234567', '+49 30 1234567'],
    [84912345678, '84912345678'],
    ['8.4912345678E+10', '84912345678'],
    ['8,4912345678E10', '84912345678'],
  ])('a phone number: %s', (cell, expected) => {
    expect(read('phone', cell)).toBe(expected)
  })

  it('no phone number where its last digits are lost', () => {
    expect(read('phone', '8.49E+10')).toContain('dropped its last digits')
    expect(read('phone', '8E10')).toContain('dropped its last digits')
  })

  it('the text that a spreadsheet shows for a number with leading zeros, or the number for a number field', () => {
    const cell = { number: 1067, shown: '01067' }
    for (const type of ['text', 'phone', 'reference'] as const) expect(read(type, cell)).toBe('01067')
    expect(read('select', cell, 'en', 'UTC', { options: ['01067'] })).toBe('01067')
    expect([read('number', cell), read('boolean', { number: 1, shown: '01' })]).toEqual([1067, true])
    expect(read('date', { number: 46_347, shown: '046347' })).toBe('2026-11-21')
  })

  it('no text of a whole number with more digits than a spreadsheet keeps', () => {
    for (const type of ['text', 'phone', 'email', 'url', 'select', 'multiselect', 'reference'] as const)
      for (const value of [1e15, -1e15, 1.2345678901234567e19, 1e300])
        expect(read(type, value)).toContain('dropped its last digits')
    expect(read('text', 999_999_999_999_999)).toBe('999999999999999')
    expect(read('number', 1.2345678901234567e19)).toBe(1.2345678901234567e19)
  })

  it.each<[string, object | string]>([
    ['52.5, 13.4', { lat: 52.5, lng: 13.4 }],
    ['52.5;13.4', { lat: 52.5, lng: 13.4 }],
    ['-52.5,-13', { lat: -52.5, lng: -13 }],
    ['52,5; 13,4', { lat: 52.5, lng: 13.4 }],
    ['52,5 13,4', { lat: 52.5, lng: 13.4 }],
    ['52.5 13.4', { lat: 52.5, lng: 13.4 }],
    ['52,5, 13,4', { lat: 52.5, lng: 13.4 }],
    ['-52,5,  13', { lat: -52.5, lng: 13 }],
    ['52,5, 13,4, Am Platz 1', { lat: 52.5, lng: 13.4, address: 'Am Platz 1' }],
    ['52,5; 13,4 (10115)', { lat: 52.5, lng: 13.4, address: '10115' }],
    ['52.5,13', { lat: 52.5, lng: 13 }],
    ['52, 13, 10115 Berlin', { lat: 52, lng: 13, address: '10115 Berlin' }],
    ...['52,5', '52,5,13,4', '52,5,13.4', '52,5, Berlin', '52.5, 13.4, 7', '52, 5, 13, 4'].map(
      (text): [string, string] => [text, 'This has to be a place: { lat, lng, address? } in degrees.'],
    ),
    ['52.5, 13.4 (Am Platz (1))', { lat: 52.5, lng: 13.4, address: 'Am Platz (1)' }],
    ['52.5, 13.4, Am Platz 1, Berlin', { lat: 52.5, lng: 13.4, address: 'Am Platz 1, Berlin' }],
    ['1e-7, 0 ( x )', { lat: 1e-7, lng: 0, address: ' x ' }],
    ['{"lat":1,"lng":2}', { lat: 1, lng: 2 }],
    ['Am Platz 1', 'This has to be a place: { lat, lng, address? } in degrees.'],
    ['91, 0', 'This has to be a place: { lat, lng, address? } in degrees.'],
  ])('a place: %s', (text, expected) => {
    expect(read('location', text)).toEqual(expected)
  })

  it('options, also those that hold what separates them', () => {
    const options = ['a', 'b', 'a, b', 'x; y', 'Größe']
    const list = (text: string) => read('multiselect', text, 'en', 'UTC', { options })
    expect(list('b, a')).toEqual(['b', 'a'])
    expect(list('a, b')).toEqual(['a, b'])
    expect(list('a, b; x; y, a')).toEqual(['a, b', 'x; y', 'a'])
    expect(list('["a","b"]')).toEqual(['a', 'b'])
    expect(list('A; grosse')).toEqual(['a', 'Größe'])
    expect(list('a, c')).toContain('some of')
    expect(list(Array(4_000).fill('a').join(','))).toEqual(['a'])
    expect(read('select', ' größe ', 'en', 'UTC', { options })).toBe('Größe')
    const signed = ['C++', '-5', '< 10', '10 %', 'T-Shirt (blue)', 'A4']
    const one = (text: string) => read('select', text, 'en', 'UTC', { options: signed })
    for (const text of ['C', 'c#', '5', '+5', '> 10', '10', '10 €', '-4'])
      expect([text, one(text)]).toEqual([text, expect.stringContaining('This has to be one of')])
    expect(['c++', '- 5', '−5', '<10', '10%', 't shirt blue', 'a 4', '(A4)'].map(one)).toEqual([
      'C++',
      '-5',
      '-5',
      '< 10',
      '10 %',
      'T-Shirt (blue)',
      'A4',
      'A4',
    ])
    for (const text of ['KIRMIZI', 'Kirmizi', 'KİRMİZİ'])
      expect(read('select', text, 'tr', 'UTC', { options: ['kırmızı'] })).toBe('kırmızı')
  })

  it('true or false in the languages of Europe', () => {
    for (const yes of ['ja', 'Oui', 'SÍ', 'sim', 'tak', 'yes', '1', 'x', true, 1] as Cell[])
      expect(read('boolean', yes)).toBe(true)
    for (const no of ['nein', 'non', 'No', 'Não', 'nie', '0', false, 0] as Cell[])
      expect(read('boolean', no)).toBe(false)
    for (const no of ['1%', '1 %', '-1', '+1', '!no', '(0)', '¹', '①', '1.0', 'x y', '.', 'maybe'])
      expect([no, read('boolean', no)]).toEqual([no, 'This has to be true or false.'])
    expect([read('boolean', 'Ja!'), read('boolean', '\u200fnein')]).toEqual([true, false])
  })

  it('a value or an error, whatever the text is, and soon', () => {
    const types: Field['type'][] = [
      'text',
      'number',
      'boolean',
      'date',
      'datetime',
      'email',
      'phone',
      'url',
      'select',
      'multiselect',
      'location',
      'reference',
    ]
    const cell = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.boolean(),
      fc.constantFrom(
        '1'.repeat(9_999),
        `${' '.repeat(9_000)}x`,
        '1,'.repeat(4_900),
        'a'.repeat(10_000),
        '1 '.repeat(4_900),
      ),
    )
    fc.assert(
      fc.property(fc.constantFrom(...types), cell, (type, given) => {
        // Measures processor time, because other work may have the machine meanwhile.
        const begun = process.cpuUsage()
        expect(() => read(type, given, 'de', 'Europe/Berlin', { options: ['a', '1'] })).not.toThrow()
        const spent = processorMsSince(begun)
        // A machine is never faster than usual, so most need no yardstick.
        if (spent >= 1_000) expect(spent).toBeLessThan(1_000 * slowness())
      }),
      { numRuns: 250 },
    )
  })
})

it('The earlier values of a file are known, however many there are', () => {
  const seen = createSeenValues()
  const taken = Array.from({ length: 20_000 }, (_, at) => seen.add(`value ${at + 1}`, at + 1, (at + 1) % 7))
  expect(taken.every(one => one === null)).toBe(true)
  for (let row = 1; row <= 20_000; row += 97)
    expect(seen.add(`value ${row}`, 99, 0)).toEqual({ row, digest: row % 7 })
  expect([seen.has('value 7'), seen.has('value 0')]).toEqual([true, false])
})

it('The place of a value in that table differs in each run, so nobody can choose values that collide', async () => {
  // Another instance of this module alone: the files that follow in this process go on with all others.
  const path = '../../src/resources/imports/seen-values.ts?again' as string
  const again: { digestOf: typeof digestOf } = await import(path)
  expect(again.digestOf('Ada').equals(digestOf('Ada'))).toBe(false)
  expect(again.digestOf('Ada').equals(again.digestOf('Ada'))).toBe(true)
  expect(digestOf('Ada').equals(hash('sha256', 'Ada', 'buffer'))).toBe(false)
})
