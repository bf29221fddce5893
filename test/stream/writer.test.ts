import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { insertDevice } from '../../db/queries/devices.ts'
import { readNewestFixes } from '../../db/queries/newest-fixes.ts'
import type { Batch } from '../../stream/log.ts'
import type { Entry, Point, Rejection } from '../../stream/point.ts'
import { createWriter } from '../../stream/writer.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'

const NOW = Date.now() - 3_600_000

describe.each(['pglite', 'postgres'] as const)('The writer on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database
  let subject: number
  let offset = 0

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files)
    const organizationId = newId()
    await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [organizationId, 'Writer'])
    const id = await db.tenant(organizationId, tx =>
      insertDevice(tx, { organizationId, name: 'x', hubId: null, keyHash: Buffer.from(newId()) }),
    )
    const [row] = await db.system.query<{ key: number }>('SELECT key FROM subjects WHERE id = $1', [id])
    subject = row?.key as number
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))

  const point = (n: number, change: Partial<Point> = {}): Point => ({
    kind: 'point',
    subject,
    recordedAt: NOW + n * 1000,
    receivedAt: NOW + n * 1000 + 5,
    lat: n,
    lng: n,
    speed: null,
    heading: null,
    accuracy: null,
    altitude: null,
    battery: null,
    attributes: null,
    ...change,
  })
  const rejection = (reason: Rejection['reason']): Rejection => ({
    kind: 'rejection',
    subject,
    receivedAt: NOW,
    reason,
    message: 'Because.',
    index: 3,
    topic: 't',
    payload: 'p',
  })
  const batch = (...entries: Entry[]): Batch => {
    const at = offset++
    return { partition: 5, records: [{ offset: at, entries }], nextOffset: at + 1 }
  }
  const stored = () =>
    db.system.query<{ n: number; lat: number }>(
      `SELECT round(extract(epoch FROM recorded_at) - $2)::int AS n, ST_Y(position) AS lat FROM points
       WHERE subject_key = $1 ORDER BY 1`,
      [subject, NOW / 1000],
    )
  const counts = async () => {
    const rows = await db.system.query<{ reason: string; count: number }>(
      'SELECT reason, count FROM rejection_counts WHERE subject_key = $1 ORDER BY 1',
      [subject],
    )
    return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]))
  }

  test('stores the same batch twice as once, its rejections too', async () => {
    const writer = createWriter({ db })
    const entries = [point(3), point(1), rejection('no-fix'), point(2)]
    const again = batch(...entries)
    expect((await writer.store(again)).size).toBe(0)
    const outcomes = await writer.store(again)
    expect([...outcomes.values()].map(({ kind: outcome }) => outcome)).toEqual([
      'duplicate',
      'duplicate',
      'duplicate',
    ])
    expect((await stored()).map(({ n }) => n)).toEqual([1, 2, 3])
    expect(await counts()).toEqual({ 'no-fix': 1 })
  })

  test('keeps the first of two different points under one identity, within a batch and across', async () => {
    const writer = createWriter({ db })
    const [winner, twin, loser] = [point(10), point(10), point(10, { lat: 77 })]
    const outcomes = await writer.store(batch(winner, twin, loser))
    expect(outcomes.get(winner)).toBeUndefined()
    expect(outcomes.get(twin)).toEqual({ kind: 'duplicate' })
    expect(outcomes.get(loser)).toMatchObject({ kind: 'rejected', reason: 'conflict' })
    const late = point(10, { attributes: '{"a":1}' })
    expect((await writer.store(batch(late))).get(late)).toMatchObject({ reason: 'conflict' })
    expect((await stored()).find(({ n }) => n === 10)?.lat).toBe(10)
    expect(await counts()).toMatchObject({ conflict: 2 })
  })

  test('copies new points, compares the rest, and notices points that another writer has stored meanwhile', async () => {
    const [one, other] = [createWriter({ db }), createWriter({ db })]
    await one.store(batch(point(20)))
    // After its first batch a writer remembers what is stored. `other` now stores without `one` knowing.
    await other.store(batch(point(21, { attributes: '{"quote":"\'\\\\\\""}' }), point(22)))
    const [known, conflict, fresh] = [
      point(21, { attributes: '{"quote":"\'\\\\\\""}' }),
      point(22, { lat: 5 }),
      point(23),
    ]
    const outcomes = await one.store(batch(known, conflict, fresh))
    expect([outcomes.get(known)?.kind, outcomes.get(conflict)?.kind, outcomes.get(fresh)]).toEqual([
      'duplicate',
      'rejected',
      undefined,
    ])
    const late = [point(19), point(24), point(19, { lat: 6 })]
    const again = await one.store(batch(...late))
    expect(late.map(entry => again.get(entry)?.kind)).toEqual([undefined, undefined, 'rejected'])
    expect((await stored()).map(({ n }) => n)).toEqual(expect.arrayContaining([19, 20, 21, 22, 23, 24]))
  })

  test('stores every value to the bit, whichever way it goes', async () => {
    const extremes: Partial<Point>[] = [
      {
        lat: -90,
        lng: 180,
        speed: 0,
        heading: Math.fround(359.99),
        accuracy: Math.fround(1e-30),
        altitude: -11_034,
      },
      { lat: 1e-300, lng: -180, battery: Math.fround(33.3), attributes: '{"Ä": ["\\u20ac", 1.5e300, null]}' },
    ]
    const ways = extremes.map((change, n) => [point(100 + n, change), point(90 + n, { ...change })] as const)
    for (const [copied, inserted] of ways) {
      await createWriter({ db }).store(batch(copied))
      await createWriter({ db }).store(batch(inserted))
    }
    const values = (n: number) =>
      db.system.query(
        `SELECT ST_AsEWKB(position)::text AS position, received_at - recorded_at AS delay, speed, heading, accuracy,
           altitude, battery, attributes FROM points WHERE subject_key = $1 AND recorded_at = to_timestamp($2::float8 / 1000)`,
        [subject, NOW + n * 1000],
      )
    for (const [n] of extremes.entries()) {
      const [row] = await values(100 + n)
      expect(row).toBeDefined()
      expect(await values(90 + n)).toEqual([row])
    }
  })

  test('moves the newest fix forward only, and names the record that set it', async () => {
    const writer = createWriter({ db })
    await writer.store(batch(point(230), point(250), point(240)))
    const set = offset - 1
    await writer.store(batch(point(245)))
    const { fixes, positions } = await db.system.transaction(readNewestFixes)
    expect(fixes.find(fix => fix.subject === subject)).toMatchObject({
      recordedAt: NOW + 250_000,
      lat: 250,
      logPartition: 5,
      logOffset: set,
    })
    expect(positions.get(5)).toBe(offset)
  })

  test('finds the one point that the database refuses, stores the others, and tells only us why', async () => {
    const errors: unknown[] = []
    const writer = createWriter({ db, onError: error => errors.push(error) })
    // Validation never lets such a value through. If it did, the neighbours of the point must not suffer.
    const offender = point(60, { attributes: '{broken' })
    const outcomes = await writer.store(batch(point(61), point(62), offender, point(63), point(64)))
    expect((await stored()).map(({ n }) => n)).toEqual(expect.arrayContaining([61, 62, 63, 64]))
    expect(outcomes.get(offender)).toMatchObject({ kind: 'rejected', reason: 'unstorable' })
    const [told] = await db.system.query<{ message: string }>(
      `SELECT message FROM rejections WHERE reason = 'unstorable'`,
    )
    expect(told?.message).toBe('The point cannot be stored.')
    expect(String(errors[0])).toMatch(/json/)
    expect(await counts()).toMatchObject({ unstorable: 1 })
    const [progress] = await db.system.query<{ next: number }>(
      'SELECT next_offset AS next FROM log_positions WHERE log_partition = 5',
    )
    expect(progress?.next).toBe(offset)
  })
})
