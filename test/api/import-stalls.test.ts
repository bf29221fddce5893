import { beforeAll, describe, expect, it } from 'vitest'
import { isStorable } from '../../db/text.ts'
import { type Client, signIn } from '../support/client.ts'
import { useMeasuredServer } from '../support/held-loop.ts'
import { HOSTILE, TEXTS } from '../support/hostile.ts'
import { ended, upload } from '../support/imports.ts'
import { addOrganization } from '../support/people.ts'
import { inlineRow, makeWorkbook } from '../support/workbooks.ts'

/** Processor time between two turns of the event loop, during which everybody else waits. */
const MAX_HELD_MS = 250
/** A thousand failures, each with a value and a sentence. */
const MAX_RECORD_BYTES = 1024 * 1024
const MAX_ROW_BYTES = 8 * 1024

const times = <One>(count: number, make: (at: number) => One) =>
  Array.from({ length: count }, (_, at) => make(at))
const fieldsOf = (count: number, more: (at: number) => object) =>
  times(count, at => ({ key: `f${at}`, label: `F${at}`, ...more(at) }))
const csv = (...lines: string[]) => lines.join('\n')
const header = (count: number, delimiter = ',') => times(count, at => `F${at}`).join(delimiter)

describe('Whatever a file holds', () => {
  const { server, heldMs } = useMeasuredServer()
  let owner: Client
  let number = 0

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
  })

  const options = times(290, at => `${String(at).padStart(4, '0')}${'x'.repeat(190)}`)
  const numbers = () => fieldsOf(200, () => ({ type: 'number', required: true }))
  const rows = (count: number, row: string) => Array<string>(count).fill(row)

  it.each<[string, () => object[], () => string | Buffer, number]>([
    [
      '4,000 headings that look alike',
      () => fieldsOf(200, at => ({ type: 'text', label: `é ${at} ä ä ä ä` })),
      () => csv(times(4_000, at => `é00${at}${'ä '.repeat(8)}`).join(','), '1'),
      422,
    ],
    [
      '200 errors in each of 1,500 rows',
      numbers,
      () => csv(header(200), ...rows(1_500, `x${','.repeat(199)}`)),
      202,
    ],
    [
      'rows of a few bytes under 200 columns that are required',
      numbers,
      () =>
        makeWorkbook({
          rows: `<row>${times(200, at => `<c t="inlineStr"><is><t>F${at}</t></is></c>`).join('')}</row>${'<row><c><v>1</v></c></row>'.repeat(1_500)}`,
        }),
      202,
    ],
    [
      'records that lack 199 fields',
      numbers,
      () => JSON.stringify(rows(4_500, '').map(() => ({ data: { f0: 1 } }))),
      202,
    ],
    [
      'errors that could name 290 options of 194 characters',
      () => fieldsOf(4, () => ({ type: 'select', options })),
      () => csv(header(4), ...rows(500, 'z,z,z,z')),
      202,
    ],
    [
      'records that are all defaults of 10,000 characters',
      () => fieldsOf(20, () => ({ type: 'text', required: true, default: 'd'.repeat(10_000) })),
      () => JSON.stringify(rows(300, '').map(() => ({ data: {} }))),
      202,
    ],
    [
      '200 references in each row that lead nowhere',
      () => fieldsOf(200, () => ({ type: 'reference' })),
      () => csv(header(200), ...rows(400, times(200, () => 'x').join(','))),
      202,
    ],
  ])('it holds up nobody, and what is told of it is bounded: %s', async (_what, fields, make, status) => {
    const type = await owner.post('/data-type', { name: `Type ${++number}`, fields: fields() })
    expect(type.status, JSON.stringify(type.body)).toBe(201)
    const file = make()
    const held = await heldMs(MAX_HELD_MS, async () => {
      const dryRun = 'true'
      const answer = await upload(server, owner, file, { dataTypeId: type.body.data._id, dryRun })
      expect([answer.status, answer.status === 202 || answer.body.message]).toEqual([
        status,
        status === 202 || expect.any(String),
      ])
      if (status !== 202) return
      const { _id, failed, failures, total } = await ended(owner, answer.body.data._id)
      expect(JSON.stringify(failures).length).toBeLessThan(MAX_RECORD_BYTES)
      expect(failures).toHaveLength(Math.min(failures.length, 1_000))
      const path = `/api/v3/import-monitoring/${_id}/failed-rows`
      const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${owner.token}` } })
      const told = (await response.arrayBuffer()).byteLength - file.length
      expect(total).toBeGreaterThan(0)
      expect(told).toBeLessThan((failed + 1) * MAX_ROW_BYTES)
    })
    if (process.env.STALLS) console.log({ _what, held })
    expect(held, 'milliseconds of processor between two turns').toBeLessThan(MAX_HELD_MS)
  })
  const types = ['text', 'number', 'boolean', 'date', 'email', 'phone', 'url', 'select', 'multiselect']
  const all = [...types, 'location', 'reference', 'datetime'].map(type => ({
    ...{ key: type, label: type, type },
    ...(/select/.test(type) ? { options: ['a', 'b'] } : {}),
  }))
  const odd = [...TEXTS, `${'x'.repeat(199)}😀zz`, '['.repeat(9_000), '{'.repeat(9_000)]
  const cells = (one: string) => all.map(() => one)
  /** As in XML, where characters that it cannot hold are written as `_xHHHH_`. */
  const inXml = (text: string) =>
    Array.from(text, one => (isStorable(one) ? one : `_x${one.charCodeAt(0).toString(16).padStart(4, '0')}_`))
      .join('')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
  const sheet = (lines: string[][]) =>
    makeWorkbook({ rows: lines.map((texts, at) => inlineRow(at + 1, ...texts.map(inXml))).join('') })
  const table = (lines: string[][]) =>
    lines.map(texts => texts.map(one => `"${one.replaceAll('"', '""')}"`).join(',')).join('\n')
  const json = (values: readonly unknown[]) =>
    JSON.stringify(
      values.map(value => ({
        data: { ...Object.fromEntries(types.map(key => [key, value])), reference: value },
      })),
    )

  it.each<[string, () => string | Buffer]>([
    // Zeros further down than where they are detected.
    [
      'CSV',
      () =>
        table(
          [cells('x'), ...Array(3_000).fill(cells('aa')), ...odd.map(cells)].with(
            0,
            all.map(({ key }) => key),
          ),
        ),
    ],
    ['XLSX', () => sheet([all.map(({ key }) => key), ...odd.map(cells)])],
    ['JSON', () => json([...HOSTILE, ...odd])],
    ['JSON of keys that nobody knows', () => JSON.stringify(odd.map(key => ({ data: { [key]: 1 } })))],
  ])('its import ends, and is never tried again: %s', async (_format, make) => {
    const type = await owner.post('/data-type', { name: `Type ${++number}`, fields: all })
    const answer = await upload(server, owner, make(), { dataTypeId: type.body.data._id })
    expect([answer.status, answer.body.message]).toEqual([202, expect.any(String)])
    const { status, error, failed } = await ended(owner, answer.body.data._id)
    // An import that needed another attempt would report a fault of ours.
    expect([status, error]).toEqual(['completed_with_errors', null])
    expect(failed).toBeGreaterThan(0)
  })

  // Each is read from both formats; with one, a mapping names it too, which is compared in the same way for both.
  const headings = [...odd.filter(one => !isStorable(one) || one.length > 100), '__proto__', '%', '']
  it.each(headings.map((one, at) => [JSON.stringify(one).slice(0, 30), one, at] as const))(
    'a heading is taken or refused: %s',
    async (_, one, at) => {
      const type = await owner.post('/data-type', { name: `Type ${++number}`, fields: all })
      const fields = { dataTypeId: type.body.data._id, dryRun: 'true' }
      const lines = [
        ['text', one],
        ['a', 'b'],
      ]
      const [file, other] = at % 2 === 0 ? [sheet(lines), table(lines)] : [table(lines), sheet(lines)]
      const { status, body } = await upload(server, owner, file, fields)
      expect([202, 415, 422], JSON.stringify(body)).toContain(status)
      const mapping = JSON.stringify({ text: one })
      const mapped = await upload(server, owner, other, { ...fields, mapping })
      expect([202, 400, 415, 422], JSON.stringify(mapped.body)).toContain(mapped.status)
      expect(isStorable(mapped.body.message)).toBe(true)
    },
  )
})
