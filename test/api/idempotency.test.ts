import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { listOperations, readDocument } from '../support/openapi.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, newEmail, PASSWORD, roleId } from '../support/people.ts'

const HUB = { name: 'Hub', lat: 1, lng: 2 }

describe('An Idempotency-Key', () => {
  const { server, database } = useServer({ ALLOW_SIGNUP: 'true' })
  let owner: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
  })

  const key = () => ({ 'idempotency-key': crypto.randomUUID() })
  const countHubs = async (client = owner) => (await client.get('/hubs')).body.pagination.total

  it('gives the first answer again, and the record is created once', async () => {
    const headers = key()
    const before = await countHubs()
    const first = await owner.post('/hub', HUB, headers)
    const again = await owner.post('/hub', HUB, headers)
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await countHubs()).toBe(before + 1)
  })

  it('of twins that come at once, one creates the record and all get its answer', async () => {
    const headers = key()
    const before = await countHubs()
    const answers = await Promise.all(Array.from({ length: 8 }, () => owner.post('/hub', HUB, headers)))
    expect(new Set(answers.map(({ body }) => body.data._id)).size).toBe(1)
    expect(await countHubs()).toBe(before + 1)
  })

  it('two creations of an organization with one key create one', async () => {
    const { client } = await addPerson(server, owner, { role: 'Admin' })
    const headers = key()
    const body = { organizationName: 'Once', hubName: 'Hub', hubLat: 1, hubLng: 2 }
    const answers = await Promise.all([
      client.post('/organization', body, headers),
      client.post('/organization', body, headers),
    ])
    // The first revokes the token, so a later duplicate is rejected.
    const made = answers.filter(({ status }) => status === 201)
    expect(made.length).toBeGreaterThan(0)
    for (const { status } of answers) expect([201, 401]).toContain(status)
    expect(new Set(made.map(({ body: { token } }) => token)).size).toBe(1)
    const token = made[0]?.body.token
    const mine = await createClient(server, token).get('/auth/my-organizations')
    const once = mine.body.data.filter(
      (entry: { organizationName: string }) => entry.organizationName === 'Once',
    )
    expect(once).toHaveLength(1)
  })

  it('takes a trailing slash for no difference', async () => {
    const headers = key()
    const first = await owner.post('/hub', HUB, headers)
    const again = await owner.post('/hub/', HUB, headers)
    expect([again.status, again.body]).toEqual([201, first.body])
  })

  it('with another body or another path is 409', async () => {
    const headers = key()
    await owner.post('/hub', HUB, headers)
    expect((await owner.post('/hub', { ...HUB, name: 'Other' }, headers)).status).toBe(409)
    expect((await owner.post('/team', { name: 'Team' }, headers)).status).toBe(409)
  })

  it('is counted per account and organization', async () => {
    const headers = key()
    const other = await addPerson(server, owner, { role: 'Admin' })
    const mine = await owner.post('/hub', HUB, headers)
    const theirs = await other.client.post('/hub', HUB, headers)
    expect(theirs.status).toBe(201)
    expect(theirs.body.data._id).not.toBe(mine.body.data._id)
    const elsewhere = await addOrganization(server, other.client)
    const third = await elsewhere.client.post('/hub', HUB, headers)
    expect(third.body.data._id).not.toBe(theirs.body.data._id)
  })

  it('stores a failure too, but no 401', async () => {
    const headers = key()
    const wrong = await owner.post('/hub', { name: 'Hub' }, headers)
    const again = await owner.post('/hub', { name: 'Hub' }, headers)
    expect([wrong.status, again.status]).toEqual([400, 400])
    expect(again.body.requestId).toBe(wrong.body.requestId)
    const { client } = await addPerson(server, owner)
    await client.post('/auth/logout')
    expect((await client.post('/hub', HUB, headers)).status).toBe(401)
  })

  it('a revoked token is 401 even with a known key', async () => {
    const { client } = await addPerson(server, owner, { role: 'Admin' })
    const headers = key()
    expect((await client.post('/hub', HUB, headers)).status).toBe(201)
    await client.post('/auth/logout')
    expect((await client.post('/hub', HUB, headers)).status).toBe(401)
  })

  it('works for registering and accepting an invitation, where nobody is signed in yet', async () => {
    const stranger = createClient(server, '')
    const headers = key()
    const body = {
      name: 'Anna',
      email: newEmail(),
      password: PASSWORD,
      organizationName: 'Annas own',
      hubName: 'Hub',
      hubLat: 1,
      hubLng: 2,
    }
    const first = await stranger.post('/auth/register', body, headers)
    const again = await stranger.post('/auth/register', body, headers)
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body.token).toBe(first.body.token)
    // Another user with the same key and another body is no duplicate.
    const other = await stranger.post('/auth/register', { ...body, email: newEmail() }, headers)
    expect(other.body.token).not.toBe(first.body.token)
  })

  it('counts for nothing at signing in and for apps, and the document names it at every other POST', async () => {
    const { email, password } = await addPerson(server, owner)
    const headers = key()
    const signIns = await Promise.all(
      [1, 2].map(() => createClient(server, '').post('/auth/login', { email, password }, headers)),
    )
    expect(signIns.map(({ status }) => status)).toEqual([200, 200])
    expect(new Set(signIns.map(({ body }) => body.token)).size).toBe(2)
    const posts = listOperations(await readDocument(server)).filter(
      ({ method, path }) => method === 'post' && path.startsWith('/api/v3/'),
    )
    const without = posts.filter(
      ({ spec }) => !spec.parameters?.some(({ name }) => name === 'Idempotency-Key'),
    )
    expect(posts.length).toBeGreaterThan(20)
    // Repeated points are the same points, and apps know no key.
    const apps = ['connection/{id}', 'osmand', 'overland', 'owntracks'].map(app => `/api/v3/ingest/${app}`)
    expect(without.map(({ path }) => path).sort()).toEqual([
      '/api/v3/auth/invitation',
      '/api/v3/auth/login',
      '/api/v3/auth/login/totp',
      '/api/v3/auth/oidc/session',
      ...apps,
    ])
  })

  it.runIf(usualKind() === 'postgres')('of a stranger whose request fails is not stored', async () => {
    const db = await openTestDatabase(database)
    const count = async () => {
      const [row] = await db.system.query<{ count: number }>('SELECT count(*)::int4 FROM idempotency_keys')
      return row?.count
    }
    const before = await count()
    const stranger = createClient(server, '')
    const token = 'an invitation of nobody'
    expect((await stranger.post('/auth/invitation', { token }, key())).status).toBe(404)
    const answers = await Promise.all([
      stranger.post('/auth/accept-invitation', { token, name: 'Anna', password: PASSWORD }, key()),
      stranger.post('/auth/register', { name: 'Anna' }, key()),
    ])
    expect(answers.map(({ status }) => status)).toEqual([404, 400])
    expect(await count()).toBe(before)
    await db.close()
  })

  it.each(['', 'x'.repeat(256)])('that is no key is 400', async wrong => {
    const answer = await owner.post('/hub', HUB, { 'idempotency-key': wrong })
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'Idempotency-Key'])
  })

  it.runIf(usualKind() === 'postgres')('keeps secrets encrypted, and everything for 24 hours', async () => {
    const headers = key()
    const invitation = { email: newEmail(), name: 'Guest', roleId: await roleId(owner, 'Planner') }
    const first = await owner.post('/users/invite', invitation, headers)
    const { token } = first.body.data.invitation
    expect((await owner.post('/users/invite', invitation, headers)).body.data.invitation.token).toBe(token)
    const db = await openTestDatabase(database)
    const rows = await db.system.query<{ answer: Uint8Array }>(
      'SELECT answer FROM idempotency_keys WHERE answer IS NOT NULL',
    )
    expect(rows.length).toBeGreaterThan(0)
    for (const { answer } of rows) {
      const text = Buffer.from(answer).toString('latin1')
      expect(text).not.toContain(token)
      expect(text).not.toContain('message')
    }
    await db.system.query(`UPDATE idempotency_keys SET created_at = now() - interval '25 hours'`)
    expect((await owner.post('/users/invite', invitation, headers)).status).toBe(409)
    await db.close()
  })

  it.runIf(usualKind() === 'postgres')('keeps nothing to try passwords against', async () => {
    const headers = key()
    const person = { email: newEmail(), password: PASSWORD, name: 'New' }
    const body = JSON.stringify({
      ...person,
      ...{ organizationName: 'Their own', hubName: 'Hub', hubLat: 1, hubLng: 2 },
    })
    expect((await createClient(server, '').post('/auth/register', body, headers)).status).toBe(201)
    const db = await openTestDatabase(database)
    const rows = await db.system.query<{ id: Uint8Array; fingerprint: Uint8Array }>(
      'SELECT id, fingerprint FROM idempotency_keys',
    )
    await db.close()
    const kept = rows.flatMap(({ id, fingerprint }) =>
      [id, fingerprint].map(one => Buffer.from(one).toString('hex')),
    )
    // Everything that an attacker can compute from a guess and the request's shape.
    const sha256 = (text: string) => createHash('sha256').update(text)
    const digests = (['hex', 'base64', 'base64url'] as const).map(form => sha256(body).digest(form))
    for (const part of [body, ...digests]) {
      for (const text of [part, JSON.stringify(['/api/v3/auth/register', part])]) {
        expect(kept).not.toContain(sha256(text).digest('hex'))
      }
    }
  })

  it.runIf(usualKind() === 'postgres')('whose process died is carried out again', async () => {
    const headers = key()
    const first = await owner.post('/hub', HUB, headers)
    const db = await openTestDatabase(database)
    await db.system.query(
      `UPDATE idempotency_keys SET status = NULL, answer = NULL, lease_until = now() - interval '1 s'`,
    )
    const again = await owner.post('/hub', HUB, headers)
    expect(again.status).toBe(201)
    expect(again.body.data._id).not.toBe(first.body.data._id)
    await db.close()
  })
})
