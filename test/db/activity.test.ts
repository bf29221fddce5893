import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, newId, type Queryable } from '../../db/client.ts'
import { readActivity } from '../../src/resources/devices/activity.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

/** Some of them lie in the same hour as the last one of a step, and a gap of three hours lies between two steps. */
const POINTS = 45_000
const STEPS = 3

let database: TestDatabase
let db: Database
const organizationId = newId()
const deviceId = newId()

beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  db = await openTestDatabase(database)
  await db.system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Busy')`, [organizationId])
  await db.system.query(`INSERT INTO subjects (id, organization_id, type) VALUES ($1, $2, 'device')`, [
    deviceId,
    organizationId,
  ])
  await db.system.query(
    `INSERT INTO points (subject_key, recorded_at, received_at, position, battery)
     SELECT s.key, now() - n * interval '9 seconds' - CASE WHEN n > 20000 THEN interval '3 hours' ELSE interval '1 hour' END,
       now(), ST_SetSRID(ST_MakePoint(1, 1), 4326), CASE WHEN n % 500 = 0 THEN n % 100 END
     FROM subjects s, generate_series(1, ${POINTS}) n WHERE s.id = $1`,
    [deviceId],
  )
})
afterAll(async () => {
  await db.close()
  await database.remove()
})

it('The hours of a busy device are read in steps, and are those of all its points', async () => {
  let statements = 0
  const counted = new Proxy(db.system, {
    get(target, name) {
      if (name === 'query') statements++
      return Reflect.get(target, name)
    },
  }) as Queryable
  const hours = await readActivity(counted, organizationId, deviceId, null)
  expect(statements).toBe(STEPS)
  const expected = await db.system.query(
    `SELECT date_trunc('hour', recorded_at, 'UTC') AS "from", count(*)::int4 AS points,
       (array_agg(battery ORDER BY recorded_at DESC) FILTER (WHERE battery IS NOT NULL))[1] AS battery,
       extract(epoch FROM max(gap))::int4 AS "longestGapS"
     FROM (SELECT recorded_at, battery, recorded_at - lag(recorded_at) OVER (ORDER BY recorded_at) AS gap FROM points) p
     GROUP BY 1 ORDER BY 1`,
  )
  expect(hours).toEqual(expected)
  expect(hours.some(({ longestGapS }) => longestGapS !== null && longestGapS > 2 * 3600)).toBe(true)
})
