import pg from 'pg'
import type { TestDevice } from '../support/client.ts'

/** Creates many devices directly in the database of a running server: a request for each takes 3 ms. */
export async function createFleet(databaseUrl: string, count: number): Promise<TestDevice[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<TestDevice>(
      `WITH fresh AS (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)),
       organization AS (SELECT id FROM organizations LIMIT 1),
       made AS (
         INSERT INTO subjects (id, organization_id, type)
         SELECT fresh.id, organization.id, 'device' FROM fresh, organization RETURNING id
       )
       INSERT INTO devices (id, organization_id, name, key_hash)
       SELECT made.id, organization.id, 'Tracker', sha256(convert_to('fld_' || made.id, 'UTF8')) FROM made, organization
       RETURNING id, 'fld_' || id AS key`,
      [count],
    )
    return rows
  } finally {
    await client.end()
  }
}
