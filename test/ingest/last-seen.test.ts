import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createScheduler } from '../../fair/scheduler.ts'
import { createIntake, type Intake } from '../../ingest/connections/intake.ts'
import { createConnections } from '../../ingest/connections.ts'
import { createDeviceKey } from '../../ingest/identity/authenticate.ts'
import { createTokens } from '../../ingest/identity/tokens.ts'
import { createWatcher, type Watcher } from '../../ingest/identity/watcher.ts'
import { createLastSeen, type LastSeen } from '../../ingest/last-seen.ts'
import { createIngestMetrics } from '../../ingest/metrics.ts'
import { type MqttServer, openMqttServer } from '../../ingest/mqtt/server.ts'
import { createTenants } from '../../ingest/mqtt/tenants.ts'
import { createProfiles } from '../../ingest/profiles/profiles.ts'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { pause, until } from '../support/wait.ts'
import { connectPacket, openRaw, PINGREQ } from './raw.ts'

/** The least time between two writes for a device. */
const EVERY_MS = 500

describe('When a device was last heard of', () => {
  let database: TestDatabase
  let db: Database
  let server: MqttServer
  let intake: Intake
  let lastSeen: LastSeen
  let watcher: Watcher
  let id: string
  const { key, hash } = createDeviceKey()

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
    const [device] = await db.system.query<{ id: string }>(
      `WITH organization AS (INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'Seen') RETURNING id),
       subject AS (INSERT INTO subjects (id, organization_id, type)
         SELECT gen_random_uuid(), id, 'device' FROM organization RETURNING id, organization_id)
       INSERT INTO devices (id, organization_id, name, key_hash)
       SELECT id, organization_id, 'Tracker', $1 FROM subject RETURNING id`,
      [hash],
    )
    id = device?.id as string
    const onError = (error: unknown) => console.error(error)
    lastSeen = createLastSeen({ db, onError, everyMs: EVERY_MS, lookEveryMs: 20 })
    watcher = createWatcher({ db, onError })
    const log = createProcessLog({ partitions: 1, start: new Map(), onError })
    const metrics = createIngestMetrics(new Registry())
    intake = createIntake({ db, log, metrics, lastSeen, traces: { note() {} }, onError })
    server = await openMqttServer({
      watcher,
      scheduler: createScheduler(),
      tenants: createTenants(),
      ...{ db, lastSeen, host: '127.0.0.1', port: 0, connectionsPerSecond: 0, onError },
      log,
      intake,
      sockets: createConnections({ max: 1_000, isProxy: () => false }),
      tokens: createTokens('a secret of thirty-two characters'),
      metrics,
      traces: { note() {}, refuse() {} },
      profiles: createProfiles({ db, onError }),
    })
  })
  afterAll(async () => {
    await server.close()
    await intake.close()
    watcher.close()
    await lastSeen.close()
    await db.close()
    await database.remove()
  })

  const read = async () => {
    const [row] = await db.system.query<{ at: Date | null; version: string }>(
      'SELECT last_seen_at AS at, xmin::text AS version FROM devices WHERE id = $1',
      [id],
    )
    return { at: row?.at?.getTime() ?? 0, version: row?.version }
  }

  it('moves with CONNECT and with PINGREQ, and is written once in a while however much it says', async () => {
    const client = openRaw(server.port)
    client.send(connectPacket({ clientId: 'one', username: id, password: key }))
    await client.next('connack')
    await until('CONNECT counts', async () => (await read()).at > 0)
    const connected = await read()
    await pause(600)
    expect(await read()).toEqual(connected)

    const begun = performance.now()
    client.send(PINGREQ)
    await until('PINGREQ counts', async () => (await read()).at > connected.at)
    const versions = new Set<string | undefined>()
    for (let n = 0; n < 40; n++) {
      client.send(PINGREQ)
      await client.next('pingresp')
      versions.add((await read()).version)
    }
    // One that was there, and one for each time that has passed.
    expect(versions.size).toBeLessThanOrEqual(2 + (performance.now() - begun) / EVERY_MS)
    client.end()
  })

  it('waits for no row that somebody else has locked, and never goes back', async () => {
    const before = await read()
    lastSeen.see({ kind: 'device', id })
    await db.system.transaction(async tx => {
      await tx.query(`UPDATE devices SET last_seen_at = now() + interval '1 hour' WHERE id = $1`, [id])
      if (usualKind() === 'postgres') await pause(700)
    })
    await pause(600)
    lastSeen.see({ kind: 'device', id })
    await pause(600)
    expect((await read()).at).toBeGreaterThan(before.at + 3_000_000)
  })
})
