import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId, type Queryable } from '../../db/client.ts'
import { OvertakenError } from '../../db/failures.ts'
import { insertKeys } from '../../db/queries/data.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'

const missing = postgresMissing()

describe.skipIf(missing)('A unique value of a record', () => {
  let database: TestDatabase
  let db: Database
  let beside: Database
  const [organizationId, dataTypeId, first, second] = [newId(), newId(), newId(), newId()]
  const key = (recordId: string) => ({ name: 'code', field: 'code', value: 'X', recordId })

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    db = await openTestDatabase(database)
    beside = await openTestDatabase(database)
    await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [organizationId, 'One'])
    await db.system.query(
      `INSERT INTO data_types (id, organization_id, name, type, fields) VALUES ($1, $2, 'Codes', 'custom', '[]')`,
      [dataTypeId, organizationId],
    )
  })
  afterAll(async () => {
    await db?.close()
    await beside?.close()
    await database?.remove()
  })

  it('is either taken, or another record has it: nothing in between, if that one gives it up at the same moment', async () => {
    const insert = (tx: Queryable, recordId: string) =>
      insertKeys(tx, organizationId, dataTypeId, [key(recordId)])
    expect(await db.system.transaction(tx => insert(tx, first))).toEqual([])
    expect(await db.system.transaction(tx => insert(tx, first))).toEqual([])
    const taken = [{ recordId: second, field: 'code', takenBy: first }]
    expect(await db.system.transaction(tx => insert(tx, second))).toEqual(taken)

    let statements = 0
    const giveUpInBetween = (tx: Queryable): Queryable => ({
      ...tx,
      async query<Row>(text: string, values?: unknown[]) {
        const rows = await tx.query<Row>(text, values)
        if (++statements === 1)
          await beside.system.query('DELETE FROM data_keys WHERE record_id = $1', [first])
        return rows
      },
    })
    await expect(db.system.transaction(tx => insert(giveUpInBetween(tx), second))).rejects.toThrow(
      OvertakenError,
    )
    expect(await db.system.transaction(tx => insert(tx, second))).toEqual([])
  })
})
