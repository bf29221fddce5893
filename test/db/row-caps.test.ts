import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId, type Queryable } from '../../db/client.ts'
import { overCap } from '../../db/errors.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe('Caps for the rows of an organization', () => {
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
  const listCaps = () =>
    db.system.query<{ name: string; max: number | null; boundedBy: string | null }>(
      `SELECT table_name AS name, max::float8, bounded_by AS "boundedBy" FROM row_caps
       WHERE measure = 'count(*)' AND table_name <> 'organizations' ORDER BY 1`,
    )

  it('are declared for every table with an organization, or what bounds it instead', async () => {
    const tables = await db.system.query<{ name: string; isIndexed: boolean; isWatched: boolean }>(
      `SELECT c.relname AS name,
         EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum) AS "isIndexed",
         EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'row_caps') AS "isWatched"
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       WHERE a.attname = 'organization_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND c.relnamespace = 'public'::regnamespace ORDER BY 1`,
    )
    const caps = await listCaps()
    // The migration of a new table declares its limit per organization: cap_rows(…), or a row with bounded_by.
    expect(caps.map(({ name }) => name)).toEqual(tables.map(({ name }) => name))
    const counted = tables.filter(({ name }) => caps.some(cap => cap.name === name && cap.max !== null))
    expect(counted.filter(({ isIndexed, isWatched }) => !isIndexed || !isWatched)).toEqual([])
  })

  it('are enforced for every table that has one', async () => {
    const capped = (await listCaps()).filter(({ max }) => max !== null)
    expect(capped.length).toBeGreaterThan(15)
    const organizationId = newId()
    for (const { name } of capped) {
      const refused = await db.system
        .transaction(async tx => {
          // A row with only its organization: all other constraints are removed until this is undone.
          await tx.query(
            `DO $$ DECLARE one record; BEGIN
               FOR one IN SELECT conname FROM pg_constraint WHERE conrelid = '${name}'::regclass AND contype <> 'n' LOOP
                 EXECUTE format('ALTER TABLE ${name} DROP CONSTRAINT IF EXISTS %I CASCADE', one.conname);
               END LOOP;
               FOR one IN SELECT attname FROM pg_attribute
                 WHERE attrelid = '${name}'::regclass AND attnum > 0 AND attnotnull AND attidentity = '' LOOP
                 EXECUTE format('ALTER TABLE ${name} ALTER COLUMN %I DROP NOT NULL', one.attname);
               END LOOP;
               ALTER TABLE ${name} DISABLE TRIGGER USER;
               ALTER TABLE ${name} ENABLE TRIGGER row_caps;
               UPDATE row_caps SET max = 1 WHERE table_name = '${name}' AND measure = 'count(*)';
             END $$`,
          )
          const insert = () => tx.query(`INSERT INTO ${name} (organization_id) VALUES ($1)`, [organizationId])
          await insert()
          await insert()
        })
        .catch(error => overCap(error) ?? String(error))
      expect([name, refused]).toEqual([
        name,
        expect.stringMatching(/^An organization has at most 1 [a-zA-Z]/),
      ])
    }
  })
})

describe('The cap of an organization', () => {
  const { server, database, owner, organization } = useOrganization()

  async function inDatabase<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const db = await openTestDatabase(database)
    try {
      return await db.system.transaction(work)
    } finally {
      await db.close()
    }
  }
  beforeAll(() =>
    until('its samples are there', async () => {
      const jobs = await inDatabase(tx =>
        tx.query(`SELECT FROM jobs WHERE organization_id = $1 AND status <> 'done'`, [
          organization.organizationId,
        ]),
      )
      return jobs.length === 0
    }),
  )

  /** Lowers a cap while `work` runs. */
  async function withCap(table: string, measure: string, max: number, work: () => Promise<void>) {
    const set = (value: number) =>
      inDatabase(async tx => {
        const [row] = await tx.query<{ before: number }>(
          `UPDATE row_caps c SET max = $3 FROM row_caps old WHERE old.table_name = c.table_name AND old.measure = c.measure
             AND c.table_name = $1 AND c.measure LIKE $2 RETURNING old.max::float8 AS before`,
          [table, measure, value],
        )
        return row?.before as number
      })
    const before = await set(max)
    await work().finally(() => set(before))
  }
  const field = (key: string) => ({ key, label: key, type: 'text' })

  it('answers 409 and names itself: one data type more, or one field', async () => {
    const { data } = (await owner.get('/data-types?limit=500')).body
    const fields = data.reduce((sum: number, type: { fields: [] }) => sum + type.fields.length, 0)
    await withCap('data_types', 'count%', data.length, async () => {
      const refused = await owner.post('/data-type', { name: 'One more', fields: [] })
      expect([refused.status, refused.body.message]).toEqual([
        409,
        `An organization has at most ${data.length} data types. Delete some of them first.`,
      ])
    })
    const type = (await owner.post('/data-type', { name: 'Small', fields: [field('a')] })).body.data
    await withCap('data_types', 'sum%', fields + 2, async () => {
      const two = { name: 'Small', fields: [field('a'), field('b')] }
      expect((await owner.put(`/data-type/${type._id}`, two)).status).toBe(200)
      const three = { name: 'Small', fields: [...two.fields, field('c')] }
      expect((await owner.put(`/data-type/${type._id}`, three)).status).toBe(409)
      expect((await owner.post('/data-type', { name: 'Other', fields: [field('c')] })).status).toBe(409)
    })
  })

  it('has roles of at most 32 KiB', async () => {
    const keys = Array.from({ length: 200 }, (_, n) => `field_${'x'.repeat(80)}_${n}`)
    const types = await Promise.all(
      [1, 2].map(async n => {
        const answer = await owner.post('/data-type', { name: `Wide ${n}`, fields: keys.map(field) })
        return answer.body.data._id as string
      }),
    )
    const role = (dataTypeIds: readonly string[]) => ({
      name: 'Much restricted',
      permissionDetails: [
        {
          permissionName: 'view/data',
          dataTypes: dataTypeIds.map(dataTypeId => ({ dataTypeId, restrictedFields: keys })),
        },
      ],
    })
    const refused = await owner.post('/role', role(types))
    expect([refused.status, refused.body.errors?.[0].path]).toEqual([400, 'permissionDetails'])
    expect((await owner.post('/role', role(types.slice(0, 1)))).status).toBe(201)
  })

  it('bounds the organizations of an account and of those that it invited', async () => {
    const sock = await addPerson(server, owner, { role: 'Admin' })
    await withCap('organizations', 'count%', 3, async () => {
      const second = await addOrganization(server, sock.client)
      const body = { organizationName: 'One too many', hubName: 'Hub', hubLat: 1, hubLng: 1 }
      const third = await addOrganization(server, second.client)
      const refused = await third.client.post('/organization', body)
      expect([refused.status, refused.body.message]).toEqual([
        409,
        expect.stringContaining('as many organizations'),
      ])
      expect((await third.client.delete('/organization')).status).toBe(200)
    })
  })
})
