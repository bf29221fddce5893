import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import type { Database } from '../../db/client.ts'
import { type Client, createClient } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const LEFT_S = 15

describe('A session', () => {
  const { server, database, owner } = useOrganization()
  let db: Database
  beforeAll(async () => {
    // The server has an embedded database to itself.
    if (database.url) db = await openTestDatabase(database)
  })
  afterAll(() => db?.close())

  const sessionOf = ({ token }: Client) =>
    JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()).jti
  /** Moves a session in time: it was opened this long ago, and ends this soon. */
  const move = (client: Client, opened: string, left: string) =>
    db.system.query(
      'UPDATE sessions SET created_at = now() - $2::interval, expires_at = now() + $3::interval WHERE id = $1',
      [sessionOf(client), opened, left],
    )
  const isAlive = async (token: string) => (await createClient(server, token).get('/user')).status === 200
  const newPerson = async () => (await addPerson(server, owner)).client

  it('that is younger than four hours is not renewed, and stays', async () => {
    const client = await newPerson()
    const answer = await client.post('/auth/renew')
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict'])
    expect(await isAlive(client.token)).toBe(true)
  })

  it('goes on with a new token in its last four hours, and the old one ends', async context => {
    if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
    const client = await newPerson()
    await move(client, '5 hours', '3 hours')
    const answer = await client.post('/auth/renew')
    expect(answer.body).toEqual({
      status: true,
      message: 'Session renewed',
      token: expect.any(String),
      expires_in: 28_800,
    })
    const renewed = createClient(server, answer.body.token)
    expect([await isAlive(client.token), await isAlive(renewed.token)]).toEqual([false, true])
    expect(sessionOf(renewed)).toBe(sessionOf(client))
    expect((await client.post('/auth/renew')).status).toBe(401)
    await renewed.post('/auth/logout')
    expect(await isAlive(renewed.token)).toBe(false)
  })

  it('is renewed once by twins that come together', async context => {
    if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
    const client = await newPerson()
    await move(client, '5 hours', '3 hours')
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.post('/auth/renew')))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)])
  })

  it('lasts at most 30 days', async context => {
    if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
    const client = await newPerson()
    await move(client, '29 days 22 hours', '1 hour')
    const { body } = await client.post('/auth/renew')
    expect(body.expires_in).toBeGreaterThan(7_000)
    expect(body.expires_in).toBeLessThanOrEqual(7_200)
    const last = createClient(server, body.token)
    expect((await last.post('/auth/renew')).status).toBe(409)
    expect(await isAlive(last.token)).toBe(true)
  })

  it('lasts at most 30 days over any number of organizations', async context => {
    if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
    const person = await addPerson(server, owner, { role: 'Admin' })
    const { organizationId } = (await person.client.get('/user')).body.data
    await move(person.client, '29 days 23 hours', '30 minutes')
    const made = await addOrganization(server, person.client)
    const { body } = await made.client.post('/auth/switch-organization', { organizationId })
    expect(body.expires_in).toBeGreaterThan(3_400)
    expect(body.expires_in).toBeLessThanOrEqual(3_600)
  })

  it('keeps its live socket over the end that it had before, and loses it at its end', async context => {
    if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
    const client = await newPerson()
    // Enough to open it and to renew, also for a machine that stands still for some seconds.
    await move(client, '8 hours', `${LEFT_S} seconds`)
    const url = `${server.url.replace('http', 'ws')}/api/v3/live`
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${client.token}` } })
    let code: number | undefined
    socket.on('close', given => {
      code = given
    })
    await new Promise(done => socket.once('open', done))
    const { status, body } = await client.post('/auth/renew')
    expect(status).toBe(200)
    // The query is repeated until the previous end has passed.
    const [row] = await db.system.query<{ now: number }>('SELECT extract(epoch FROM now())::float8 AS now')
    await until('the end of before has passed', async () => {
      const [later] = await db.system.query<{ now: number }>(
        'SELECT extract(epoch FROM now())::float8 AS now',
      )
      return (later?.now as number) > (row?.now as number) + LEFT_S + 2
    })
    expect([code, await isAlive(body.token)]).toEqual([undefined, true])
    await move(createClient(server, body.token), '8 hours', '-1 seconds')
    await until('it is closed', () => code === 4401)
  })

  it('has another token than a forged number of renewals', async () => {
    const client = await newPerson()
    const [head, payload, signature] = client.token.split('.') as [string, string, string]
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify({ ...claims, renewals: 1 })).toString('base64url')
    expect(await isAlive(`${head}.${forged}.${signature}`)).toBe(false)
  })
})
