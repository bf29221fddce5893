import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { holdConnections } from '../../db/queries/connection-leases.ts'
import { findConnection, insertConnection } from '../../db/queries/connections.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

describe('The places of a process for connections to brokers', () => {
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

  const broker = { url: 'mqtt://127.0.0.1:1', username: null, clientId: null, topics: [] }

  async function addBrokers(count: number): Promise<{ organizationId: string; ids: string[] }> {
    const organizationId = newId()
    const ids = Array.from({ length: count }, () => newId())
    await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [
      organizationId,
      'Of brokers',
    ])
    await db.tenant(organizationId, async tx => {
      for (const id of ids) {
        const settings = {
          broker: { ...broker, caCertificate: null, clientCertificate: null },
          secrets: null,
        }
        const profile = { builtInProfile: 'traccar', ownProfile: null, headerName: null, hubId: null }
        const given = { name: 'Broker', kind: 'broker', createDevices: false, isActive: true } as const
        await insertConnection(tx, {
          ...{ ...given, ...settings, ...profile },
          ...{ id, organizationId, keyHash: Buffer.alloc(32) },
        })
      }
    })
    return { organizationId, ids }
  }

  it('are shared by organization, and a connection without one says so', async () => {
    const max = 6
    const [many, few] = [await addBrokers(9), await addBrokers(2)]
    const one = randomUUID()
    const held = await holdConnections(db.system, one, max)
    expect(held).toHaveLength(max)
    expect(held.filter(id => few.ids.includes(id))).toHaveLength(2)
    expect(new Set(await holdConnections(db.system, one, max))).toEqual(new Set(held))

    const without = many.ids.filter(id => !held.includes(id))
    expect(without).toHaveLength(5)
    const read = (id: string) => db.tenant(many.organizationId, tx => findConnection(tx, id, null))
    for (const id of without)
      expect(await read(id)).toMatchObject({
        state: 'connecting',
        lastError: expect.stringMatching(/^All places for connections to brokers are taken/),
      })

    // Who comes last gets a place of whoever has most of them.
    const late = await addBrokers(3)
    const after = await holdConnections(db.system, one, max)
    const heldOf = ({ ids }: { ids: string[] }) => after.filter(id => ids.includes(id)).length
    expect([heldOf(many), heldOf(few), heldOf(late)]).toEqual([2, 2, 2])
    // A place that is given up is free for another process. The others stay taken, also where a machine pauses for a lease.
    await db.system.query(
      `UPDATE connection_states SET held_until = now() + interval '1 hour' WHERE held_by = $1`,
      [one],
    )
    const taken = await holdConnections(db.system, randomUUID(), 100)
    expect(taken).toHaveLength(14 - max)
    expect(taken.filter(id => after.includes(id))).toEqual([])
  })
})
