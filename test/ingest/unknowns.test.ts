import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { insertConnection } from '../../db/queries/connections.ts'
import { keepUnknown, listUnknown } from '../../db/queries/unknown-references.ts'
import { createUnknowns } from '../../ingest/connections/unknowns.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

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

async function addConnection(createDevices: boolean) {
  const [organizationId, id, keyHash] = [newId(), newId(), randomBytes(32)]
  await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [organizationId, 'Unknown'])
  const settings = { name: 'Platform', kind: 'http', builtInProfile: 'traccar', ownProfile: null } as const
  const more = { hubId: null, isActive: true, headerName: null, broker: null, secrets: null }
  const given = { ...settings, ...more, createDevices, id, organizationId, keyHash }
  await db.tenant(organizationId, tx => insertConnection(tx, given))
  return { kind: 'connection', id, organizationId, keyHash, profileId: 'traccar' } as const
}

const messageOf = (reference: string) => ({ reference, messages: 1, lastMessageAt: Date.now(), points: [] })

it('Requests of unknown trackers that wait together are kept together, and none of those whose sender has gone', async () => {
  const connection = await addConnection(false)
  let transactions = 0
  const counted: Database = {
    ...db,
    tenant: (owner, work) => {
      transactions++
      return db.tenant(owner, work)
    },
  }
  const unknowns = createUnknowns(counted, { complain() {} })
  const keep = (n: number, ended = false) =>
    unknowns.keep(connection, [messageOf(n % 2 ? 'odd' : 'EVEN')], { ended })
  const outcomes = await Promise.allSettled([
    ...Array.from({ length: 100 }, (_, n) => keep(n)),
    keep(0, true),
    ...Array.from({ length: 60 }, (_, n) => keep(n)),
  ])
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  const unknown = await db.tenant(connection.organizationId, tx => listUnknown(tx, connection.id))
  expect(unknown.map(({ reference, messages }) => [reference, messages]).sort()).toEqual([
    ['EVEN', 80],
    ['odd', 80],
  ])
  // The first goes alone, and the others by a hundred.
  expect(transactions).toBeLessThanOrEqual(3)
})

it('A connection creates at most a thousand devices in an hour, and keeps what comes from further trackers', async () => {
  const { organizationId, id: connectionId } = await addConnection(true)
  /** How many of three trackers are devices, where 999 were created so many hours ago. */
  const create = (hoursAgo: number) =>
    db.tenant(organizationId, async tx => {
      await tx.query(
        `UPDATE connection_states SET created_devices = 999, hour = date_trunc('hour', now()) - make_interval(hours => $2)
         WHERE connection_id = $1`,
        [connectionId, hoursAgo],
      )
      const references = ['one', 'two', 'three'].map(name => messageOf(`${name} ${hoursAgo}`))
      const known = await keepUnknown(tx, { organizationId, connectionId }, references, () => randomBytes(32))
      return known?.size
    })
  expect(await create(0)).toBe(1)
  const unknown = await db.tenant(organizationId, tx => listUnknown(tx, connectionId))
  expect(unknown.map(({ reference }) => reference).sort()).toEqual(['three 0', 'two 0'])
  expect(await create(1)).toBe(3)
})
