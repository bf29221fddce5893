import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createScheduler } from '../../fair/scheduler.ts'
import { createIntake, type Intake } from '../../ingest/connections/intake.ts'
import { createConnections } from '../../ingest/connections.ts'
import { createDeviceKey } from '../../ingest/identity/authenticate.ts'
import { createTokens } from '../../ingest/identity/tokens.ts'
import { createWatcher, type Watcher } from '../../ingest/identity/watcher.ts'
import { createIngestMetrics } from '../../ingest/metrics.ts'
import { type MqttServer, openMqttServer } from '../../ingest/mqtt/server.ts'
import { createTenants } from '../../ingest/mqtt/tenants.ts'
import { createProfiles } from '../../ingest/profiles/profiles.ts'
import type { Log } from '../../stream/log.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { connectPacket, openRaw, publishPacket } from './raw.ts'

let database: TestDatabase
let db: Database
let log: Log
let watcher: Watcher
let server: MqttServer
let intake: Intake
const errors: string[] = []

beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  db = await openTestDatabase(database)
  log = createProcessLog({ partitions: 1, start: new Map(), onError: () => {} })
  watcher = createWatcher({ db, onError: () => {} })
  const metrics = createIngestMetrics(new Registry())
  intake = createIntake({ db, log, metrics, lastSeen: { see() {} }, traces: { note() {} }, onError() {} })
  server = await openMqttServer({
    watcher,
    scheduler: createScheduler(),
    tenants: createTenants(),
    db,
    log,
    tokens: createTokens('a secret of thirty-two characters'),
    metrics,
    intake,
    profiles: createProfiles({ db, onError: () => {} }),
    lastSeen: { see() {} },
    traces: { note() {}, refuse() {} },
    host: '127.0.0.1',
    port: 0,
    sockets: createConnections({ max: 1_000, isProxy: () => false }),
    connectionsPerSecond: 0,
    onError: (_error, doing) => void errors.push(doing),
  })
})
afterAll(async () => {
  await server.close()
  await intake.close()
  watcher.close()
  await db.close()
  await database.remove()
})

it('A connection whose message the log does not keep is closed without an acknowledgement, so that its device sends again', async () => {
  const { key, hash } = createDeviceKey()
  const [device] = await db.system.query<{ id: string }>(
    `WITH organization AS (INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'Failed') RETURNING id),
     subject AS (INSERT INTO subjects (id, organization_id, type)
       SELECT gen_random_uuid(), id, 'device' FROM organization RETURNING id, organization_id)
     INSERT INTO devices (id, organization_id, name, key_hash) SELECT id, organization_id, 'Tracker', $1 FROM subject
     RETURNING id`,
    [hash],
  )
  const id = device?.id as string
  const client = openRaw(server.port)
  client.send(connectPacket({ clientId: 'one', username: id, password: key }))
  await client.next('connack')
  const payload = JSON.stringify({ lat: 1, lng: 1, timestamp: Date.now() - 1000 })
  client.send(publishPacket({ topic: `devices/${id}/location`, payload }))
  // No process stores, so the append waits until the log closes.
  await until('the message waits', () => log.waiting.entries === 1)
  await log.close()
  await client.closed
  expect(client.heard).toEqual(['connack 0'])
  expect(errors).toEqual(['MQTT: storing messages'])
})
