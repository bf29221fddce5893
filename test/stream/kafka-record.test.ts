import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RecordWriter, readRecord, UnreadableRecord } from '../../stream/kafka/record.ts'
import type { Subject } from '../../stream/log.ts'
import { type Entry, REASONS } from '../../stream/point.ts'
import { EDGES, point, subjectOf } from './entries.ts'

const text = fc.string({ unit: 'binary' })
const float4 = fc.oneof(fc.constant(null), fc.float({ noNaN: true, noDefaultInfinity: true }))
const time = fc.integer({ min: -8.64e15, max: 8.64e15 })
const key = fc.integer({ min: 1, max: 2 ** 31 - 1 })

const anyPoint = fc.record<Entry & { kind: 'point' }>({
  kind: fc.constant('point' as const),
  subject: key,
  recordedAt: time,
  receivedAt: time,
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lng: fc.double({ min: -180, max: 180, noNaN: true }),
  speed: float4,
  heading: float4,
  accuracy: float4,
  altitude: float4,
  battery: float4,
  attributes: fc.option(fc.json()),
})
const anyRejection = fc.record<Entry & { kind: 'rejection' }>({
  kind: fc.constant('rejection' as const),
  subject: key,
  receivedAt: time,
  reason: fc.constantFrom(...REASONS),
  message: text,
  index: fc.option(fc.nat({ max: 2 ** 31 - 1 })),
  topic: fc.option(text),
  payload: fc.option(text),
})
const anySubject = (subject: number) =>
  fc.record<Subject>({
    kind: fc.constantFrom('user', 'device'),
    id: fc.uuid(),
    organizationId: fc.uuid(),
    subject: fc.constant(subject),
  })

function write(entries: readonly Entry[], subjects: readonly Subject[] = []): Buffer {
  const writer = new RecordWriter()
  for (const entry of entries) writer.add(entry, subjects)
  return writer.finish()
}

describe('A record in Kafka', () => {
  it('has any entry come out as it went in, and says who it is of', () => {
    const entries = fc.array(fc.oneof(anyPoint, anyRejection), { maxLength: 50 })
    const known = entries.chain(list =>
      fc.tuple(fc.constant(list), fc.tuple(...list.map(e => anySubject(e.subject)))),
    )
    fc.assert(
      fc.property(known, ([list, subjects]) => {
        const record = readRecord(write(list, subjects))
        expect(record.entries).toEqual(list)
        const first = new Map([...subjects].reverse().map(subject => [subject.subject, subject]))
        expect(record.subjects).toEqual([...new Set(list.map(entry => entry.subject))].map(k => first.get(k)))
      }),
    )
  })

  it('takes subjects of whom nothing but the key is known', () => {
    expect(readRecord(write(EDGES))).toEqual({ subjects: [1, 2, 3], entries: EDGES })
  })

  it('is empty again when it has been taken', () => {
    const writer = new RecordWriter()
    for (const entry of EDGES) writer.add(entry, [subjectOf(1)])
    expect(writer.finish()).toHaveLength(write(EDGES, [subjectOf(1)]).length)
    writer.add(point(7, 7), [])
    expect(writer).toMatchObject({ entries: 1, bytes: write([point(7, 7)]).length })
    expect(readRecord(writer.finish())).toEqual({ subjects: [7], entries: [point(7, 7)] })
  })

  it('takes about 50 bytes a point', () => {
    const values = { speed: 3.5, heading: 90, accuracy: 4, battery: 77 }
    const points = Array.from({ length: 1_000 }, (_, n) => point(1 + (n % 12), n, values))
    const subjects = Array.from({ length: 12 }, (_, n) => subjectOf(n + 1))
    expect(write(points, subjects).length / points.length).toBeLessThan(52)
  })

  it('is read by the reader that docs/kafka.md shows', context => {
    const document = readFileSync(resolve(import.meta.dirname, '../../docs/kafka.md'), 'utf8')
    const reader = /```python\n(.*?)```/s.exec(document)?.[1]
    const print = 'import sys, json\nprint(json.dumps(list(read(sys.stdin.buffer.read())), default=str))'
    const input = write(EDGES, [subjectOf(1), subjectOf(2)])
    const { stdout, stderr, error } = spawnSync('python3', ['-c', `${reader}\n${print}`], { input })
    if (error) return context.skip('There is no python3')
    expect(String(stderr)).toBe('')
    const expected = EDGES.map(({ kind: _, subject, ...entry }) => {
      const { id, kind: type, organizationId: organization } = subjectOf(subject)
      return { ...entry, subject: subject === 3 ? { key: 3 } : { key: subject, type, id, organization } }
    })
    expect(JSON.parse(String(stdout))).toEqual(expected)
  })

  it('of another version is unreadable, and says so', () => {
    const record = write(EDGES)
    record[0] = 2
    expect(() => readRecord(record)).toThrow(new UnreadableRecord('The record has version 2, known is 1'))
  })

  it('that is cut, damaged or no record at all is unreadable, and nothing worse', () => {
    const record = write(EDGES, [subjectOf(1), subjectOf(2)])
    for (let length = 0; length < record.length; length++) {
      expect(() => readRecord(record.subarray(0, length))).toThrow(UnreadableRecord)
    }
    expect(() => readRecord(Buffer.concat([record, Buffer.of(0)]))).toThrow(UnreadableRecord)
    const bytes = fc.uint8Array({ maxLength: 200 })
    fc.assert(
      fc.property(bytes, fc.nat(record.length - 1), fc.nat(255), (noise, at, value) => {
        const damaged = Buffer.from(record)
        damaged[at] = value
        for (const candidate of [damaged, Buffer.from(noise), Buffer.concat([Buffer.of(1), noise])]) {
          try {
            readRecord(candidate)
          } catch (error) {
            expect(error).toBeInstanceOf(UnreadableRecord)
          }
        }
      }),
      { numRuns: 1_000 },
    )
  })
})
