import type { Batch, Positions, Record, Source, Subject } from '../../stream/log.ts'
import { type Entry, NO_OUTCOMES, type Outcomes, type Point, type Rejection } from '../../stream/point.ts'

/** Does a database's work for the log: stores batches, and remembers the offset. */
export interface Table {
  /** Every batch that was handed over, stored or not. */
  handed: Batch[]
  /** The stored records by partition, in order. */
  records: Map<number, Record[]>
  entries(): Entry[]
  positions(): Positions
  store(batch: Batch): Promise<Outcomes>
  /** Called before a batch is stored; may throw or wait. */
  before: (batch: Batch) => Promise<void>
  outcomes: (batch: Batch) => Outcomes
}

export function createTable(): Table {
  const records = new Map<number, Record[]>()
  const next = new Map<number, number>()
  const table: Table = {
    handed: [],
    records,
    entries: () => [...records.values()].flat().flatMap(record => record.entries),
    positions: () => new Map(next),
    before: async () => {},
    outcomes: () => NO_OUTCOMES,
    async store(batch) {
      table.handed.push(batch)
      await table.before(batch)
      const known = records.get(batch.partition) ?? []
      const from = next.get(batch.partition) ?? 0
      records.set(batch.partition, [...known, ...batch.records.filter(record => record.offset >= from)])
      next.set(batch.partition, Math.max(from, batch.nextOffset))
      return table.outcomes(batch)
    },
  }
  return table
}

const ORGANIZATION = '0199a3c4-0000-7000-8000-0000000000aa'

export function subjectOf(key: number): Subject {
  const id = `0199a3c4-0000-7000-8000-${key.toString(16).padStart(12, '0')}`
  return { kind: key % 2 ? 'device' : 'user', id, organizationId: ORGANIZATION, subject: key }
}

export function sourceOf(...keys: number[]): Source {
  return { ended: false, subjects: keys.map(subjectOf) }
}

export function point(subject: number, recordedAt: number, values: Partial<Point> = {}): Point {
  return {
    kind: 'point',
    subject,
    recordedAt,
    receivedAt: 1_763_683_201_456,
    lat: 52.520008,
    lng: 13.404954,
    speed: null,
    heading: null,
    accuracy: null,
    altitude: null,
    battery: null,
    attributes: null,
    ...values,
  }
}

/** Entries with values at the edges of the valid range. */
export const EDGES: readonly Entry[] = [
  point(1, 0, { lat: -90, lng: -180 }),
  point(1, 1_763_683_200_001, { lat: 90, lng: 180 }),
  point(1, -1, { lat: Number.MIN_VALUE * 2 ** 52, lng: -0.1 }),
  point(2, 1_763_683_200_002, { speed: 0, heading: Math.fround(359.99), accuracy: Math.fround(0.1) }),
  point(2, 1_763_683_200_003, { altitude: Math.fround(-3.4e38), battery: 100, speed: 2 ** -126 }),
  point(3, 1_763_683_200_004, { attributes: '{"ü":"日本 🚚 \\u2028","n":[1,null]}' }),
  point(3, 1_763_683_200_005, { attributes: '{}' }),
  rejection(2, {
    reason: 'bad-coordinates',
    index: 0,
    topic: 'devices/x/location',
    payload: '{"lat":"ö🚚"}',
  }),
  rejection(3, { reason: 'not-json', index: null, topic: null, payload: null }),
  rejection(3, { reason: 'too-many', index: 999, topic: '', payload: '' }),
]

function rejection(subject: number, values: Partial<Rejection>): Rejection {
  return {
    kind: 'rejection',
    subject,
    receivedAt: 1_763_683_201_456,
    reason: 'bad-shape',
    message: 'A point has to be an object.',
    index: null,
    topic: null,
    payload: null,
    ...values,
  }
}
