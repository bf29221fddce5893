import { expect, it } from 'vitest'
import type { Queryable } from '../../db/client.ts'
import { insertAccount } from '../../db/queries/accounts.ts'
import { createOrganization } from '../../src/resources/organizations/create.ts'
import { createTestDatabase, openTestDatabase, usualKind } from '../support/database.ts'

const HUBS = 300

it('copying an organization takes as many statements for three hundred hubs as for one', async () => {
  const database = await createTestDatabase(usualKind())
  const db = await openTestDatabase(database)
  await db.system.transaction(async tx => {
    const accountId = await insertAccount(tx, {
      email: 'a@b.example',
      passwordHash: null,
      registeredIn: null,
    })
    const owner = { accountId, name: 'A' }
    const hub = { name: 'Hub 0', lat: 1, lng: 2, address: 'Quay 1' }
    const source = await createOrganization(tx, {
      organizationName: 'Source',
      owner,
      hub,
      copyFrom: null,
      hubsFrom: null,
    })
    const copy = async () => {
      let statements = 0
      const counting: Queryable = {
        query: (text, values) => {
          statements++
          return tx.query(text, values)
        },
        get orm() {
          statements++
          return tx.orm
        },
      }
      const from = source.organizationId
      const made = await createOrganization(counting, {
        organizationName: 'Copy',
        owner,
        hub: null,
        copyFrom: from,
        hubsFrom: from,
      })
      return { ...made, statements }
    }
    const one = await copy()
    await tx.query(
      `INSERT INTO hubs (id, organization_id, name, lat, lng)
       SELECT gen_random_uuid(), $1, 'Hub ' || n, n / 10.0, 3 FROM generate_series(1, ${HUBS}) n`,
      [source.organizationId],
    )
    const many = await copy()
    expect(many.statements).toBe(one.statements)
    const read = (organizationId: string) =>
      tx.query('SELECT name, lat, lng, address FROM hubs WHERE organization_id = $1 ORDER BY name', [
        organizationId,
      ])
    const copied = await read(many.organizationId)
    expect(copied).toHaveLength(HUBS + 1)
    expect(copied).toEqual(await read(source.organizationId))
    const access = await tx.query('SELECT FROM user_hubs WHERE user_id = $1', [many.userId])
    expect(access).toHaveLength(HUBS + 1)
  })
  await db.close()
  await database.remove()
})
