import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { newId } from '../../db/client.ts'
import { type LivePositions, openLivePositions } from '../../stream/live/positions.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { until } from '../support/wait.ts'

let database: TestDatabase
let db: Database
let positions: LivePositions
/** The number of statements that still fail. */
let failing = 0
const failures: string[] = []

beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  db = await openTestDatabase(database)
  const { system } = db
  positions = await openLivePositions({
    db: {
      ...db,
      system: Object.assign(Object.create(system) as typeof system, {
        query: (...asked: Parameters<typeof system.query>) =>
          failing-- > 0 ? Promise.reject(new Error('The database is away')) : system.query(...asked),
      }),
    },
    log: createProcessLog({ partitions: 1, start: new Map(), onError: () => {} }),
    onError: error => failures.push((error as Error).message),
  })
  await db.hearChanges()
})
afterAll(async () => {
  await positions.close()
  await db.close()
  await database.remove()
})

async function addOrganization(version: number): Promise<string> {
  const id = newId()
  await db.system.query(
    `INSERT INTO organizations (id, name, visibility_version) VALUES ($1, 'One of them', $2)`,
    [id, version],
  )
  return id
}
const tell = (organizationId: string) =>
  db.system.query(`SELECT pg_notify('fieldline', $1)`, [
    JSON.stringify({ kind: 'visibility', organizationId }),
  ])

it('A change of visibility that was announced while the database was away applies when it is back', async () => {
  const id = await addOrganization(7)
  // The pauses double up to half a second: five failures take about two seconds.
  failing = 5
  await tell(id)
  await until('its version is known', () => positions.visibilityVersion(id) === 7)
  expect(failures).toEqual(Array.from({ length: 5 }, () => 'The database is away'))
})

it('A change in one organization does not hide an unread change of another', async () => {
  const [one, other] = [await addOrganization(3), await addOrganization(4)]
  await positions.refresh(one)
  expect([one, other].map(positions.visibilityVersion)).toEqual([3, 0])
})
