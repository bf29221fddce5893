import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { insertDevice } from '../../db/queries/devices.ts'
import {
  beginFenceChange,
  deleteGeofence,
  insertGeofence,
  updateGeofence,
} from '../../db/queries/geofences.ts'
import type { FenceShape } from '../../db/schema/geofences.ts'
import { createSteps } from '../../src/resources/geofence-events/run.ts'
import type { Point } from '../../stream/point.ts'
import { createWriter } from '../../stream/writer.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { byTime, expectedCrossings } from '../support/fences.ts'

const BEGIN = Math.floor(Date.now() / 1000) * 1000 - 30 * 3_600_000
const EVENTS = ['geofence-entered', 'geofence-left']
/** Degrees in a kilometre. */
const KM = 0.009

const circle = (north: number, east: number, radius: number): FenceShape => ({
  type: 'circle',
  center: { lat: 10 + north * KM, lng: 20 + east * KM },
  radius,
})
const triangle: FenceShape = {
  type: 'polygon',
  coordinates: [
    [20, 10],
    [20 + KM, 10],
    [20, 10 + KM],
    [20, 10],
  ],
}
const SHAPES = [
  circle(0.5, 0.5, 300),
  circle(0.5, 0.7, 250),
  circle(-0.5, 0.2, 400),
  circle(0, 0, 2_000),
  triangle,
]

describe.each(['pglite', 'postgres'] as const)('The crossing of geofences on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))

  /** Creates an organization with these geofences and devices, and with a webhook that nobody answers. */
  async function found(shapes: readonly FenceShape[], devices: number) {
    const organizationId = newId()
    await db.system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Fenced')`, [organizationId])
    await db.system.query(
      `INSERT INTO webhooks (id, organization_id, url, events, secret) VALUES ($1, $2, 'http://192.0.2.1/', $3, 'none')`,
      [newId(), organizationId, EVENTS],
    )
    const subjects = new Map<number, string>()
    const fences: { _id: string; shape: FenceShape }[] = []
    await db.tenant(organizationId, async tx => {
      for (let n = 0; n < devices; n++) {
        const id = await insertDevice(tx, {
          organizationId,
          name: 'x',
          hubId: null,
          keyHash: Buffer.from(newId()),
        })
        const [row] = await tx.query<{ key: number }>('SELECT key FROM subjects WHERE id = $1', [id])
        subjects.set(row?.key as number, id)
      }
      if (shapes.length > 0) await beginFenceChange(tx, organizationId)
      for (const shape of shapes)
        fences.push({
          _id: await insertGeofence(tx, organizationId, { name: 'f', hubId: null, shape }),
          shape,
        })
    })
    return { organizationId, subjects, keys: [...subjects.keys()], fences }
  }

  /** Writers that take turns at one partition, as when it moves from one process to another. */
  function createStore(count: number) {
    const writers = Array.from({ length: count }, () => createWriter({ db }))
    let offset = 0
    return async (points: readonly Point[], by = 0): Promise<void> => {
      const records = [{ offset, entries: points }]
      await writers[by]?.store({ partition: 7, records, nextOffset: ++offset })
    }
  }

  async function judge(organizationId: string): Promise<number> {
    const step = createSteps(db)
    let steps = 0
    while (await step(organizationId)) steps++
    return steps
  }

  const readEvents = (organizationId: string) =>
    db.system.query<{
      id: string
      subjectId: string
      geofenceId: string
      event: string
      at: Date
      lat: number
      lng: number
      retracted: boolean
    }>(
      // biome-ignore format: one row
      `SELECT id, subject_id AS "subjectId", geofence_id AS "geofenceId", event, at, lat, lng, retracted
       FROM geofence_events WHERE organization_id = $1`,
      [organizationId],
    )
  async function readHolding(organizationId: string) {
    const events = (await readEvents(organizationId)).filter(({ retracted }) => !retracted)
    return events
      .map(({ id: _, retracted: __, at, ...event }) => ({ ...event, at: at.toISOString() }))
      .sort((a, b) => (a.subjectId === b.subjectId ? byTime(a, b) : a.subjectId < b.subjectId ? -1 : 1))
  }
  const expected = (
    subjects: Map<number, string>,
    points: readonly Point[],
    fences: Parameters<typeof expectedCrossings>[1], // biome-ignore format: one line
  ) =>
    [...subjects]
      .sort(([, a], [, b]) => (a < b ? -1 : 1))
      .flatMap(([key, subjectId]) => {
        const own = points.filter(({ subject }) => subject === key)
        return expectedCrossings(
          own.map(({ lat, lng, recordedAt }) => ({ lat, lng, timestamp: recordedAt })),
          fences,
        ).map(crossing => ({ ...crossing, subjectId }))
      })

  /** The messages that webhooks got about each crossing, in order. */
  async function readAnnounced(organizationId: string): Promise<Map<string, boolean[]>> {
    const rows = await db.system.query<{ payload: string; event: string }>(
      'SELECT payload, event FROM webhook_events WHERE organization_id = $1 ORDER BY created_at, id',
      [organizationId],
    )
    const announced = new Map<string, boolean[]>()
    for (const { payload, event } of rows) {
      const told = JSON.parse(payload)
      expect(event).toBe(`geofence-${told.event}`)
      announced.set(told._id, [...(announced.get(told._id) ?? []), told.retracted])
    }
    return announced
  }

  const pointAt = (subject: number, second: number, north: number, east: number): Point => ({
    kind: 'point',
    subject,
    recordedAt: BEGIN + second * 1000,
    receivedAt: Date.now() + 1,
    lat: 10 + north * KM,
    lng: 20 + east * KM,
    speed: null,
    heading: null,
    accuracy: null,
    altitude: null,
    battery: null,
    attributes: null,
  })

  test('is the same in any order and number of arrivals and with any writer, and each change of it is reported once', async () => {
    const walk = fc.array(fc.record({ turn: fc.nat(7), seconds: fc.integer({ min: 20, max: 6_000 }) }), { minLength: 5, maxLength: 60 }) // biome-ignore format: one line
    let crossings = 0
    let corrected = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(walk, { minLength: 1, maxLength: 3 }),
        fc.infiniteStream(fc.nat(999).map(n => n / 1_000)),
        fc.constantFrom(0, 0.3, 0.3, 1),
        async (walks, chances, disorder) => {
          const chance = () => chances.next().value as number
          const { organizationId, subjects, keys, fences } = await found(SHAPES, walks.length)
          const points = walks.flatMap((steps, index) => {
            let [second, north, east] = [0, 0.3, 0.3]
            return steps.map(({ turn, seconds }) => {
              second += seconds
              // Steps of up to 350 m, turning back at the edge of the area around the geofences.
              north = Math.max(-3, Math.min(3, north + 0.35 * Math.sin((turn * Math.PI) / 4)))
              east = Math.max(-3, Math.min(3, east + 0.35 * Math.cos((turn * Math.PI) / 4)))
              return pointAt(keys[index] as number, second, north, east)
            })
          })
          const arriving = points
            .flatMap((point, index) => {
              const late = chance() < disorder ? chance() * 15 : 0
              const one = { point, order: index + late }
              return chance() < 0.2 ? [one, { point, order: index + chance() * 50 }] : [one]
            })
            .sort((a, b) => a.order - b.order)
            .map(({ point }) => point)
          const store = createStore(2)
          for (let at = 0; at < arriving.length; ) {
            const size = 1 + Math.floor(chance() * 8)
            await store(arriving.slice(at, at + size), chance() < 0.1 ? 1 : 0)
            at += size
            if (chance() < 0.5) await judge(organizationId)
          }
          await judge(organizationId)
          const holding = await readHolding(organizationId)
          expect(holding).toEqual(expected(subjects, points, fences))
          const announced = await readAnnounced(organizationId)
          const events = await readEvents(organizationId)
          expect(announced.size).toBe(events.length)
          for (const { id, retracted } of events) {
            const told = announced.get(id) ?? []
            // Announcements and retractions alternate, and the last one is the present state.
            expect(told).toEqual(told.map((_, index) => index % 2 === 1))
            expect(told.at(-1)).toBe(retracted)
            if (told.length > 1) corrected++
          }
          crossings += holding.length
        },
      ),
      { numRuns: kind === 'postgres' ? 15 : 4 },
    )
    // The walks are random: of the few on PGlite some fifty crossings come, and once in a thousand runs hardly ten.
    expect(crossings).toBeGreaterThan(kind === 'postgres' ? 10 : 0)
    // Some ten are corrected, and now and then fewer than four.
    if (kind === 'postgres') expect(corrected).toBeGreaterThan(0)
  })

  const countSpans = async (organizationId: string) => {
    const [row] = await db.system.query<{ n: number }>(
      'SELECT count(*)::int4 AS n FROM geofence_spans WHERE organization_id = $1',
      [organizationId],
    )
    return row?.n
  }

  test('is judged only where points in their order cross something, or come late', async () => {
    const { organizationId, keys, subjects, fences } = await found([circle(0, 0, 500)], 1)
    const [subject = 0] = keys
    const store = createStore(1)
    const points = Array.from({ length: 100 }, (_, n) => pointAt(subject, n * 60, 0, n < 50 ? n / 1000 : 2))
    await store(points.slice(0, 10))
    // A process that has just started does not know the previous position.
    expect(await countSpans(organizationId)).toBe(1)
    await judge(organizationId)
    for (let at = 10; at < 50; at += 10) await store(points.slice(at, at + 10))
    expect(await countSpans(organizationId)).toBe(0)
    await store(points.slice(50))
    expect(await countSpans(organizationId)).toBe(1)
    await judge(organizationId)
    await store(points)
    expect(await countSpans(organizationId)).toBe(0)
    expect(await readHolding(organizationId)).toEqual(expected(subjects, points, fences))
    const late = pointAt(subject, 20 * 60 + 30, 0, 1)
    await store([late])
    expect(await countSpans(organizationId)).toBe(1)
    await judge(organizationId)
    expect(await readHolding(organizationId)).toEqual(expected(subjects, [...points, late], fences))
  })

  test('a geofence counts for points that are received from its creation on, at once for every writer, and with its new shape', async () => {
    const { organizationId, keys } = await found([], 1)
    const [subject = 0] = keys
    const store = createStore(1)
    const change = <T>(work: (tx: Parameters<Parameters<Database['tenant']>[1]>[0]) => Promise<T>) =>
      db.tenant(organizationId, async tx => {
        await beginFenceChange(tx, organizationId)
        return work(tx)
      })
    const places: { second: number; east: number }[] = []
    const send = async (second: number, east: number) => {
      places.push({ second, east })
      await store([pointAt(subject, second, 0, east)])
    }
    const told = async () => {
      await judge(organizationId)
      return (await readHolding(organizationId)).map(({ event, at }) => [
        event,
        (Date.parse(at) - BEGIN) / 1000,
      ])
    }
    await send(0, 0)
    await send(60, 5)
    await send(120, 0)
    const given = { name: 'Later', hubId: null, shape: circle(0, 0, 500) }
    const id = await change(tx => insertGeofence(tx, organizationId, given))
    expect(await told()).toEqual([])
    // The writer has loaded the geofences a moment ago.
    await send(180, 5)
    expect(await told()).toEqual([['left', 180]])
    await send(240, 5.1)
    await change(tx => updateGeofence(tx, id, { ...given, shape: circle(0, 5, 500) }, true))
    expect(await told()).toEqual([['left', 180]])
    await send(300, 0)
    expect(await told()).toEqual([['left', 180], ['left', 300]]) // biome-ignore format: one list
    // This point is late, between two that were judged by the previous shape: their events stand.
    await send(150, 5)
    expect(await told()).toEqual([['entered', 150], ['left', 180], ['left', 300]]) // biome-ignore format: one list
    await change(tx => deleteGeofence(tx, id))
    await send(360, 5)
    await judge(organizationId)
    expect((await readEvents(organizationId)).length).toBe(3)
  })

  test('an anomaly crosses nothing, and the event of a point that becomes one is retracted', async () => {
    const { organizationId, keys, subjects, fences } = await found([circle(0, 0, 500)], 1)
    const [subject = 0] = keys
    const store = createStore(1)
    const told = async () => {
      await judge(organizationId)
      return (await readHolding(organizationId)).map(({ event, at }) => [
        event,
        (Date.parse(at) - BEGIN) / 1000,
      ])
    }
    await store([pointAt(subject, 0, 0, 9), pointAt(subject, 60, 0, 9)])
    // 9 km in 30 s. As far as is known, it stays there.
    await store([pointAt(subject, 90, 0, 0)])
    expect(await told()).toEqual([['entered', 90]])
    await store([pointAt(subject, 120, 0, 9)])
    expect(await told()).toEqual([])
    expect((await readEvents(organizationId)).map(({ retracted }) => retracted)).toEqual([true])
    // Late points in between show that it was there.
    const late = [pointAt(subject, 63, 0, 9), pointAt(subject, 89, 0, 0.1)]
    await store(late)
    expect(await told()).toEqual(
      expected(
        subjects,
        [pointAt(subject, 0, 0, 9), pointAt(subject, 89, 0, 0.1), pointAt(subject, 120, 0, 9)],
        fences,
      ).map(({ event, at }) => [event, (Date.parse(at) - BEGIN) / 1000]),
    )
  })

  // The embedded database does the same, but more slowly.
  if (kind === 'postgres')
    test('a backlog of any length is judged in short steps, and nothing is missed between two', async () => {
      const { organizationId, keys, subjects, fences } = await found([circle(0, 0, 500)], 1)
      const [subject = 0] = keys
      const store = createStore(2)
      const points = Array.from({ length: 6_000 }, (_, n) => pointAt(subject, n, 0, n % 7 < 3 ? 0 : 2))
      for (let at = 5_000; at >= 0; at -= 1_000) await store(points.slice(at, at + 1_000), 1)
      expect(await judge(organizationId)).toBeGreaterThan(1)
      const holding = await readHolding(organizationId)
      expect(holding).toEqual(expected(subjects, points, fences))
      expect(holding.length).toBeGreaterThan(1_500)
    })
})
