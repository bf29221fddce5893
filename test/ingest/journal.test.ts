import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { findConnection, insertConnection } from '../../db/queries/connections.ts'
import { createJournal } from '../../ingest/connections/journal.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { until } from '../support/wait.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  db = await openTestDatabase(database)
})
afterAll(async () => {
  await db.close()
  await database.remove()
})

it('A state and counts that could not be written are written later, under what has happened since', async () => {
  const [organizationId, id, keyHash] = [newId(), newId(), Buffer.alloc(32)]
  await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [
    organizationId,
    'Of a journal',
  ])
  const broker = { url: 'mqtt://127.0.0.1:1', username: null, clientId: null, topics: [] }
  const insert = {
    ...({
      name: 'Broker',
      kind: 'broker',
      builtInProfile: 'traccar',
      ownProfile: null,
      hubId: null,
    } as const),
    ...{ createDevices: false, isActive: true, headerName: null, secrets: null },
    broker: { ...broker, caCertificate: null, clientCertificate: null },
  }
  await db.tenant(organizationId, tx => insertConnection(tx, { ...insert, id, organizationId, keyHash }))
  const connection = { kind: 'connection', id, organizationId, keyHash, profileId: 'traccar' } as const
  const message = { payload: Buffer.from('{}'), topic: 'any', clientId: null, username: null, query: null }
  const outcome = { points: 1, skipped: null, rejected: [] }
  let failures = 0
  const journal = createJournal({ db, onError: () => void failures++ })
  const note = () => journal.note(connection, message, Date.now(), outcome, { rejected: 20, unknown: 0 })
  const begun = performance.now()
  await db.system.query('ALTER TABLE connection_states RENAME TO states_elsewhere')
  journal.tell(connection, 'failed', 'Nothing answers.')
  note()
  await until('it could not be written', () => failures > 0)
  note()
  await until('it could not be written again', () => failures > 1)
  await db.system.query('ALTER TABLE states_elsewhere RENAME TO connection_states')
  const read = () => db.tenant(organizationId, tx => findConnection(tx, id, null))
  await until('it is written', async () => (await read())?.counts.messages === 2)
  const stored = await read()
  expect(stored).toMatchObject({
    state: 'failed',
    lastError: 'Nothing answers.',
    counts: { messages: 2, points: 2, rejected: 40 },
  })
  // Where a minute of the clock has begun meanwhile, the share of the former one that has passed no longer counts.
  const minutes = (performance.now() - begun) / 60_000
  expect(stored?.messagesPerMinute).toBeGreaterThanOrEqual(2 - 2 * minutes)
  expect(stored?.messagesPerMinute).toBeLessThanOrEqual(2)
  await journal.close()
})
