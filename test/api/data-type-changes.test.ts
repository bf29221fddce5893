import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { addOrganization } from '../support/people.ts'
import { openServer, type Server } from '../support/server.ts'

const RECORDS = 40
const keys = Array.from({ length: 24 }, (_, at) => `f${at}`)
const fields = (more: object = {}) => keys.map(key => ({ key, label: key, type: 'text', ...more }))

describe('A change of a data type, on the embedded database', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client
  let other: Client

  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await openServer(database)
    owner = (await addOrganization(server, await signIn(server))).client
    other = (await addOrganization(server, await signIn(server))).client
  })
  afterAll(async () => {
    await server?.stop()
    await database?.remove()
  })

  const make = async (path: string, body: object) => {
    const answer = await owner.post(path, body)
    expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(201)
    return answer.body.data
  }

  it('lets others in between while it looks through large records', async () => {
    const type = await make('/data-type', { name: 'Large', fields: fields() })
    const text = 'x'.repeat(10_000)
    const data = Object.fromEntries(keys.map(key => [key, text]))
    for (let record = 0; record < RECORDS; record++) await make('/data', { dataTypeId: type._id, data })

    let under = true
    const change = owner
      .put(`/data-type/${type._id}`, { name: 'Large', fields: fields({ required: true }) })
      .finally(() => {
        under = false
      })
    let between = 0
    for (; ; between++) {
      const answer = await other.post('/hub', { name: `Hub ${between}`, lat: 1, lng: 2 })
      expect(answer.status).toBe(201)
      if (!under) break
    }
    expect((await change).status).toBe(200)
    // A look takes 1 MiB, of 9 MiB.
    expect(between).toBeGreaterThanOrEqual(4)
  })

  it('counts every record that contradicts, and names a hundred', async () => {
    const type = await make('/data-type', { name: 'Small', fields: [] })
    const records = Array.from({ length: 130 }, () => owner.post('/data', { dataTypeId: type._id, data: {} }))
    await Promise.all(records)
    const answer = await owner.put(`/data-type/${type._id}`, {
      name: 'Small',
      fields: fields({ required: true }),
    })
    expect(answer.status).toBe(409)
    expect(answer.body.conflicts.count).toBe(130)
    expect(new Set(answer.body.conflicts.ids).size).toBe(100)
  })
})
