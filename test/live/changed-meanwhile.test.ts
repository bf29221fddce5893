import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, newId, notify } from '../../db/client.ts'
import { insertDevice } from '../../db/queries/devices.ts'
import { openLivePositions } from '../../stream/live/positions.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { until } from '../support/wait.ts'

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  db = await openTestDatabase(database)
  await db.hearChanges()
})
afterAll(async () => {
  await db?.close()
  await database?.remove()
})

it('A subject that changes while a live process reads all of them is shown as it is afterwards', async () => {
  const organizationId = newId()
  const { system } = db
  await system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Changing')`, [organizationId])
  const device = { organizationId, name: 'before', hubId: null, keyHash: Buffer.from(newId()) }
  const deviceId = await db.tenant(organizationId, tx => insertDevice(tx, device))
  await system.query(
    `INSERT INTO newest_fixes (recorded_at, received_at, log_offset, subject_key, log_partition, position)
     SELECT now(), now(), 0, key, 0, ST_SetSRID(ST_MakePoint(8, 50), 4326) FROM subjects WHERE id = $1`,
    [deviceId],
  )
  const heard: string[] = []
  const stop = db.onChange(event => {
    if (event.kind === 'visibility') heard.push(event.organizationId)
  })
  let isFirst = true
  const query = async (text: string, values?: readonly unknown[]) => {
    const rows = await system.query(text, values)
    if (isFirst && text.includes('FROM subjects s')) {
      isFirst = false
      await system.query(`UPDATE devices SET name = 'after' WHERE id = $1`, [deviceId])
      await notify(system, { kind: 'visibility', organizationId })
      // Notices come in their order, and one of the creation of the device may still be on its way.
      const next = newId()
      await notify(system, { kind: 'visibility', organizationId: next })
      await until('the change is heard', () => heard.includes(next))
      // The readings after the notice end before the first one does.
      await system.query('SELECT pg_sleep(1)')
    }
    return rows
  }
  const log = createProcessLog({ partitions: 1, start: new Map(), onError: () => {} })
  const positions = await openLivePositions({
    db: { ...db, system: Object.assign(Object.create(system) as typeof system, { query }) },
    log,
    onError: () => {},
  })
  expect([...positions.of(organizationId)].map(({ info }) => info?.name)).toEqual(['after'])
  stop()
  await positions.close()
  await log.close()
})
