import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'

describe('The content of tasks', () => {
  const { server } = useServer()
  let owner: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
  })

  // biome-ignore lint/suspicious/noExplicitAny: as in Answer
  const add = async (body: object): Promise<any> => {
    const made = await owner.post('/task', { name: 'Task', ...body })
    expect([made.status, made.body.errors]).toEqual([201, undefined])
    return made.body.data
  }
  const addRole = async (permissionDetails: object[]) => {
    const made = await owner.post('/role', { name: `Role ${Math.random()}`, permissionDetails })
    expect(made.status).toBe(201)
    return made.body.data._id as string
  }

  it('comes from their data records, and is hidden from roles that may not see it there', async () => {
    const field = (key: string) => ({ key, label: key, type: 'text' })
    for (const name of ['One', 'Two'])
      await owner.post('/data-type', { name, fields: ['phone', 'street', 'secret', 'other'].map(field) })
    const record = async (dataTypeName: string, data: object): Promise<string> =>
      (await owner.post('/data', { dataTypeName, data })).body.data._id
    const first = await record('One', { phone: '1', secret: 's1', other: 'o' })
    const second = await record('Two', { phone: '2', street: 'Second street' })
    const flow = await owner.post('/flow', {
      name: 'Visit',
      steps: [
        { status: 'open', label: 'Open', next: ['done'], fields: [field('phone'), field('secret')] },
        { status: 'done', label: 'Done', fields: [{ ...field('street'), required: true }, field('secret')] },
      ],
    })
    const given = { flowId: flow.body.data._id, dataIds: [first, second] }
    const task = await add(given)
    expect(task.content).toEqual({ phone: '1', street: 'Second street', secret: 's1' })
    expect((await add({ ...given, content: { phone: '3', street: null } })).content).toEqual({
      phone: '3',
      secret: 's1',
    })
    expect((await add({ ...given, dataIds: [second, first] })).content.phone).toBe('2')

    // What a role restricts of the type of a record is left out of every answer, and the request's own is not.
    const typeId = (await owner.get(`/data/${first}`)).body.data.dataType._id
    const others = (await owner.get('/data-types?limit=500')).body.data.filter(
      ({ _id }: { _id: string }) => _id !== typeId,
    )
    const roleId = await addRole([
      ...['view/task', 'update/task', 'create/task', 'view/flow'].map(permissionName => ({ permissionName })),
      {
        permissionName: 'view/data',
        dataTypes: [
          { dataTypeId: typeId, restrictedFields: ['secret'] },
          ...others.map(({ _id }: { _id: string }) => ({ dataTypeId: _id, restrictedFields: [] })),
        ],
      },
    ])
    const { client } = await addPerson(server, owner, { roleId })
    const path = `/task/${task._id}`
    const shown = { phone: '1', street: 'Second street' }
    expect((await client.get(path)).body.data.content).toEqual(shown)
    const listed = (await client.get('/tasks?limit=500')).body.data.find(
      ({ _id }: { _id: string }) => _id === task._id,
    )
    expect(listed.content).toEqual(shown)
    expect((await client.patch(path, { name: 'Seen' })).body.data.content).toEqual(shown)
    const set = await client.patch(path, { content: { secret: 'mine' } })
    expect(set.body.data.content).toEqual({ ...shown, secret: 'mine' })
    const done = await client.post(`${path}/status`, { status: 'done', fields: { street: 'New' } })
    expect(done.body.data.content).toEqual({ phone: '1', street: 'New' })
    expect((await client.post('/task', { name: 'Taken', ...given })).body.data.content).toEqual(shown)
    await owner.post(`/task/${(await add(given))._id}/status`, {
      status: 'done',
      fields: { street: 'x', secret: 'of the step' },
    })
    expect(JSON.stringify((await client.get('/tasks?limit=500')).body)).not.toContain('of the step')
    // The restriction outlives the record.
    await owner.delete(`/data/${first}`)
    expect((await client.get(path)).body.data.content).not.toHaveProperty('secret')
    expect((await owner.get(path)).body.data.content.secret).toBe('mine')
    // Without the type every field of it is hidden, and a record of it cannot be named.
    const blind = await addPerson(server, owner, {
      roleId: await addRole([{ permissionName: 'view/task' }, { permissionName: 'create/task' }]),
    })
    expect((await blind.client.get(path)).body.data.content).toEqual({})
    const named = await blind.client.post('/task', { name: 'x', dataIds: [second] })
    expect(named.body.errors[0].path).toBe('dataIds.0')
  })
})
