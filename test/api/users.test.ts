import { describe, expect, it } from 'vitest'
import { createClient, signIn } from '../support/client.ts'
import { addHub, addOrganization, addPerson, newEmail, PASSWORD, roleId } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('Users', () => {
  const { server, owner, organization } = useOrganization()

  it('the own user shows what its role permits', async () => {
    const { client } = await addPerson(server, owner, { role: 'Field user' })
    const { body } = await client.get('/user')
    expect(body.data).toMatchObject({ status: 'active', role: { name: 'Field user' }, hubId: [] })
    expect(body.data.permissionDetails).toContainEqual({ permissionName: 'view/task', scope: 'own' })
    // Even for a user who may not read the organization.
    const { body: made } = await owner.post('/role', { name: 'Gate', permissionDetails: [] })
    const gate = (await addPerson(server, owner, { roleId: made.data._id })).client
    expect((await gate.get('/organization')).status).toBe(403)
    const { language, timeZone } = (await owner.get('/organization')).body.data
    // English is the default if nobody has set a language.
    expect(language).toBe('en')
    expect((await gate.get('/user')).body.data.organization).toEqual({ language: null, timeZone })
    await owner.patch('/organization', { language })
    for (const one of [await gate.get('/user'), await gate.patch('/user', { name: 'Gate' })])
      expect(one.body.data.organization).toEqual({ language, timeZone })
  })

  it('everybody changes the own name, and nothing else of itself', async () => {
    const { client } = await addPerson(server, owner, { role: 'Field user' })
    expect((await client.patch('/user', { name: 'Nele' })).body.data.name).toBe('Nele')
    for (const key of ['email', 'roleId', 'hubId', 'status', 'password']) {
      const answer = await client.patch('/user', { [key]: 'x' })
      expect([answer.status, answer.body.errors[0].path]).toEqual([400, key])
    }
  })

  it('are found by e-mail address in any case, and only in the own organization', async () => {
    const { email, userId } = await addPerson(server, owner)
    const found = await owner.get(`/user/email/${encodeURIComponent(email.toUpperCase())}`)
    expect(found.body.data).toMatchObject({ _id: userId, email })
    expect((await owner.get('/user/email/owner%40elsewhere.example')).status).toBe(404)
    expect((await owner.get(`/user/${userId}`)).body.data._id).toBe(userId)
  })

  it('are listed with search, sort, filters and pages', async () => {
    const { client } = await addOrganization(
      server,
      (await addPerson(server, owner, { role: 'Admin' })).client,
    )
    const hub = await addHub(client)
    const people = await Promise.all(
      ['zoe', 'yann', 'xaver'].map(name =>
        addPerson(server, client, { email: newEmail(name), hubId: [hub] }),
      ),
    )
    const list = async (query: string) => (await client.get(`/users?${query}`)).body
    const all = await list('sort=email&limit=2')
    expect(all.pagination).toMatchObject({ limit: 2, total: 4, nextCursor: expect.any(String) })
    const rest = await list(`sort=email&limit=2&cursor=${all.pagination.nextCursor}`)
    expect(rest.pagination.nextCursor).toBeNull()
    const emails = [...all.data, ...rest.data].map((user: { email: string }) => user.email)
    expect(emails).toEqual([...emails].sort())
    expect(new Set(emails).size).toBe(4)
    expect((await list('search=YANN')).data).toMatchObject([{ email: people[1]?.email }])
    expect((await list('search=%25')).data).toEqual([])
    // The creator has access to it as well.
    expect((await list(`hubId=${hub}`)).data).toHaveLength(4)
    expect((await list('hubId=nonsense')).data).toEqual([])
    expect((await list(`roleId=${await roleId(client, 'Owner')}`)).data).toHaveLength(1)
    expect((await list('status=suspended')).data).toEqual([])
  })

  it('get a role, hubs and a status from those who may', async () => {
    const person = await addPerson(server, owner)
    const hub = await addHub(owner)
    const changed = await owner.patch(`/user/${person.userId}`, {
      roleId: await roleId(owner, 'Field user'),
      hubId: [hub],
    })
    expect(changed.body.data).toMatchObject({ role: { name: 'Field user' }, hubId: [hub] })
    expect((await person.client.get('/users')).status).toBe(403)
    const suspended = await owner.patch(`/user/${person.userId}`, { status: 'suspended' })
    expect(suspended.body.data.status).toBe('suspended')
    expect((await person.client.get('/user')).status).toBe(401)
    await owner.patch(`/user/${person.userId}`, { status: 'active' })
    // The ended session stays ended.
    expect((await person.client.get('/user')).status).toBe(401)
    expect((await signIn(server, person)).token).toBeTruthy()
  })

  it.each([{}, { shoe: 1 }, { name: 'Ada', email: 'no' }])(
    'a registration where none is open is 403, whatever is sent: %o',
    async body => {
      const answer = await createClient(server, '').post('/auth/register', body)
      expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining('closed')])
    },
  )

  it('identifiers are the same in capitals, and one that is named twice counts once', async () => {
    const hub = await addHub(owner)
    const person = await addPerson(server, owner)
    const answer = await owner.patch(`/user/${person.userId.toUpperCase()}`, {
      hubId: [hub, hub.toUpperCase(), hub],
      roleId: (await roleId(owner, 'Planner')).toUpperCase(),
    })
    expect(answer.body.data).toMatchObject({ _id: person.userId, hubId: [hub], role: { name: 'Planner' } })
  })

  it('suspending closes a live socket with 4401, and a lost permission with 4403', async () => {
    const suspended = await addPerson(server, owner)
    const first = await openScreen(server, suspended.client.token)
    await owner.patch(`/user/${suspended.userId}`, { status: 'suspended' })
    expect((await first.closed).code).toBe(4401)
    const demoted = await addPerson(server, owner)
    const second = await openScreen(server, demoted.client.token)
    const made = await owner.post('/role', { name: 'Blind', permissionDetails: [] })
    await owner.patch(`/user/${demoted.userId}`, { roleId: made.body.data._id })
    expect((await second.closed).code).toBe(4403)
  })

  it.each([
    ['roleId', { roleId: crypto.randomUUID() }],
    ['roleId', { roleId: 'nonsense' }],
    ['hubId.0', { hubId: [crypto.randomUUID()] }],
    ['hubId.0', { hubId: ['nonsense'] }],
    ['status', { status: 'invited' }],
  ])('an identifier of nothing or a wrong value in the body is 400 at %s: %o', async (path, body) => {
    const person = await addPerson(server, owner)
    const answer = await owner.patch(`/user/${person.userId}`, body)
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path])
  })

  it('of another organization are 404 in the path and nothing in the body', async () => {
    const other = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
    const theirs = await addPerson(server, other.client)
    for (const answer of [
      await owner.get(`/user/${theirs.userId}`),
      await owner.patch(`/user/${theirs.userId}`, { status: 'suspended' }),
      await owner.delete(`/user/${theirs.userId}`),
      await owner.post(`/user/${theirs.userId}/reset-password`, { newPassword: 'mine all mine' }),
      await owner.get(`/user/email/${theirs.email}`),
    ]) {
      expect(answer.status).toBe(404)
    }
    const invited = await owner.post('/users/invite', {
      email: newEmail(),
      name: 'Spy',
      roleId: await roleId(other.client, 'Planner'),
    })
    expect([invited.status, invited.body.errors[0].path]).toEqual([400, 'roleId'])
    expect((await theirs.client.get('/user')).status).toBe(200)
  })

  it('deleted ones lose access and can be invited again', async () => {
    const person = await addPerson(server, owner)
    expect((await owner.delete(`/user/${person.userId}`)).body.data).toEqual({ _id: person.userId })
    expect((await person.client.get('/user')).status).toBe(401)
    expect((await owner.get(`/user/${person.userId}`)).status).toBe(404)
    await addPerson(server, owner, { email: person.email, password: PASSWORD })
  })

  describe('the last owner', () => {
    it('can be neither suspended, demoted nor deleted: 409', async () => {
      const planner = await roleId(owner, 'Planner')
      for (const answer of [
        await owner.patch(`/user/${organization.userId}`, { roleId: planner }),
        await owner.patch(`/user/${organization.userId}`, { status: 'suspended' }),
        await owner.delete(`/user/${organization.userId}`),
      ]) {
        expect(answer.status).toBe(409)
      }
      expect((await owner.get('/user')).body.data.role.name).toBe('Owner')
    })

    it('one of two goes, whoever asks first', async () => {
      const second = await addPerson(server, owner, { role: 'Owner' })
      const roles = { roleId: await roleId(owner, 'Admin') }
      expect((await owner.patch(`/user/${second.userId}`, roles)).status).toBe(200)
      expect((await owner.patch(`/user/${organization.userId}`, roles)).status).toBe(409)
    })

    it('two owners who demote each other at once leave one', async () => {
      for (let round = 0; round < 3; round++) {
        const { client, userId } = await addOrganization(
          server,
          (await addPerson(server, owner, { role: 'Admin' })).client,
        )
        const second = await addPerson(server, client, { role: 'Owner' })
        const demoted = { roleId: await roleId(client, 'Admin') }
        const answers = await Promise.all([
          client.patch(`/user/${second.userId}`, demoted),
          second.client.patch(`/user/${userId}`, demoted),
        ])
        const statuses = answers.map(({ status }) => status).sort()
        // The second was demoted before its request, or its request found the last owner.
        expect(statuses[0]).toBe(200)
        expect([403, 409]).toContain(statuses[1])
        const owners = await Promise.all([client, second.client].map(one => one.get('/user')))
        expect(owners.filter(({ body }) => body.data.role.name === 'Owner')).toHaveLength(1)
      }
    })
  })

  describe('nobody gives or takes what they lack', () => {
    it('an admin makes no owner, and changes, suspends or deletes none: 403', async () => {
      const admin = await addPerson(server, owner, { role: 'Admin' })
      const second = await addPerson(server, owner, { role: 'Owner' })
      const asOwner = { roleId: await roleId(owner, 'Owner') }
      const person = await addPerson(server, owner)
      for (const answer of [
        await admin.client.patch(`/user/${person.userId}`, asOwner),
        await admin.client.patch(`/user/${admin.userId}`, asOwner),
        await admin.client.post('/users/invite', { email: newEmail(), name: 'Friend', ...asOwner }),
        await admin.client.patch(`/user/${second.userId}`, { roleId: await roleId(owner, 'Planner') }),
        await admin.client.patch(`/user/${second.userId}`, { status: 'suspended' }),
        await admin.client.delete(`/user/${second.userId}`),
      ]) {
        expect(answer.status).toBe(403)
      }
      expect((await second.client.get('/user')).status).toBe(200)
      await owner.delete(`/user/${second.userId}`)
    })

    it('a role with update/user alone gives no role that permits more: 403', async () => {
      const permissionDetails = ['view/user', 'update/user', 'create/user', 'view/role'].map(
        permissionName => ({
          permissionName,
        }),
      )
      const made = await owner.post('/role', { name: 'Personnel', permissionDetails })
      const personnel = await addPerson(server, owner, { roleId: made.body.data._id })
      const planner = await roleId(owner, 'Planner')
      const person = await addPerson(server, owner, { role: 'Field user' })
      expect((await personnel.client.patch(`/user/${person.userId}`, { roleId: planner })).status).toBe(403)
      const invitation = { email: newEmail(), name: 'Friend', roleId: planner }
      expect((await personnel.client.post('/users/invite', invitation)).status).toBe(403)
      const own = { ...invitation, roleId: made.body.data._id }
      expect((await personnel.client.post('/users/invite', own)).status).toBe(201)
    })
  })
})
