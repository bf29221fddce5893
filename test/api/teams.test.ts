import { beforeAll, describe, expect, it } from 'vitest'
import { addHub, addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('Teams', () => {
  const { server, owner } = useOrganization()
  let anna: Person
  let bert: Person

  beforeAll(async () => {
    anna = await addPerson(server, owner, { role: 'Field user' })
    bert = await addPerson(server, owner, { role: 'Field user' })
  })

  it('are created, read, replaced and deleted, with members and leaders', async () => {
    const hubId = await addHub(owner)
    const made = await owner.post('/team', {
      name: 'North',
      hubId,
      memberIds: [anna.userId, bert.userId, anna.userId],
      leaderIds: [anna.userId],
    })
    expect(made.status).toBe(201)
    expect(made.body.data).toMatchObject({ name: 'North', hubId, leaderIds: [anna.userId] })
    expect(made.body.data.memberIds.sort()).toEqual([anna.userId, bert.userId].sort())
    const path = `/team/${made.body.data._id}`
    const replaced = await owner.put(`${path}/`, { name: 'North-east', leaderIds: [bert.userId] })
    expect(replaced.body.data).toMatchObject({
      name: 'North-east',
      hubId: null,
      memberIds: [],
      leaderIds: [bert.userId],
    })
    expect((await owner.get(path)).body.data).toEqual(replaced.body.data)
    expect((await owner.delete(path)).status).toBe(200)
    expect((await owner.get(path)).status).toBe(404)
  })

  it.each([
    ['hubId', { hubId: crypto.randomUUID() }],
    ['memberIds.0', { memberIds: [crypto.randomUUID()] }],
    ['leaderIds.0', { leaderIds: ['nonsense'] }],
    ['name', { name: '' }],
  ])('a reference to nothing is 400 at %s', async (path, wrong) => {
    const answer = await owner.post('/team', { name: 'Wrong', ...wrong })
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path])
  })

  it('a taken name is 409', async () => {
    await owner.post('/team', { name: 'Taken' })
    expect((await owner.post('/team', { name: 'Taken' })).status).toBe(409)
  })

  it('of a hub without access are 404 and not listed', async () => {
    const [mine, other] = [await addHub(owner), await addHub(owner)]
    const planner = await addPerson(server, owner, { role: 'Planner', hubId: [mine] })
    const theirs = await owner.post('/team', { name: 'Elsewhere', hubId: other })
    const here = await owner.post('/team', { name: 'Here', hubId: mine })
    const { body } = await planner.client.get('/teams?limit=500')
    const ids = body.data.map((team: { _id: string }) => team._id)
    expect(ids).toContain(here.body.data._id)
    expect(ids).not.toContain(theirs.body.data._id)
    const path = `/team/${theirs.body.data._id}`
    expect((await planner.client.get(path)).status).toBe(404)
    expect((await planner.client.put(path, { name: 'Taken over' })).status).toBe(404)
    const moved = await planner.client.post('/team', { name: 'Into another hub', hubId: other })
    expect([moved.status, moved.body.errors[0].path]).toEqual([400, 'hubId'])
  })

  it('with scope team or own only the own ones are seen', async () => {
    for (const scope of ['team', 'own']) {
      const permissionDetails = [{ permissionName: 'view/team', scope }]
      const role = await owner.post('/role', { name: `Member ${scope}`, permissionDetails })
      const person = await addPerson(server, owner, { roleId: role.body.data._id })
      const own = await owner.post('/team', { name: `Of ${scope}`, memberIds: [person.userId] })
      const other = await owner.post('/team', { name: `Not of ${scope}`, memberIds: [bert.userId] })
      expect((await person.client.get('/teams')).body.data).toMatchObject([{ _id: own.body.data._id }])
      expect((await person.client.get(`/team/${other.body.data._id}`)).status).toBe(404)
    }
  })
})
