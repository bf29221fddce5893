import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { type Client, signIn } from './client.ts'
import { openTestDatabase, postgresMissing } from './database.ts'
import { useServer } from './own-server.ts'
import { addOrganization } from './people.ts'
import { until } from './wait.ts'

/** The number of records that are answered directly. */
export const DIRECT_LIMIT = 20

/** A server for tests of exports, with an organization and its owner, and large types. */
export function useExports() {
  const { server, database } = useServer({ EXPORT_DIRECT_LIMIT: String(DIRECT_LIMIT) })
  // Filled later, like the server.
  const owner = {} as Client
  const db = {} as Database
  let organizationId = ''

  const missing = postgresMissing()
  beforeAll(async () => {
    const made = await addOrganization(server, await signIn(server))
    Object.assign(owner, made.client)
    organizationId = made.organizationId
    // The last of them, so that no tasks come between two exports.
    await until('its samples are there', async () => {
      const { body } = await owner.get('/task/schedules')
      return body.pagination.total > 0
    })
    if (!missing) Object.assign(db, await openTestDatabase(database))
  })
  // Embedded, the server has the database for itself.
  beforeEach(context => {
    if (missing) context.skip(missing)
  })
  afterAll(() => db.close?.())

  const addType = async (name: string, fields: object[], more: object = {}) => {
    const answer = await owner.post('/data-type', { name, fields, ...more })
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    return answer.body.data._id as string
  }
  const download = async (client: Client, path: string, body?: object) => {
    const response = await fetch(`${server.url}/api/v3${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${client.token}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return {
      status: response.status,
      headers: response.headers,
      bytes: Buffer.from(await response.arrayBuffer()),
    }
  }
  let many = 0
  /** A type with more records than a direct answer may have. */
  const addMany = async (count: number) => {
    const dataTypeId = await addType(`Many ${newId()}`, [{ key: 'n', label: 'N', type: 'number' }])
    await db.system.query(
      `INSERT INTO data_records (id, organization_id, data_type_id, data, search)
       SELECT ('01900000-0000-7000-8000-' || lpad(to_hex($4::int4 + n), 12, '0'))::uuid, $1, $2, json_build_object('n', n), n::text
       FROM generate_series(1, $3::int4) n`,
      [organizationId, dataTypeId, count, many++ * 100_000],
    )
    return dataTypeId
  }
  /** Makes all entries of the audit log an hour older. */
  const passHour = () => db.system.query(`UPDATE audit_log SET at = at - interval '1 hour'`)
  const removeMany = (dataTypeId: string) =>
    db.system.query('DELETE FROM data_records WHERE data_type_id = $1', [dataTypeId])
  const whenDone = async (id: string, client = owner) => {
    let log = { status: '' } as { [name: string]: unknown }
    await until('done', async () => {
      log = (await client.get(`/tasks/export-log/${id}`)).body.data
      return log.status === 'completed' || log.status === 'failed'
    })
    return log
  }

  return {
    ...{ server, database, db, owner, organizationId: () => organizationId },
    ...{ addType, addMany, removeMany, passHour, whenDone, download },
  }
}
