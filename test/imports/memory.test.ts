import { createCipheriv } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { BULK } from '../../db/drivers/postgres.ts'
import type { Field } from '../../db/schema/flows.ts'
import { READER_HEAP_MB } from '../../src/resources/imports/limits.ts'
import { readBatches } from '../../src/resources/imports/reader.ts'
import { createSeenRoom, createSeenValues } from '../../src/resources/imports/seen-values.ts'
import { SHARED_TEXT_MEMORY_BYTES } from '../../src/sheets/limits.ts'
import { openSource } from '../../src/sheets/open-source.ts'
import { createSpill } from '../../src/sheets/readers/spill.ts'
import { SharedText, withTexts } from '../../src/sheets/readers/xlsx.ts'
import { heldBytes } from '../support/held-bytes.ts'
import { until } from '../support/wait.ts'
import { inlineRow, makeWorkbook } from '../support/workbooks.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-memory-'))
afterAll(() => rmSync(folder, { recursive: true }))
let number = 0

const keep = (file: Buffer | string): string => {
  const path = join(folder, String(++number))
  writeFileSync(path, file)
  return path
}

const shared = (index: number) => `<c t="s"><v>${index}</v></c>`
const MIB = 1024 * 1024
/** The same in every run, and nowhere alike. */
const NOISE = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(
  Buffer.alloc(256 * 1024),
)

describe('Reading a workbook takes bounded memory', () => {
  it('beside the heap, however many texts its cells share and however long they are', async () => {
    const long = 'x'.repeat(250_000)
    const texts = ['Name', ...Array.from({ length: 120 }, (_, at) => `${at} ${long}`)]
    const empty = Array.from({ length: 400_000 }, () => '')
    const rows = texts.map((_, at) => `<row>${shared(at)}</row>`).join('')
    const last = `<row>${shared(texts.length + empty.length)}</row>`
    const path = keep(makeWorkbook({ shared: [...texts, ...empty, 'last'], rows: rows + last }))
    const before = heldBytes()
    const source = await openSource({ path, format: 'xlsx' }, [])
    const found: unknown[] = []
    for await (const { cells } of source.rows) {
      found.push(String(cells[0]).slice(0, 8))
      // All of them together are 33 MB. Another thread frees collected buffers some time later.
      if (cells[0] === 'last')
        await until('they are on the disk', () => heldBytes() - before < SHARED_TEXT_MEMORY_BYTES + 8 * MIB)
    }
    source.close()
    expect(found).toEqual([...texts.map(text => text.slice(0, 8)), 'last'])
    expect(readdirSync(folder).filter(name => name.endsWith('.spill'))).toEqual([])
  })

  it('in the heap, where all of the rows that are unpacked at once have one large text', async () => {
    const field = (key: string): Field => ({
      ...{ key, label: key, type: 'text', required: false, unique: false, options: [], order: 0 },
      dataTypeId: null,
    })
    const count = Math.ceil((READER_HEAP_MB * MIB * 4) / 250_000)
    const rows = `${inlineRow(1, 'a')}${`<row>${shared(0)}</row>`.repeat(count)}`
    const reading = {
      ...{ path: keep(makeWorkbook({ shared: ['x'.repeat(250_000)], rows })), format: 'xlsx' as const },
      ...{ fields: [field('a')], mapping: { a: 'a' }, primaryKey: null, after: 0 },
      ...{ dataTypeId: crypto.randomUUID(), language: 'en', timeZone: 'UTC', currency: 'EUR' },
    }
    let failed = 0
    // A thread that exceeds its heap ends, and reading fails.
    for await (const batch of readBatches(reading, BULK, new AbortController().signal))
      failed += batch.rows.filter(({ errors }) => errors[0]?.message.includes('at most 10000')).length
    expect(failed).toBe(count)
  })

  it('of a row and of all rows, whose cells have a large text again and again', async () => {
    const text = 'x'.repeat(250_000)
    const read = async (rows: number, columns: number) => {
      async function* sheet() {
        for (let number = 1; number <= rows; number++)
          yield { number, cells: Array.from({ length: columns }, () => new SharedText(0)), characters: 0 }
      }
      for await (const _ of withTexts(sheet(), { get: () => text }));
    }
    await expect(read(1, 17)).rejects.toThrow('Row 1 has more than 4,194,304 characters')
    await expect(read(600, 16)).rejects.toThrow('The texts of all cells together are larger than 2 GiB')
    await read(500, 16)
  })
})

it('Bytes that are spilled are those that were given, in memory and on the disk', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(100), fc.integer({ min: 10_000, max: 70_000 })), { maxLength: 30 }),
      fc.constantFrom(0, 40_000, 10_000_000),
      fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
      (lengths, memory, random) => {
        const spill = createSpill(join(folder, 'spilled'), memory)
        let whole = Buffer.alloc(0)
        const at = (below: number) => Math.floor((random.next().value as number) * below)
        for (const length of lengths) {
          const start = at(NOISE.length - length)
          const bytes = NOISE.subarray(start, start + length)
          spill.append(bytes)
          whole = Buffer.concat([whole, bytes])
          for (let round = 0; round < 3; round++) {
            const from = at(whole.length)
            const some = at(whole.length - from + 1)
            expect(spill.read(from, some).equals(whole.subarray(from, from + some))).toBe(true)
          }
        }
        expect(spill.size()).toBe(whole.length)
        spill.close()
      },
    ),
    { numRuns: 40 },
  )
  expect(readdirSync(folder).filter(name => name.endsWith('.spill'))).toEqual([])
})

it('Values of unique fields have a bound for all fields together', () => {
  const room = createSeenRoom(1024 * 1024)
  const fields = [createSeenValues(room), createSeenValues(room)]
  expect(() => {
    for (let row = 1; row < 100_000; row++) for (const seen of fields) seen.add(`value ${row}`, row, 0)
  }).toThrow('too many values of unique fields')
})
