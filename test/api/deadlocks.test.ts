import type { FastifyRequest } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId, type Queryable } from '../../db/client.ts'
import { audited } from '../../src/http/audit.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

describe('A request whose transaction the database ends because of others', () => {
  let database: TestDatabase
  let db: Database
  const organizationId = newId()
  const request = {
    caller: { organizationId, userId: newId() },
    routeOptions: { config: { access: 'create/hub' } },
  } as unknown as FastifyRequest

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
    await db.system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'One')`, [organizationId])
  })
  afterAll(async () => {
    await db?.close()
    await database?.remove()
  })

  /** Ends the transaction so many times, with this state, before it succeeds. Resolves to the entries in the audit log. */
  async function tryHub(name: string, times: number, state: string): Promise<number> {
    let left = times
    const work = async (tx: Queryable) => {
      const _id = newId()
      await tx.query('INSERT INTO hubs (id, organization_id, name, lat, lng) VALUES ($1, $2, $3, 1, 2)', [
        _id,
        organizationId,
        name,
      ])
      if (left-- > 0) await tx.query(`DO $$BEGIN RAISE EXCEPTION 'ended' USING ERRCODE = '${state}'; END$$`)
      return { before: null, after: { _id, name } }
    }
    await audited(db, request, work)
    const [row] = await db.system.query<{ count: number }>(
      `SELECT count(*)::int4 FROM audit_log WHERE changes->'name'->>'to' = $1`,
      [name],
    )
    return row?.count ?? 0
  }

  it.each(['40P01', '40001'])('is carried out all the same, and once (%s)', async state => {
    expect(await tryHub(state, 2, state)).toBe(1)
    const hubs = await db.system.query('SELECT FROM hubs WHERE name = $1', [state])
    expect(hubs).toHaveLength(1)
  })

  it('fails in the end, and at once for a reason of its own', async () => {
    await expect(tryHub('often', 3, '40P01')).rejects.toThrow('ended')
    await expect(tryHub('own', 1, '23514')).rejects.toThrow('ended')
  })
})
