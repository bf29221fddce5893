import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { insertDevice } from '../../db/queries/devices.ts'
import { listNeighbours } from '../../db/queries/judged-points.ts'
import { distanceM } from '../../stream/geometry.ts'
import type { Batch } from '../../stream/log.ts'
import type { Point } from '../../stream/point.ts'
import { createWriter } from '../../stream/writer.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { readTrace, type TracePoint } from '../support/traces.ts'
import { until } from '../support/wait.ts'

const NOW = Math.floor(Date.now() / 1000) * 1000 - 150 * 24 * 3_600_000
const MAX_ACCURACY = 50

/** Computes the anomalies from the whole ordered history, as the contract defines them. */
function findAnomalies(points: readonly Point[], maxAccuracy: number | null): (string | null)[] {
  const sorted = [...points].sort((a, b) => a.recordedAt - b.recordedAt)
  const speed = (a: Point | undefined, b: Point | undefined) =>
    a && b ? distanceM(a, b) / ((b.recordedAt - a.recordedAt) / 1000) : 0
  return sorted.map((point, n) => {
    if (maxAccuracy !== null && (point.accuracy ?? 0) > maxAccuracy) return 'accuracy'
    return speed(sorted[n - 1], point) > 100 && speed(point, sorted[n + 1]) > 100 ? 'speed' : null
  })
}

/** Random numbers from 0 to 1 that are the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const isTwin = (a: TracePoint, b: TracePoint) => a.device === b.device && a.timestamp === b.timestamp

function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items]
  return items.map(() => left.splice(Math.floor(random() * left.length), 1)[0] as T)
}

describe.each(['pglite', 'postgres'] as const)('Anomalies on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database
  let organizationId: string
  let offset = 0

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files)
    organizationId = newId()
    await db.system.query('INSERT INTO organizations (id, name, settings) VALUES ($1, $2, $3::jsonb)', [
      organizationId,
      'Anomalies',
      JSON.stringify({ maxAccuracy: MAX_ACCURACY }),
    ])
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))

  async function createSubject(): Promise<number> {
    const id = await db.tenant(organizationId, tx =>
      insertDevice(tx, { organizationId, name: 'x', hubId: null, keyHash: Buffer.from(newId()) }),
    )
    const [row] = await db.system.query<{ key: number }>('SELECT key FROM subjects WHERE id = $1', [id])
    return row?.key as number
  }
  const point = (subject: number, recordedAt: number, change: Partial<Point>): Point => ({
    kind: 'point',
    subject,
    recordedAt,
    receivedAt: NOW,
    lat: 50,
    lng: 8,
    speed: null,
    heading: null,
    accuracy: null,
    altitude: null,
    battery: null,
    attributes: null,
    ...change,
  })
  /** Points at these seconds and degrees to the north, with an accuracy where it matters. */
  const line = (subject: number, ...places: [second: number, north: number, accuracy?: number][]) =>
    places.map(([second, north, accuracy]) =>
      point(subject, NOW + second * 1000, { lat: 50 + north, accuracy: accuracy ?? null }),
    )
  const store = (points: readonly Point[], writer = createWriter({ db })) => {
    const at = offset++
    const batch: Batch = { partition: 3, records: [{ offset: at, entries: points }], nextOffset: at + 1 }
    return writer.store(batch)
  }

  /** Reads everything that is stored of a subject: points with their marks, the newest fix and the last point. */
  async function readStored(subject: number) {
    const rows = await db.system.query<{ at: number; anomaly: string | null }>(
      `SELECT (extract(epoch FROM recorded_at) * 1000)::float8 AS at, anomaly FROM points WHERE subject_key = $1 ORDER BY 1`,
      [subject],
    )
    const [newest] = await db.system.query(
      `SELECT (extract(epoch FROM n.recorded_at) * 1000)::float8 AS newest,
         (extract(epoch FROM coalesce(n.last_at, n.recorded_at)) * 1000)::float8 AS last, fast, ST_Y(n.position) AS lat,
         ST_Y(coalesce(last_position, n.position)) AS "lastLat", n.received_at IS NULL AS "isNone"
       FROM newest_fixes n WHERE subject_key = $1`,
      [subject],
    )
    return { at: rows.map(({ at }) => at), anomalies: rows.map(({ anomaly }) => anomaly), newest }
  }
  function expectedOf(points: readonly Point[]) {
    const sorted = [...points].sort((a, b) => a.recordedAt - b.recordedAt)
    const anomalies = findAnomalies(points, MAX_ACCURACY)
    const good = sorted.filter((_, n) => anomalies[n] === null).at(-1)
    const [before, last] = [sorted.at(-2), sorted.at(-1) as Point]
    const seconds = before ? (last.recordedAt - before.recordedAt) / 1000 : 1
    return {
      at: sorted.map(({ recordedAt }) => recordedAt),
      anomalies,
      newest: {
        newest: good?.recordedAt ?? null,
        last: last.recordedAt,
        fast: before ? distanceM(before, last) / seconds > 100 : false,
        lat: good?.lat ?? null,
        lastLat: last.lat,
        isNone: good === undefined,
      },
    }
  }

  test('are points that jump away and back, and inaccurate points; the newest fix is never one', async () => {
    const subject = await createSubject()
    const writer = createWriter({ db })
    const points = line(
      subject,
      [0, 0],
      [10, 0.001],
      [20, 1],
      [30, 0.002],
      [40, 0.003, 51],
      [50, 0.004, 50],
      [60, 2],
    )
    for (const [n, one] of points.entries()) {
      await store([one], writer)
      expect(await readStored(subject)).toEqual(expectedOf(points.slice(0, n + 1)))
    }
    const { anomalies, newest } = await readStored(subject)
    expect(anomalies).toEqual([null, null, 'speed', null, 'accuracy', null, null])
    expect(newest).toMatchObject({ lat: 52 })
    // Only the next point shows it: an inaccurate point leaves the newest fix at the place before the jump.
    await store(line(subject, [70, 0.005, 1_000]), writer)
    expect((await readStored(subject)).newest).toMatchObject({ lat: 50.004, lastLat: 50.005 })
    // A late point between them shows that it was none.
    await store(line(subject, [59.9, 2], [60.1, 2]), writer)
    expect((await readStored(subject)).newest).toMatchObject({ lat: 52 })
  })

  test('lock no device out: if it really is somewhere else, the second fix there counts', async () => {
    const subject = await createSubject()
    await store(line(subject, [0, 0], [10, 5], [20, 5.0001], [30, 5.0002]))
    expect((await readStored(subject)).anomalies).toEqual([null, null, null, null])
  })

  test('of a subject whose points are all inaccurate leave it without a newest fix, until one is not', async () => {
    const subject = await createSubject()
    const writer = createWriter({ db })
    const points = line(subject, [0, 0, 99], [10, 0, 99], [20, 0.001])
    await store(points.slice(0, 2), writer)
    expect(await readStored(subject)).toEqual(expectedOf(points.slice(0, 2)))
    await store(points.slice(2), writer)
    expect(await readStored(subject)).toEqual(expectedOf(points))
  })

  test('are the same in any order and batches of points, however often they come, with any writer', async () => {
    const writers = [createWriter({ db }), createWriter({ db }), createWriter({ db })]
    // Each kind of order with one writer and with several.
    for (let seed = 1; seed <= 6; seed++) {
      const random = createRandom(seed)
      const subjects = [await createSubject(), await createSubject()]
      const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)] as T
      const all = subjects.flatMap(subject => {
        let second = 0
        return Array.from({ length: 40 }, () => {
          second += pick([0.5, 1, 5, 30, 600, 200_000, 250_000])
          const north = random() < 0.3 ? pick([0.5, 1, 30, -100]) : random() / 1e4
          return line(subject, [second, north, pick([5, 50, 50.1, 500])])[0] as Point
        })
      })
      // Most points are in order, which are judged without a query, and some are late.
      const order = seed % 3 === 0 ? shuffle(all, random) : all.filter((_, n) => n % 5 > 0)
      const arriving = [...order, ...shuffle(all, random)]
      while (arriving.length > 0) {
        await store(
          arriving.splice(0, pick([1, 2, 3, 7, 40])),
          pick(seed % 2 ? writers : writers.slice(0, 1)),
        )
      }
      for (const subject of subjects) {
        const own = all.filter(one => one.subject === subject)
        expect([seed, await readStored(subject)]).toEqual([seed, expectedOf(own)])
      }
    }
  })

  test('are judged by the two points before and after each, however much is stored between those that came', async () => {
    const random = createRandom(3)
    const stored = new Map<number, number[]>()
    const asked: { subject: number; recordedAt: number }[] = []
    // All points, few in a row, each one alone, and points that are far from each other.
    const choices = [
      () => true,
      (n: number) => n % 150 < 20,
      (n: number) => n % 9 === 0,
      () => random() < 0.02,
    ]
    for (const isAsked of choices) {
      const subject = await createSubject()
      let second = 0
      const steps = () => (random() < 0.01 ? 5_000 : 1 + Math.floor(random() * 5))
      const points = Array.from({ length: 600 }, () => {
        second += steps()
        return line(subject, [second, 0])[0] as Point
      })
      await store(points)
      stored.set(
        subject,
        points.map(({ recordedAt }) => recordedAt),
      )
      asked.push(...points.filter((_, n) => isAsked(n)))
    }
    const found = await db.writer.transaction(tx => listNeighbours(tx, shuffle(asked, random), 3_600_000_000))
    for (const [subject, all] of stored) {
      const own = found.flatMap(fix => (fix.subject === subject ? [fix.recordedAt] : []))
      expect(own).toEqual([...new Set(own)].sort((a, b) => a - b))
      for (const { recordedAt } of asked.filter(one => one.subject === subject)) {
        const [at, here] = [all.indexOf(recordedAt), own.indexOf(recordedAt)]
        expect(own.slice(Math.max(0, here - 2), here + 3)).toEqual(all.slice(Math.max(0, at - 2), at + 3))
      }
    }
    // Points between those that are far from each other are not read.
    expect(found.length).toBeLessThan(asked.length * 5)
  })

  test('of real traces with planted jumps are found in them, in order and shuffled', async () => {
    const trace = readTrace('liverpool-route14-2026-01-26')
    const device = trace[0]?.device
    const random = createRandom(7)
    const [first, second] = [await createSubject(), await createSubject()]
    const planted = new Set<number>()
    const given = trace.filter(
      (row, n, rows) => row.device === device && !rows.slice(0, n).some(twin => isTwin(twin, row)),
    )
    const fixes = given.map(({ lat, lng, timestamp }, n) => {
      const isPlanted = n % 10 === 5
      if (isPlanted) planted.add(n)
      return { lat: isPlanted ? lat + 5 : lat, lng, recordedAt: timestamp }
    })
    expect(planted.size).toBeGreaterThan(1)
    const toPoints = (subject: number) =>
      fixes.map(({ recordedAt, lat, lng }) => point(subject, recordedAt, { lat, lng }))
    await store(toPoints(first))
    const shuffled = shuffle(toPoints(second), random)
    while (shuffled.length > 0) await store(shuffled.splice(0, 60))
    const found = await readStored(first)
    expect(found).toEqual(expectedOf(toPoints(first)))
    expect(await readStored(second)).toEqual(found)
    for (const n of planted) expect(found.anomalies[n]).toBe('speed')
  })

  test('follow the organization’s setting for accuracy from then on', async () => {
    const subject = await createSubject()
    const writer = createWriter({ db })
    await store(line(subject, [0, 0, 80]), writer)
    await db.system.query(`UPDATE organizations SET settings = '{"maxAccuracy": null}' WHERE id = $1`, [
      organizationId,
    ])
    let second = 0
    await until('the writer has heard of it', async () => {
      await store(line(subject, [++second, 0, 80]), writer)
      return (await readStored(subject)).anomalies.at(-1) === null
    })
    await db.system.query(`UPDATE organizations SET settings = $2::jsonb WHERE id = $1`, [
      organizationId,
      JSON.stringify({ maxAccuracy: MAX_ACCURACY }),
    ])
    await until('and of this', async () => {
      await store(line(subject, [++second, 0, 80]), writer)
      return (await readStored(subject)).anomalies.at(-1) === 'accuracy'
    })
    expect((await readStored(subject)).anomalies[0]).toBe('accuracy')
  })
})
