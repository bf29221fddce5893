import { describe, expect, it } from 'vitest'
import { addApiKey, type TestKey } from '../support/api-keys.ts'
import { createClient } from '../support/client.ts'
import { listOperations, readDocument } from '../support/openapi.ts'
import { addHub, addPerson, newEmail, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

describe('An API key that is to end', () => {
  const { server, owner } = useOrganization()
  const rotate = (id: string, body?: object, headers = {}) =>
    owner.post(`/api-key/${id}/rotate`, body, headers)

  /** One with an end, and a former secret that is still valid. */
  async function addEnding(): Promise<TestKey[]> {
    const ending = await addApiKey(server, owner, { role: 'Admin', expiresAt: inAnHour() })
    const former = await addApiKey(server, owner, { role: 'Admin' })
    expect((await rotate(former.id, { overlapSeconds: 3_600 })).status).toBe(200)
    return [ending, former]
  }

  it('gives no key that lives longer another role or other hubs', async () => {
    const [admin, field] = [await roleId(owner, 'Admin'), await roleId(owner, 'Field user')]
    const hub = await addHub(owner)
    for (const { client } of await addEnding()) {
      const spare = `/api-key/${(await addApiKey(server, owner, { role: 'Field user' })).id}`
      expect((await client.patch(spare, { roleId: admin })).status).toBe(403)
      expect((await client.patch(spare, { hubId: [hub] })).status).toBe(403)
      expect((await client.patch(spare, { name: 'Named' })).status).toBe(200)
      expect((await owner.get(spare)).body.data).toMatchObject({ role: { _id: field }, hubId: [] })
      const soon = new Date(Date.now() + 60_000).toISOString()
      expect((await client.patch(spare, { roleId: admin, expiresAt: soon })).status).toBe(200)
      expect((await client.patch(spare, { roleId: field })).status).toBe(200)
    }
  })

  it('lets nobody in and decides what nobody may do, by no operation; one without an end may', async () => {
    const operations = listOperations(await readDocument(server))
    const closed = operations.filter(({ spec }) => spec['x-api-key'] === 'endless')
    expect(closed.map(({ name }) => name).sort()).toEqual([
      'patch /api/v3/user/{id}',
      'post /api/v3/role',
      'post /api/v3/user/{id}/invitation',
      'post /api/v3/user/{id}/reset-password',
      'post /api/v3/users/invite',
      'post /api/v3/webhook',
      'post /api/v3/webhook-delivery/{id}/redeliver',
      'post /api/v3/webhook/{id}/rotate-secret',
      'post /api/v3/webhook/{id}/test',
      'put /api/v3/role/{id}',
      'put /api/v3/webhook/{id}',
    ])
    const person = await addPerson(server, owner)
    const planner = await roleId(owner, 'Planner')
    const role = (await owner.post('/role', { name: 'Changed', permissionDetails: [] })).body.data._id
    const hook = { url: 'https://example.com/hook', events: ['data-source-created'] }
    const webhook = (await owner.post('/webhook', hook)).body.data._id
    const bodies: { [name: string]: object } = {
      'post /api/v3/webhook': hook,
      'put /api/v3/webhook/{id}': hook,
      'patch /api/v3/user/{id}': { hubId: [] },
      'post /api/v3/user/{id}/reset-password': { newPassword: 'a new password of a key' },
    }
    const endless = await addApiKey(server, owner, { role: 'Admin' })
    for (const { client } of [...(await addEnding()), endless])
      for (const { name, method, path } of closed) {
        const isEndless = client === endless.client
        const id = path.includes('/role/') ? role : path.includes('/webhook/') ? webhook : person.userId
        const body = bodies[name] ?? {
          ...(name.endsWith('invite') && { email: newEmail(), name: 'Guest', roleId: planner }),
          ...(path.includes('role') && { name: `Role ${crypto.randomUUID()}`, permissionDetails: [] }),
        }
        const call = client[method as 'post' | 'put' | 'patch']
        const given = /(invitation|redeliver|rotate-secret|test)$/.test(name) ? undefined : body
        const answer = await call(path.replace('/api/v3', '').replace('{id}', id), given)
        expect([name, answer.status === 403]).toEqual([name, !isEndless])
        if (!isEndless) expect(answer.body.message).toMatch('This key is to end')
      }
  })

  it('is told no secret that another one was told, by no Idempotency-Key', async () => {
    const headers = { 'idempotency-key': `guessed ${crypto.randomUUID()}` }
    const former = await addApiKey(server, owner, { role: 'Admin' })
    const second = createClient(server, (await rotate(former.id, { overlapSeconds: 3_600 })).body.data.key)
    const spare = `/api-key/${(await addApiKey(server, owner)).id}/rotate`
    const told = await second.post(spare, {}, headers)
    expect(told.status).toBe(200)
    const again = await second.post(spare, {}, headers)
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([told.body, 'true'])
    expect((await former.client.post(spare, {}, headers)).status).toBe(403)

    // Nor its own successor.
    const own = await addApiKey(server, owner, { role: 'Admin' })
    const path = `/api-key/${own.id}/rotate`
    expect((await own.client.post(path, { overlapSeconds: 3_600 }, headers)).status).toBe(200)
    expect((await own.client.post(path, { overlapSeconds: 3_600 }, headers)).status).toBe(403)
  })

  it('repeats what answers no secret across a rotation', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const { client, id } = await addApiKey(server, owner)
    const hub = { name: 'Once', lat: 1, lng: 2 }
    const made = await client.post('/hub', hub, headers)
    const next = createClient(server, (await rotate(id, { overlapSeconds: 3_600 })).body.data.key)
    for (const { post } of [client, next]) expect((await post('/hub', hub, headers)).body).toEqual(made.body)
  })

  it('has every operation that answers a secret say so', async () => {
    const document = await readDocument(server)
    const schemas = document.components.schemas as { [name: string]: object }
    /** Whether a schema, or one that it names, has a value that is shown once. */
    const isShownOnce = (text: string, seen = new Set<string>()): boolean =>
      text.includes('Shown once') ||
      [...text.matchAll(/#\/components\/schemas\/([^"]+)/g)].some(([, name = '']) => {
        if (seen.has(name)) return false
        seen.add(name)
        return isShownOnce(JSON.stringify(schemas[name]), seen)
      })
    const posts = listOperations(document).filter(({ method }) => method === 'post')
    const telling = posts.filter(({ spec }) =>
      Object.entries(spec.responses).some(
        ([status, answer]) => status.startsWith('2') && isShownOnce(JSON.stringify(answer)),
      ),
    )
    expect(telling.length).toBeGreaterThan(10)
    for (const { name, spec } of posts)
      expect([name, spec['x-answers-secret'] === true]).toEqual([
        name,
        telling.some(one => one.name === name),
      ])
  })

  it('shows no former secret where it has none', async () => {
    const { id } = await addApiKey(server, owner)
    const expiresAt = inAnHour()
    const shown = (await owner.patch(`/api-key/${id}`, { expiresAt })).body.data
    expect(shown).toMatchObject({ expiresAt, formerExpiresAt: null })
    expect((await rotate(id, { overlapSeconds: 0 })).status).toBe(200)
    expect((await owner.patch(`/api-key/${id}`, { expiresAt })).body.data.formerExpiresAt).toBeNull()
  })
})
