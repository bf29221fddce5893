import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addOrganization, addPerson, newEmail, PASSWORD } from '../support/people.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'

describe('After an organization is deleted', () => {
  let database: TestDatabase
  let server: Server
  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await openServer(database, { ALLOW_SIGNUP: 'true' })
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  const registration = (email: string, password = PASSWORD) => ({
    ...{ name: 'Anna', email, password, organizationName: 'Annas own' },
    ...{ hubName: 'Hub', hubLat: 1, hubLng: 2 },
  })
  const register = (body: object) => createClient(server, '').post('/auth/register', body)
  const login = (email: string, password = PASSWORD) =>
    createClient(server, '').post('/auth/login', { email, password })

  it('its owner comes back by registering again, with the password of the account alone', async () => {
    const email = newEmail()
    const first = await register(registration(email))
    expect(first.status).toBe(201)
    expect((await register(registration(email))).status).toBe(409)
    await createClient(server, first.body.token).delete('/organization')
    const refused = await login(email)
    expect(refused.status).toBe(403)
    expect(refused.body.message).toMatch(/Register/)

    expect((await register(registration(email, 'another password'))).status).toBe(409)
    const back = await register(registration(email.toUpperCase()))
    expect(back).toMatchObject({ status: 201, body: { organizations: [{ isCurrent: true }] } })
    expect(back.body.organizations).toHaveLength(1)
    expect((await createClient(server, back.body.token).get('/user')).body.data.role.name).toBe('Owner')
    expect((await login(email)).status).toBe(200)
    expect((await register(registration(email))).status).toBe(409)
  })

  it('whoever guesses passwords at registering is held like at signing in', async () => {
    const email = newEmail()
    const first = await register(registration(email))
    await createClient(server, first.body.token).delete('/organization')
    const statuses = []
    for (let n = 0; n < 6; n++)
      statuses.push((await register(registration(email, `wrong password ${n}`))).status)
    expect(statuses.at(-1)).toBe(429)
  })

  it.runIf(usualKind() === 'postgres')('one notification tells of it, however many were in it', async () => {
    const listener = new pg.Client({ connectionString: database.url })
    await listener.connect()
    const heard: { kind: string; organizationId?: string }[] = []
    listener.on('notification', ({ payload }) => heard.push(JSON.parse(payload as string)))
    const founder = await addPerson(server, await signIn(server), { role: 'Admin' })
    const made = await addOrganization(server, founder.client)
    const people = [await addPerson(server, made.client), await addPerson(server, made.client)]
    await createDevice(made.client)
    await createDevice(made.client)
    await listener.query('LISTEN fieldline')
    await made.client.delete('/organization')
    const { organizationId } = made
    const kinds = () => heard.filter(event => event.organizationId === organizationId).map(({ kind }) => kind)
    await until('it is told', () => kinds().includes('organization'))
    await listener.end()
    // The job that deletes the remaining rows announces visibility as well, once it gets there.
    expect(kinds().slice(0, 2).sort()).toEqual(['organization', 'visibility'])
    expect(kinds().filter(kind => kind !== 'visibility')).toEqual(['organization'])
    expect(heard.filter(({ kind }) => kind === 'session')).toEqual([])
    for (const { client } of people) expect((await client.get('/user')).status).toBe(401)
  })
})
