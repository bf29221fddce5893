import { describe, expect, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('An account in two organizations at the same time', () => {
  const { server, owner } = useOrganization()

  /** Somebody who is signed in to the second of two organizations. */
  const addMember = async () => {
    const person = await addPerson(server, owner, { role: 'Admin' })
    const { organizationId: first } = (await person.client.get('/user')).body.data
    const { client, organizationId: second } = await addOrganization(server, person.client)
    const open = async (organizationId: unknown, token = client.token) =>
      createClient(server, token).post('/auth/open-organization', { organizationId })
    return { person, client, first, second, open }
  }
  const jtiOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()).jti
  const statusOf = async (token: string) => (await createClient(server, token).get('/user')).status

  it('opens the other one, and stays in the first', async () => {
    const { person, client, first, second, open } = await addMember()
    const { status, body } = await open(first)
    expect(status).toBe(200)
    expect(body).toMatchObject({ expires_in: 28_800, data: { organizationId: first, email: person.email } })
    const current = body.organizations.filter((one: { isCurrent: boolean }) => one.isCurrent)
    expect(current).toMatchObject([{ organizationId: first }])
    expect((await createClient(server, body.token).get('/user')).body.data.organizationId).toBe(first)
    expect((await client.get('/user')).body.data.organizationId).toBe(second)
  })

  it('has one session in each, however often and from wherever it is opened', async () => {
    const { client, first, second, open } = await addMember()
    const answers = await Promise.all([1, 2, 3, 4].map(() => open(first)))
    expect(new Set(answers.map(({ body }) => jtiOf(body.token))).size).toBe(1)
    const [beside] = answers.map(({ body }) => body.token)
    expect(jtiOf((await open(second, beside)).body.token)).toBe(jtiOf(client.token))
    expect((await client.get('/auth/sessions')).body.data).toHaveLength(2)
  })

  it.each([['with the first token'], ['with the second one'], ['from the list of sessions']])(
    'is signed out of both, %s, and the live sockets of both are closed',
    async how => {
      const { client, first, open } = await addMember()
      const beside = createClient(server, (await open(first)).body.token)
      const screens = [client, beside].map(({ token }) => openScreen(server, token))
      const opened = await Promise.all(screens)
      if (how.startsWith('from')) {
        const rows = (await client.get('/auth/sessions')).body.data as { _id: string; isCurrent: boolean }[]
        const other = rows.find(({ isCurrent }) => !isCurrent)
        expect((await client.delete(`/auth/session/${other?._id}`)).status).toBe(200)
      } else expect((await (how.includes('first') ? client : beside).post('/auth/logout')).status).toBe(200)
      for (const { closed } of opened) expect((await closed).code).toBe(4401)
      expect([await statusOf(client.token), await statusOf(beside.token)]).toEqual([401, 401])
    },
  )

  it('is signed out of both after it has switched, and switches into the session that it has there', async () => {
    const { client, first, second, open } = await addMember()
    const beside = (await open(first)).body.token
    const switched = await createClient(server, client.token).post('/auth/switch-organization', {
      organizationId: second,
    })
    const into = await createClient(server, switched.body.token).post('/auth/switch-organization', {
      organizationId: first,
    })
    expect(jtiOf(into.body.token)).toBe(jtiOf(beside))
    const back = (await open(second, into.body.token)).body.token
    expect(await statusOf(switched.body.token)).toBe(401)
    await createClient(server, back).post('/auth/logout')
    expect([await statusOf(back), await statusOf(beside)]).toEqual([401, 401])
  })

  it('leaves no session behind when it switches in one tab and signs out in the other', async () => {
    for (let round = 0; round < 8; round++) {
      const { client, first, second, open } = await addMember()
      const beside = createClient(server, (await open(first)).body.token)
      const [switched, out] = await Promise.all([
        client.post('/auth/switch-organization', { organizationId: second }),
        beside.post('/auth/logout'),
      ])
      expect(out.status).toBe(200)
      expect([200, 401]).toContain(switched.status)
      expect(await statusOf(beside.token)).toBe(401)
      if (switched.status === 200) expect(await statusOf(switched.body.token)).toBe(401)
    }
  })

  it('leaves no session behind that was opened while it signed out', async () => {
    for (let round = 0; round < 8; round++) {
      const { client, first, open } = await addMember()
      const [opened] = await Promise.all([open(first), client.post('/auth/logout')])
      if (opened.status === 200) expect(await statusOf(opened.body.token)).toBe(401)
      expect([200, 401, 404]).toContain(opened.status)
    }
  })

  it('opens none where it is no active member, and nothing changes', async () => {
    const { client, first, open } = await addMember()
    const foreign = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
    for (const organizationId of [foreign.organizationId, 'nonsense', ''])
      expect((await open(organizationId)).status).toBe(404)
    const { token } = (await open(first)).body
    const userId = (await createClient(server, token).get('/user')).body.data._id
    expect((await owner.patch(`/user/${userId}`, { status: 'suspended' })).status).toBe(200)
    expect(await statusOf(token)).toBe(401)
    expect((await open(first)).status).toBe(404)
    expect(await statusOf(client.token)).toBe(200)
  })
})
