import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { connectDevice } from '../support/mqtt.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { openServer, type Server } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

// The test reads the database beside the server, which PGlite does not allow.
describe.runIf(usualKind() === 'postgres')('Use', () => {
  let database: TestDatabase
  let server: Server
  let db: Database
  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    server = await openServer(database)
    db = await openTestDatabase(database)
  })
  afterAll(async () => {
    await db.close()
    await server.stop()
    await database.remove()
  })

  it('of a user moves lastActiveAt with any request, without a write for each', async () => {
    const { client, userId } = await addPerson(server, await signIn(server))
    await db.system.query(`UPDATE users SET last_active_at = now() - interval '1 hour' WHERE id = $1`, [
      userId,
    ])
    const read = async () => (await client.get('/user')).body.data.lastActiveAt as string
    const versions = new Set<string | undefined>()
    const noteVersion = async () => {
      const [row] = await db.system.query<{ version: string }>(
        'SELECT xmin::text AS version FROM users WHERE id = $1',
        [userId],
      )
      versions.add(row?.version)
    }
    // Before the first request, which may be written at any moment after it.
    await noteVersion()
    await until('it moves', async () => {
      await noteVersion()
      return Date.parse(await read()) > Date.now() - 1_800_000
    })
    for (let n = 0; n < 50; n++) await read()
    await pause(5_500)
    await noteVersion()
    expect(versions.size).toBe(2)
  })

  it('leads the next sign-in to the organization that the account used last, with any request', async () => {
    const owner = await addPerson(server, await signIn(server), { role: 'Admin' })
    const { email, password } = owner
    const first = (await owner.client.get('/user')).body.data.organizationId
    const second = await addOrganization(server, owner.client, { organizationName: 'The second' })
    const inFirst = await signIn(server, { email, password, organizationId: first })
    const landed = async () =>
      (await createClient(server, '').post('/auth/login', { email, password })).body.data.organizationId
    expect(await landed()).toBe(first)
    expect((await second.client.get('/hubs')).status).toBe(200)
    expect(await landed()).toBe(second.organizationId)
    expect((await inFirst.get('/hubs')).status).toBe(200)
    expect(await landed()).toBe(first)
  })

  it('of a device moves lastSeenAt with a connection, and with a request that is refused', async () => {
    const owner = await signIn(server)
    const [quiet, wrong] = [await createDevice(owner), await createDevice(owner)]
    const seen = async (id: string) => (await owner.get(`/device/${id}`)).body.data.lastSeenAt
    expect(await seen(quiet.id)).toBeNull()
    const client = await connectDevice(server, quiet)
    const bulk = await createClient(server, wrong.key).post('/location-history/bulk', { points: ['x'] })
    expect(bulk.status).toBe(400)
    for (const { id } of [quiet, wrong]) await until('it is seen', async () => (await seen(id)) !== null)
    await client.endAsync()
  })
})
