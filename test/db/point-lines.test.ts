import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { readHistory } from '../../db/queries/history.ts'
import type { HistoryFilter } from '../../db/queries/history-tracks.ts'
import type { HistoryKey } from '../../db/queries/point-lines.ts'
import type { Visibility } from '../../db/visibility.ts'
import { writeJson } from '../../src/resources/location-history/formats/json.ts'
import { startReading, writeList } from '../../src/resources/location-history/stream.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'

const POINTS = 1_200
const TODAY = new Date()
/** The end of a month that the history still keeps. */
const BEGIN = Date.UTC(TODAY.getUTCFullYear(), TODAY.getUTCMonth() - 1, 0, 23, 59, 58)
const DEVICES = [newId(), newId()]

/** Numbers from 0 to 1 that are the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const REALS = [null, 0, -0, 1, 0.1, 12.25, 1e-7, 1e-45, 16_777_216, 3.4e38, 1 / 3, 123_456.79]
const ATTRIBUTES = [
  null,
  null,
  {},
  { ignition: true, deep: { list: [1, 2.5e-9, null] } },
  { text: 'a,b)c(d"e\\f\ng\th\r\u0001' },
  { 'schlüssel,"': 'Straße \u{1f69a} 道' },
  { long: 'x"\\'.repeat(600) },
]

/** The straightforward form: an object for each row, with its numbers as the database writes them. */
interface Row {
  id: string
  recorded: Date
  received: Date
  lat: string
  lng: string
  speed: string | null
  heading: string | null
  accuracy: string | null
  altitude: string | null
  battery: string | null
  anomaly: string | null
  attributes: string | null
}
const toJson = (row: Row) =>
  `{"_id":"${row.id}_${row.recorded.getTime()}","subjectId":"${row.id}","subjectType":"device","lat":${row.lat},"lng":${
    row.lng
  },"timestamp":"${row.recorded.toISOString()}","receivedAt":"${row.received.toISOString()}","speed":${
    row.speed
  },"heading":${row.heading},"accuracy":${row.accuracy},"altitude":${row.altitude},"battery":${
    row.battery
  },"attributes":${row.attributes},"anomaly":${row.anomaly ? `"${row.anomaly}"` : 'null'}}`

describe.each(['pglite', 'postgres'] as const)('Lines of points on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database
  const organizationId = newId()
  const visibility: Visibility = { organizationId, subjectIds: null, teamIds: [], hubIds: null }
  const filter: HistoryFilter = {
    subjectIds: DEVICES,
    vehicleIds: [],
    from: null,
    to: null,
    bbox: null,
    includeAnomalies: true,
  }
  let rows: Row[]

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files)
    await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [organizationId, 'Lines'])
    for (const id of DEVICES)
      await db.system.query(`INSERT INTO subjects (id, organization_id, type) VALUES ($1, $2, 'device')`, [
        id,
        organizationId,
      ])
    const random = createRandom(7)
    const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
    let time = BEGIN
    const points = Array.from({ length: POINTS }, () => {
      time += 1 + Math.floor(random() * 50_000)
      return {
        device: pick(DEVICES),
        recorded: new Date(time),
        received: new Date(time + Math.floor(random() * 1e9)),
        lat: pick([0, -90, 90, 1e-7, random() * 180 - 90]),
        lng: pick([0, -180, 180, -1e-7, random() * 360 - 180]),
        reals: Array.from({ length: 5 }, () => pick(REALS)),
        anomaly: pick([null, null, null, 'speed', 'accuracy']),
        attributes: pick(ATTRIBUTES),
      }
    })
    await db.system.query(
      `INSERT INTO points (subject_key, recorded_at, received_at, position, speed, heading, accuracy, altitude, battery,
         anomaly, attributes)
       SELECT s.key, (p->>'recorded')::timestamptz, (p->>'received')::timestamptz,
         ST_SetSRID(ST_MakePoint((p->>'lng')::float8, (p->>'lat')::float8), 4326), (p->'reals'->>0)::real,
         (p->'reals'->>1)::real, (p->'reals'->>2)::real, (p->'reals'->>3)::real, (p->'reals'->>4)::real,
         p->>'anomaly', nullif(p->'attributes', 'null')
       FROM jsonb_array_elements($1::jsonb) p JOIN subjects s ON s.id = (p->>'device')::uuid`,
      [JSON.stringify(points)],
    )
    rows = await db.system.query<Row>(
      `SELECT s.id, p.recorded_at AS recorded, p.received_at AS received, ST_Y(position)::text AS lat,
         ST_X(position)::text AS lng, speed::text, heading::text, accuracy::text, altitude::text, battery::text, anomaly,
         attributes::text
       FROM points p JOIN subjects s ON s.key = p.subject_key WHERE s.organization_id = $1 ORDER BY recorded_at`,
      [organizationId],
    )
    expect(rows).toHaveLength(POINTS)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))

  test('are the bytes that each point is as JSON, whatever its numbers and attributes are', async () => {
    const list = async (asked: HistoryFilter, order: 'asc' | 'desc') => {
      const reading = await startReading(POINTS, null, (page, after) =>
        readHistory(db.system, visibility, asked, { ...page, order, after }),
      )
      const pieces: Buffer[] = []
      for await (const piece of writeList(POINTS, reading)) pieces.push(Buffer.from(piece))
      return Buffer.concat(pieces).toString()
    }
    const answer = (expected: readonly Row[]) =>
      `{"status":true,"message":"Done","data":[${expected.map(toJson).join(',')}],"pagination":{"limit":${POINTS},"nextCursor":null}}`
    const same = async (asked: Partial<HistoryFilter>, holds: (row: Row) => boolean) => {
      const expected = rows.filter(holds)
      expect(expected.length).toBeGreaterThan(100)
      expect((await list({ ...filter, ...asked }, 'asc')) === answer(expected)).toBe(true)
      expect((await list({ ...filter, ...asked }, 'desc')) === answer(expected.toReversed())).toBe(true)
    }
    await same({}, () => true)
    await same({ subjectIds: [DEVICES[1] as string] }, ({ id }) => id === DEVICES[1])
    await same({ includeAnomalies: false }, ({ anomaly }) => anomaly === null)
    await same({ bbox: [-180, -90, 180, 0] }, ({ lat }) => Number(lat) <= 0)
    expect(() => rows.map(row => JSON.parse(toJson(row)))).not.toThrow()
  })

  test('are as many as fit, one at the least, and none is passed over', async () => {
    for (const maxBytes of [1, 1_000, 30_000]) {
      let seen = ''
      let after: HistoryKey | null = null
      for (let ended = false; !ended; ) {
        const page = { limit: POINTS, rows: 64, maxBytes, order: 'asc', after } as const
        const chunk = await readHistory(db.system, visibility, { ...filter, to: BEGIN + 3_000_000 }, page)
        if (chunk.lines.count > 1) expect(Buffer.byteLength(chunk.lines.text)).toBeLessThanOrEqual(maxBytes)
        seen += writeJson(chunk.lines, POINTS)
        after = chunk.lines.last ?? after
        ended = chunk.ended
      }
      const expected = rows.filter(({ recorded }) => recorded.getTime() < BEGIN + 3_000_000)
      expect(expected.length).toBeGreaterThan(100)
      expect(seen === expected.map(row => `,${toJson(row)}`).join('')).toBe(true)
    }
  })

  test('become the same points with a value each', async () => {
    const page = {
      limit: POINTS + 1,
      rows: POINTS + 1,
      maxBytes: 8 << 20,
      order: 'asc',
      after: null,
    } as const
    const { lines, ended } = await readHistory(db.system, visibility, filter, page)
    expect(ended).toBe(true)
    const points = lines.take(POINTS)
    expect(lines.take(1)).toEqual([])
    expect(points).toEqual(
      rows.map(row => ({
        subject: expect.objectContaining({ id: row.id, type: 'device' }),
        recordedAt: row.recorded.getTime(),
        receivedAt: row.received.getTime(),
        lat: row.lat,
        lng: row.lng,
        speed: row.speed ?? '',
        heading: row.heading ?? '',
        accuracy: row.accuracy ?? '',
        altitude: row.altitude ?? '',
        battery: row.battery ?? '',
        anomaly: row.anomaly ?? '',
        attributes: row.attributes ?? '',
      })),
    )
  })
})
