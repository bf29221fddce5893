import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ReadRow } from '../../src/resources/imports/read-rows.ts'
import { RowCollector, toRows } from '../../src/resources/imports/row-columns.ts'

const error = fc.record({
  field: fc.option(fc.string()),
  value: fc.option(fc.string()),
  message: fc.string(),
})
const errors = fc.array(error, { maxLength: 2 })
const record = fc.record({
  data: fc.string(),
  search: fc.string(),
  unique: fc.array(fc.record({ field: fc.string(), name: fc.string(), value: fc.string() }), {
    maxLength: 3,
  }),
})
const row: fc.Arbitrary<ReadRow> = fc.record({
  row: fc.nat(),
  values: fc.string(),
  key: fc.option(fc.string()),
  made: fc.oneof(record, fc.record({ lacks: errors }), fc.constant(null)),
  errors,
  warnings: errors,
  toEarlier: fc.array(fc.string(), { maxLength: 2 }),
  repeats: fc.boolean(),
})

it('Rows come out of the thread that reads as they went in', () => {
  fc.assert(
    fc.property(fc.array(row), rows => {
      const collector = new RowCollector()
      for (const one of rows) collector.add(one)
      expect(collector.count).toBe(rows.length)
      expect(toRows(structuredClone(collector.columns))).toEqual(rows)
    }),
  )
})
