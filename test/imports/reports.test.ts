import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Field } from '../../db/schema/flows.ts'
import { FIELD_TYPES } from '../../db/schema/flows.ts'
import { isStorable } from '../../db/text.ts'
import {
  MAX_MESSAGE_CHARACTERS,
  MAX_REPORT_CHARACTERS,
  MAX_ROW_ERRORS,
} from '../../src/resources/imports/limits.ts'
import { proposeMapping } from '../../src/resources/imports/mapping.ts'
import { type Reading, type ReadRow, readRows } from '../../src/resources/imports/read-rows.ts'
import { keepReport, reportOf } from '../../src/resources/imports/report.ts'
import type { Cell, SourceRow } from '../../src/sheets/cell.ts'
import { headingsOf } from '../../src/sheets/headings.ts'
import { quote } from '../../src/sheets/quotes.ts'
import { HOSTILE } from '../support/hostile.ts'

const field = (type: Field['type'], key: string, more: Partial<Field> = {}): Field => ({
  ...{ key, label: key, type, required: false, unique: false, options: [], order: 0, dataTypeId: null },
  ...more,
})

/** Texts with characters that a database does not accept, and with halves of characters where a text may be cut. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\0', '\ud800', '\udc00', 'x', '😀', ' ') }),
  fc
    .tuple(fc.nat(3), fc.constantFrom('😀', '\0', '\ud800'))
    .map(([before, one]) => 'x'.repeat(before + 197) + one),
)
const cell: fc.Arbitrary<Cell> = fc.oneof(
  text,
  fc.constant(null),
  fc.boolean(),
  fc.double(),
  fc.record({ fault: text }),
  fc
    .record({ json: fc.oneof(fc.anything({ withNullPrototype: false }), fc.constantFrom(...HOSTILE), text) })
    .map(
      // The values as a file has them.
      ({ json }) => ({
        json: JSON.parse(
          JSON.stringify(json, (_, value) => (typeof value === 'bigint' ? 0 : value)) ?? 'null',
        ),
      }),
    ),
)

const fields = FIELD_TYPES.flatMap(type => {
  const options = /select/.test(type) ? ['a', 'b, c'] : []
  const both = [field(type, type, { options }), field(type, `${type}Needed`, { options, required: true })]
  return /boolean|multiselect|location/.test(type)
    ? both
    : [...both, field(type, `${type}Alone`, { options, unique: true })]
})
const keys = fields.map(({ key }) => key)

async function read(rows: SourceRow[], more: Partial<Reading>): Promise<ReadRow[]> {
  const reading: Reading = {
    ...{ path: '', format: 'xlsx', dataTypeId: crypto.randomUUID(), fields, primaryKey: 'textNeeded' },
    ...{
      mapping: Object.fromEntries(keys.map(key => [key, key])),
      language: 'de',
      timeZone: 'Europe/Berlin',
      currency: 'EUR',
      after: 0,
    },
    ...more,
  }
  async function* source() {
    yield { number: 1, cells: keys }
    yield* rows
  }
  const read: ReadRow[] = []
  for await (const row of readRows(reading, { rows: source(), fraction: () => 1, close: () => {} }))
    read.push(row)
  return read
}

/** All texts within a value, including keys. */
const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsOf(inner)])
}

describe('The content of a file', () => {
  it.each(['csv', 'xlsx', 'json'] as const)('can be stored, whatever stands in it: %s', format =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            cells: fc.array(cell, { maxLength: keys.length }),
            unknown: fc.array(text, { maxLength: 3 }),
          }),
        ),
        async given => {
          const rows = given.map(({ cells, unknown }, at) => ({
            number: at + 2,
            cells: format === 'csv' ? cells.map(one => (typeof one === 'string' ? one : '')) : cells,
            ...(format === 'json'
              ? { wrong: unknown.map(key => ({ value: key, message: `No ${key}.` })) }
              : {}),
          }))
          for (const row of await read(rows, { format })) {
            const { values, made } = row
            const data = made && 'data' in made ? JSON.parse(made.data) : null
            for (const one of textsOf([row, JSON.parse(values), data]))
              expect(isStorable(one), JSON.stringify(one)).toBe(true)
          }
        },
      ),
      { numRuns: 40 },
    ),
  )

  it('has a bounded length, however much is wrong', async () => {
    const many = Array.from({ length: 200 }, (_, at) => field('number', `f${at}`, { required: true }))
    const cells = many.map(() => 'x'.repeat(5_000))
    const mapping = Object.fromEntries(many.map(({ key }, at) => [key, keys[at % keys.length] as string]))
    const [row] = await read([{ number: 2, cells }], { fields: many, mapping, primaryKey: null })
    expect(row?.errors).toHaveLength(MAX_ROW_ERRORS + 1)
    expect(row?.errors.at(-1)).toEqual({
      field: null,
      value: null,
      message: 'And more of this row is wrong.',
    })
    const [lacking] = await read([{ number: 2, cells: [{ json: 1 }] }], {
      ...{ format: 'json', fields: many, mapping: { f0: keys[0] as string }, primaryKey: null },
    })
    expect(lacking?.made).toMatchObject({ lacks: expect.objectContaining({ length: MAX_ROW_ERRORS + 1 }) })
  })
})

describe('A report', () => {
  const error = fc.record({
    field: fc.constantFrom(null, 'a'),
    value: fc.oneof(fc.constant(null), text),
    message: text,
  })

  it('of a row is bounded and can be stored, and says the same when it is made again', () => {
    fc.assert(
      fc.property(fc.array(error, { maxLength: 30 }), errors => {
        const report = reportOf(errors)
        expect(report.length).toBe(Math.min(errors.length, MAX_ROW_ERRORS + 1))
        for (const { value, message } of report) {
          expect(isStorable((value ?? '') + message)).toBe(true)
          expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE_CHARACTERS + 1)
        }
        expect(reportOf(report)).toEqual(report)
      }),
    )
  })

  it('of an import is short where much is kept already, and still names each row', () => {
    const errors = reportOf(
      Array.from({ length: 30 }, () => ({ field: 'a', value: 'v'.repeat(300), message: 'm'.repeat(300) })),
    )
    const whole = keepReport([{ row: 7, errors }], MAX_REPORT_CHARACTERS - 1)
    expect(whole.failed).toEqual([{ row: 7, errors }])
    const short = keepReport([{ row: 8, errors }], whole.characters)
    expect(short.failed).toMatchObject([{ row: 8, errors: [{ field: 'a' }, { field: null }] }])
    expect(short.characters - whole.characters).toBeLessThan(200)
  })

  it('cuts no character in two', () => {
    expect(quote(`${'x'.repeat(199)}😀zz`)).toBe(`${'x'.repeat(199)}…`)
    expect(quote('a\0b\ud800')).toBe('a\ufffdb\ufffd')
  })
})

describe('Names are compared', () => {
  // Each text occurs once. Twice as many take twice as long, or four times as long if each is compared with each.
  const alike = (count: number) => Array.from({ length: count }, (_, at) => `é${at} ${'ä '.repeat(20)}`)
  const labels = alike(200).map((label, at) => field('text', `f${at}`, { label: `${label}x` }))
  const sameKeys = (count: number) =>
    Array.from({ length: count }, (_, at) => field('text', `a${'_'.repeat(at)}`, { label: 'é'.repeat(100) }))

  it.each<[string, (count: number) => unknown]>([
    ['of columns', count => proposeMapping(labels, alike(count * 40))],
    ['of fields', count => headingsOf(sameKeys(count))],
  ])('once each: %s', (_what, compare) => {
    const folds = (count: number) => {
      let calls = 0
      const { normalize } = String.prototype
      String.prototype.normalize = function (...given) {
        calls++
        return normalize.apply(this, given)
      }
      try {
        compare(count)
      } finally {
        String.prototype.normalize = normalize
      }
      return calls
    }
    expect(folds(200) / folds(100)).toBeLessThan(2.5)
  })
})
