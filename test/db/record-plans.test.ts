import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId, type Queryable } from '../../db/client.ts'
import { listTakenValues } from '../../db/queries/data.ts'
import { findRecordsByKey, lockRecordsByKey, updateRecords } from '../../db/queries/data-in-bulk.ts'
import type { Field } from '../../db/schema/flows.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

/** Enough records that reading all of them in a batch would be noticed. */
const RECORDS = 2_000
const ASKED = 100
/** For each value its key, its record, and an earlier version of either. */
const READ_FOR_EACH = 4

/**
 * The statistics of a database are some minutes old, and know nothing of an organization that imports its first file.
 * The planner then assumes one record, and a batch could be compared with all of them, each with each: 16 s for 4,000
 * of 8,000.
 */
describe('A batch of an import reads its own records alone, where the statistics know of no other', () => {
  let database: TestDatabase
  let db: Database
  const organizationId = newId()
  const dataTypeId = newId()
  const field = (key: string): Field => ({
    ...{ key, label: key, type: 'text', required: false, unique: true, options: [], order: 0 },
    dataTypeId: null,
  })
  const fields = [field('id'), field('other')]

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
    for (const table of ['data_records', 'data_keys'])
      await db.system.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
    await insert(newId(), newId())
    await db.system.query('ANALYZE data_records, data_keys')
    await insert(organizationId, dataTypeId)
  })
  afterAll(async () => {
    await db.close()
    await database.remove()
  })

  async function insert(organization: string, type: string): Promise<void> {
    await db.system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Large')`, [organization])
    await db.system.query(
      `INSERT INTO data_types (id, organization_id, name, type, fields) VALUES ($1, $2, 'Many', 'custom', '[]')`,
      [type, organization],
    )
    await db.system.query(
      `WITH made AS (
         INSERT INTO data_records (id, organization_id, data_type_id, data, search)
         SELECT gen_random_uuid(), $1, $2, jsonb_build_object('id', n::text, 'other', n::text), ''
         FROM generate_series(1, ${RECORDS}) n
         RETURNING id, data)
       INSERT INTO data_keys (organization_id, data_type_id, field, value, record_id)
       SELECT $1, $2, field, data ->> field, id FROM made, unnest(ARRAY['id', 'other']) field`,
      [organization, type],
    )
  }

  /** Rows of the two tables that a transaction read, with or without an index. */
  async function countRead(work: (tx: Queryable) => Promise<unknown>): Promise<number> {
    return db.system.transaction(async tx => {
      const before = await readSoFar(tx)
      await work(tx)
      return (await readSoFar(tx)) - before
    })
  }

  /** The rows read by this connection since it last reported its statistics. */
  async function readSoFar(tx: Queryable): Promise<number> {
    const [row] = await tx.query<{ read: number }>(
      `SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::int4 AS read FROM pg_stat_xact_user_tables
       WHERE relname IN ('data_records', 'data_keys')`,
    )
    return row?.read ?? Number.NaN
  }

  const values = Array.from({ length: ASKED }, (_, n) => String(n + 1))
  const type = { _id: dataTypeId, fields }
  const find = (tx: Queryable) =>
    findRecordsByKey(tx, organizationId, dataTypeId, field('id'), values, { hold: '', maxBytes: 2 ** 30 })

  it.each<[string, (tx: Queryable) => Promise<unknown>]>([
    ['that it finds', async tx => expect((await find(tx)).size).toBe(ASKED)],
    [
      'that it holds',
      async tx => {
        const held = await findRecordsByKey(
          ...([tx, organizationId, dataTypeId, field('id'), values] as const),
          { hold: 'FOR UPDATE OF d', maxBytes: 2 ** 30 },
        )
        expect([...held.keys()].sort()).toEqual([...values].sort())
      },
    ],
    [
      'that it refers to',
      async tx => {
        const held = await lockRecordsByKey(tx, organizationId, dataTypeId, field('id'), values)
        expect(held.size).toBe(ASKED)
      },
    ],
    [
      'that have its values',
      async tx => {
        const wanted = values.map(value => ({ field: 'other', name: 'other', value, recordId: newId() }))
        const taken = await listTakenValues(tx, organizationId, dataTypeId, wanted)
        expect(taken).toHaveLength(ASKED)
      },
    ],
  ])('%s', async (_which, work) => {
    expect(await countRead(work)).toBeLessThan(READ_FOR_EACH * ASKED)
  })

  it('that it changes, with their unique values', async () => {
    const found = await find(db.system)
    const changes = [...found.values()]
      .filter(one => one !== null)
      .map(({ _id, data }) => ({ _id, before: data, data: { ...data, other: `new ${data.other}` } }))
    const read = await countRead(async tx => {
      expect(await updateRecords(tx, organizationId, type, changes)).toEqual([])
    })
    expect(read).toBeLessThan(READ_FOR_EACH * ASKED)
  })

  it('and no more of their text than it may', async () => {
    await db.system.query(`UPDATE data_records SET search = repeat('x', 1000) WHERE organization_id = $1`, [
      organizationId,
    ])
    const read = async (maxBytes: number) => {
      const given = [db.system, organizationId, dataTypeId, field('id'), values] as const
      const found = await findRecordsByKey(...given, { hold: '', maxBytes })
      expect(found.size).toBe(ASKED)
      return values.filter(value => found.get(value))
    }
    expect(await read(10_000)).toEqual(values.slice(0, 10))
    expect(await read(10)).toEqual(values.slice(0, 1))
  })
})
