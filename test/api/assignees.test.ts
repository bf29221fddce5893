import { beforeAll, describe, expect, it } from 'vitest'
import { addApiKey } from '../support/api-keys.ts'
import { addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('The people whom tasks may be given to', () => {
  const { server, owner } = useOrganization()
  let planner: Person
  let ada: Person

  beforeAll(async () => {
    planner = await addPerson(server, owner, { role: 'Planner' })
    ada = await addPerson(server, owner, { role: 'Field user' })
    await ada.client.patch('/user', { name: 'Ada Lovelace' })
  })

  it('are known by name to a planner, who sees no users and no addresses', async () => {
    expect((await planner.client.get('/users')).status).toBe(403)
    const { status, body } = await planner.client.get('/tasks/assignees?search=lovelace')
    expect(status).toBe(200)
    expect(body.data).toEqual([{ _id: ada.userId, name: 'Ada Lovelace', status: 'active' }])
    const address = encodeURIComponent(ada.email)
    expect((await planner.client.get(`/tasks/assignees?search=${address}`)).body.data).toEqual([])
    expect((await planner.client.get('/tasks/assignees?sort=email')).status).toBe(400)
  })

  it('are people, and no API keys', async () => {
    await addApiKey(server, owner, { name: 'Lovelace the program' })
    const { body } = await planner.client.get('/tasks/assignees?search=lovelace')
    expect(body.data.map(({ _id }: { _id: string }) => _id)).toEqual([ada.userId])
  })

  it('are oneself alone for whoever sees the own tasks', async () => {
    const { body } = await ada.client.get('/tasks/assignees')
    expect(body.data.map(({ _id }: { _id: string }) => _id)).toEqual([ada.userId])
  })

  it('say who gets no task any more', async () => {
    await owner.patch(`/user/${ada.userId}`, { status: 'suspended' })
    const { body } = await planner.client.get(`/tasks/assignees?_id=${ada.userId}`)
    expect(body.data).toMatchObject([{ status: 'suspended' }])
  })
})
