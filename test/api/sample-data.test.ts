import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addOrganization, addPerson, newEmail, PASSWORD } from '../support/people.ts'
import { openServer, type Server, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

// The test reads the database beside the server, which PGlite does not allow.
describe.runIf(usualKind() === 'postgres')('In the background', () => {
  let database: TestDatabase
  let server: Server
  let db: Database
  let admin: () => Promise<Client>

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    server = await openServer(database, { ALLOW_SIGNUP: 'true' })
    db = await openTestDatabase(database)
    const owner = await signIn(server)
    admin = async () => (await addPerson(server, owner, { role: 'Admin' })).client
  })
  afterAll(async () => {
    await db.close()
    await server.stop()
    await database.remove()
  })

  const vehicles = async (organizationId: string) =>
    (
      await db.system.query<{ name: string }>(
        'SELECT name FROM vehicles WHERE organization_id = $1 AND is_sample',
        [organizationId],
      )
    ).length
  const jobs = (organizationId: string, kind = 'sample-data') =>
    db.system.query<{ status: string }>('SELECT status FROM jobs WHERE organization_id = $1 AND kind = $2', [
      organizationId,
      kind,
    ])

  describe('sample data', () => {
    it('specification 4.1 effect 5: is created for an organization that was created', async () => {
      const { organizationId } = await addOrganization(server, await admin())
      await until('samples', async () => (await vehicles(organizationId)) === 3)
    })

    it('shows isSample on every record, and what one makes oneself is none', async () => {
      const { client, organizationId } = await addOrganization(server, await admin())
      await until('samples', async () => (await jobs(organizationId))[0]?.status === 'done')
      const own = await client.post('/data-type', { name: 'Own', fields: [] })
      const record = await client.post('/data', { dataTypeName: 'Own', data: {} })
      expect([own.body.data.isSample, record.body.data.isSample]).toEqual([false, false])
      for (const list of ['/data-types', '/data']) {
        const { data } = (await client.get(list)).body
        expect(data.filter((one: { isSample: boolean }) => !one.isSample)).toHaveLength(1)
        expect(data.filter((one: { isSample: boolean }) => one.isSample).length).toBeGreaterThan(2)
      }
      const [schedule] = (await client.get('/task/schedules')).body.data
      expect(schedule).toMatchObject({ isSample: true, lastError: null, lastRunAt: null })
      expect(new Date(schedule.nextRunAt).getUTCDay()).toBe(1)
      await client.delete('/organization/sample-data')
      for (const list of ['/data-types', '/data']) expect((await client.get(list)).body.data).toHaveLength(1)
      expect((await client.get('/task/schedules')).body.data).toEqual([])
    })

    it('is created for an organization that came with a registration, and not for the first one', async () => {
      const registered = await createClient(server, '').post('/auth/register', {
        name: 'Anna',
        email: newEmail(),
        password: PASSWORD,
        organizationName: 'Annas own',
        hubName: 'Hub',
        hubLat: 1,
        hubLng: 2,
      })
      const { organizationId } = registered.body.data
      await until('samples', async () => (await vehicles(organizationId)) === 3)
      const first = (await (await signIn(server)).get('/user')).body.data.organizationId
      expect(await jobs(first)).toEqual([])
    })

    it('is deleted with DELETE /organization/sample-data, and nothing else is', async () => {
      const { client, organizationId } = await addOrganization(server, await admin())
      const other = await addOrganization(server, await admin())
      for (const id of [organizationId, other.organizationId])
        await until('samples', async () => (await vehicles(id)) === 3)
      await db.system.query(
        `INSERT INTO vehicles (id, organization_id, name) VALUES (gen_random_uuid(), $1, 'A real one')`,
        [organizationId],
      )
      const answer = await client.delete('/organization/sample-data')
      expect(answer.body.data).toMatchObject({ _id: organizationId, removed: { vehicles: 3 } })
      const [left] = await db.system.query<{ n: number }>(
        'SELECT count(*)::int4 AS n FROM vehicles WHERE organization_id = $1',
        [organizationId],
      )
      expect(left?.n).toBe(1)
      expect(await vehicles(other.organizationId)).toBe(3)
      const planner = await addPerson(server, client, { role: 'Planner' })
      expect((await planner.client.delete('/organization/sample-data')).status).toBe(403)
    })

    it('is there once, also where the server is killed while it is created', async () => {
      const own = await createTestDatabase('postgres')
      const beside = await openTestDatabase(own)
      let running = await startServer(own)
      const made: string[] = []
      for (let round = 0; round < 2; round++) {
        const { client, organizationId } = await addOrganization(running, await signIn(running))
        made.push(organizationId)
        if (round % 2 === 0) await running.kill9()
        else {
          await client.get('/user')
          await running.stop()
        }
        running = await startServer(own)
      }
      // The lease of a killed process must expire first.
      await beside.system.query(`UPDATE jobs SET lease_until = now() WHERE status = 'running'`)
      for (const id of made) {
        await until('samples', async () => {
          const [row] = await beside.system.query<{ n: number; done: number }>(
            `SELECT (SELECT count(*)::int4 FROM vehicles WHERE organization_id = $1) AS n,
                 (SELECT count(*)::int4 FROM jobs WHERE organization_id = $1 AND status = 'done') AS done`,
            [id],
          )
          expect(row?.n).toBeLessThanOrEqual(3)
          return row?.done === 1 && row.n === 3
        })
      }
      await beside.close()
      await running.stop()
      await own.remove()
    })
  })

  describe('an organization that was deleted', () => {
    it('is deleted with every row of it, and nothing of another one is', async () => {
      const { client, organizationId, hubIds } = await addOrganization(server, await admin())
      const other = await addOrganization(server, await admin())
      for (const id of [organizationId, other.organizationId])
        await until('samples', async () => (await jobs(id))[0]?.status === 'done')
      for (const one of [client, other.client]) {
        const person = await addPerson(server, one)
        await one.post('/team', { name: 'Team', memberIds: [person.userId] })
        await one.post('/role', { name: 'Role', permissionDetails: [] })
        await one.post('/users/invite', {
          email: newEmail(),
          name: 'Invited',
          roleId: (await one.get('/roles')).body.data[2]._id,
        })
        const device = await createDevice(one)
        await one.patch(`/device/${device.id}`, { hubId: one === client ? hubIds[0] : other.hubIds[0] })
        const points = Array.from({ length: 50 }, (_, n) => ({
          lat: 1,
          lng: 2,
          timestamp: Date.now() - n * 24 * 3600_000,
        }))
        await createClient(server, device.key).post('/location-history/bulk', { points: [...points, {}] })
      }
      const tables = await db.system.query<{ name: string }>(
        `SELECT c.relname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         WHERE a.attname = 'organization_id' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`,
      )
      const subjects = await db.system.query<{ key: number }>(
        'SELECT key FROM subjects WHERE organization_id = $1',
        [organizationId],
      )
      const keys = subjects.map(({ key }) => key)
      const count = async (id: string) => {
        const rows: { [table: string]: number } = {}
        for (const { name } of tables) {
          const [row] = await db.system.query<{ n: number }>(
            `SELECT count(*)::int4 AS n FROM ${name} WHERE organization_id = $1`,
            [id],
          )
          if (row?.n) rows[name] = row.n
        }
        return rows
      }
      const points = async () =>
        (
          await db.system.query<{ n: number }>(
            'SELECT count(*)::int4 AS n FROM points WHERE subject_key = ANY($1)',
            [keys],
          )
        )[0]?.n
      expect(await points()).toBe(50)
      const before = await count(other.organizationId)
      expect(Object.keys(before).length).toBeGreaterThan(12)
      expect(Object.keys(await count(organizationId)).sort()).toEqual(Object.keys(before).sort())

      expect((await client.delete('/organization')).status).toBe(200)
      await until(
        'removed',
        async () =>
          (await db.system.query('SELECT id FROM organizations WHERE id = $1', [organizationId])).length ===
          0,
      )
      expect(await count(organizationId)).toEqual({})
      expect(await points()).toBe(0)
      expect(await count(other.organizationId)).toEqual(before)
    })
  })
})
