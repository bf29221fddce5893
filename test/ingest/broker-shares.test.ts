import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { createScheduler } from '../../fair/scheduler.ts'
import { BrokerClient } from '../../ingest/connections/broker/client.ts'
import { openStream } from '../../ingest/connections/broker/stream.ts'
import { createIntake, type Intake } from '../../ingest/connections/intake.ts'
import { createIngestMetrics } from '../../ingest/metrics.ts'
import { MAX_TENANT_ENTRIES } from '../../ingest/mqtt/limits.ts'
import { createTenants } from '../../ingest/mqtt/tenants.ts'
import { createProfiles } from '../../ingest/profiles/profiles.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { acknowledgedBy, startScriptedBroker } from '../support/scripted-broker.ts'
import { until } from '../support/wait.ts'

let database: TestDatabase
let db: Database
let intake: Intake
const log = createProcessLog({ partitions: 1, start: new Map(), onError: () => {} })
beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  db = await openTestDatabase(database)
  const metrics = createIngestMetrics(new Registry())
  intake = createIntake({ db, log, metrics, lastSeen: { see() {} }, traces: { note() {} }, onError() {} })
})
afterAll(async () => {
  await intake.close()
  await log.close()
  await db.close()
  await database.remove()
})

it('A broker is not read while the share of its organization in the log is used up, and others are', async () => {
  const tenants = createTenants()
  const services = { intake, log, tenants, scheduler: createScheduler() }
  const profile = await createProfiles({ db, onError() {} }).use('traccar')
  /** It holds no position, so it is done without the log. */
  const event = '{"event": {"type": "deviceOnline"}, "device": {"uniqueId": "one"}}'

  async function subscribe(organizationId: string) {
    const broker = await startScriptedBroker()
    const address = { url: broker.url, username: null, clientId: null, topics: [] }
    const settings = {
      broker: { ...address, caCertificate: null, clientCertificate: null },
      secrets: { password: null, clientKey: null },
      ...{ clientId: 'one', topics: ['any'] },
    }
    const credential = { kind: 'connection', id: newId(), organizationId, keyHash: Buffer.alloc(32) } as const
    let connected = false
    const client = new BrokerClient({
      stream: openStream(settings, { allowPrivate: true }),
      connection: { ...credential, profileId: 'traccar', way: 'broker', headerName: null, profile },
      ...{ settings, version: 5, formerTopics: [], services },
      onState() {
        connected = true
      },
      onEnd() {},
    })
    await until('it is connected', () => connected)
    return { broker, client }
  }

  const [organizationId, other] = [newId(), newId()]
  const [held, free] = [await subscribe(organizationId), await subscribe(other)]
  // The points of the organization's other devices wait.
  const devices = tenants.of({ id: newId(), organizationId })
  devices.add(MAX_TENANT_ENTRIES + 1)
  held.broker.publish([{ id: 5, payload: event }])
  for (let id = 1; id <= 20; id++) free.broker.publish([{ id, payload: event }])
  await until('the other is acknowledged', () => acknowledgedBy(free.broker).length === 20)
  expect(acknowledgedBy(held.broker)).toEqual([])
  devices.add(-MAX_TENANT_ENTRIES - 1)
  await until('it is acknowledged', () => acknowledgedBy(held.broker).length === 1)
  for (const { client, broker } of [held, free]) {
    client.close({ forget: false })
    await broker.close()
  }
})
