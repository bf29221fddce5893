import { describe, expect, it } from 'vitest'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe('The content of tasks', () => {
  const { server, owner } = useOrganization()

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

  it('is no more than fits, also where it comes from data records', async () => {
    const fields = Array.from({ length: 12 }, (_, at) => ({ key: `long${at}`, label: 'Long', type: 'text' }))
    const type = await owner.post('/data-type', { name: 'Long', fields })
    const records: string[] = []
    for (const keys of [fields.slice(0, 6), fields.slice(6)]) {
      const data = Object.fromEntries(keys.map(({ key }) => [key, 'x'.repeat(10_000)]))
      const record = await owner.post('/data', { dataTypeId: type.body.data._id, data })
      expect(record.status).toBe(201)
      records.push(record.body.data._id)
    }
    const step = { status: 'open', label: 'Open', next: [], fields }
    const flowId = (await owner.post('/flow', { name: 'Long', steps: [step] })).body.data._id
    const refused = await owner.post('/task', { name: 'Task', flowId, dataIds: records })
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [{ path: 'dataIds', code: 'too-large', message: 'A task holds at most 64 KiB of content.' }],
    ])
    // Given fields are not read from records, and unread values take no room.
    const given = Object.fromEntries(fields.slice(0, 6).map(({ key }) => [key, null]))
    const task = await add({ flowId, dataIds: records, content: given })
    expect(Object.keys(task.content)).toHaveLength(6)

    const schedule = await owner.post('/task/schedule', { name: 'Long', flowId, dataIds: records })
    const path = `/task/schedule/${schedule.body.data._id}`
    await until('it is told', async () => (await owner.get(path)).body.data.lastError !== null)
    expect((await owner.get(path)).body.data.lastError).toMatch(/too long/)
    expect((await owner.get(`/tasks?scheduleId=${schedule.body.data._id}`)).body.data).toEqual([])
  })

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

    // Values that a role restricts in the type of a record are left out of every answer, except the request's own.
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
    // Without access to the type every field of it is hidden, and its records cannot be named.
    const blind = await addPerson(server, owner, {
      roleId: await addRole([{ permissionName: 'view/task' }, { permissionName: 'create/task' }]),
    })
    expect((await blind.client.get(path)).body.data.content).toEqual({})
    const named = await blind.client.post('/task', { name: 'x', dataIds: [second] })
    expect(named.body.errors[0].path).toBe('dataIds.0')
  })

  it('stays hidden whatever is sent: no write answers what others have set, nor takes the restriction away', async () => {
    const field = (key: string) => ({ key, label: key, type: 'text' })
    const type = await owner.post('/data-type', { name: 'Guarded', fields: [field('secret')] })
    const dataTypeId = type.body.data._id
    const records: string[] = []
    for (const secret of ['of the record', 'of another'])
      records.push((await owner.post('/data', { dataTypeId, data: { secret } })).body.data._id)
    const fields = [field('secret')]
    const flow = await owner.post('/flow', {
      name: 'Guarded visit',
      steps: [
        { status: 'open', label: 'Open', next: ['seen'], fields },
        { status: 'seen', label: 'Seen', next: ['seen', 'done'], fields },
        { status: 'done', label: 'Done', fields },
      ],
    })
    const flowId = flow.body.data._id
    const permissions = ['view/task', 'update/task', 'view/task-schedule', 'update/task-schedule']
    const roleId = await addRole([
      ...permissions.map(permissionName => ({ permissionName })),
      { permissionName: 'view/data', dataTypes: [{ dataTypeId, restrictedFields: ['secret'] }] },
    ])
    const { client } = await addPerson(server, owner, { roleId })

    const task = await add({ flowId, dataIds: records })
    const path = `/task/${task._id}`
    const at = new Date().toISOString()
    const seen = { status: 'seen', at, fields: { secret: 'of the step' } }
    await owner.post(`${path}/status`, seen)
    // The same step at the same time sets nothing, whatever is sent with it.
    const again = await client.post(`${path}/status`, { ...seen, fields: { secret: 'a guess' } })
    expect(again.status).toBe(200)
    expect(JSON.stringify(again.body)).not.toContain('secret')
    // Nor does an entry from before another one that set it.
    const earlier = { status: 'seen', at: task.createdAt, fields: { secret: 'too late' } }
    const late = await client.post(`${path}/status`, earlier)
    expect(late.status).toBe(200)
    expect(JSON.stringify(late.body)).not.toContain('of the step')
    expect((await owner.get(path)).body.data.content.secret).toBe('of the step')
    // A newly set value is shown, but not the previous one.
    const set = await client.patch(path, { content: { secret: 'mine' } })
    expect(set.body.data.content).toEqual({ secret: 'mine' })
    expect(JSON.stringify(set.body)).not.toContain('of the step')
    const done = await client.post(`${path}/status`, { status: 'done', fields: { secret: 'mine too' } })
    expect(done.body.data.content).toEqual({ secret: 'mine too' })
    expect(JSON.stringify(done.body)).not.toContain('of the step')
    await client.patch(path, { dataIds: [] })
    expect((await client.get(path)).body.data.content).toEqual({})

    // A schedule and its tasks know the types of deleted records, too.
    const schedule = await owner.post('/task/schedule', {
      name: 'Guarded',
      flowId,
      dataIds: records,
      content: { secret: 'of the schedule' },
    })
    const schedulePath = `/task/schedule/${schedule.body.data._id}`
    const tasks = async () =>
      (await client.get(`/tasks?scheduleId=${schedule.body.data._id}`)).body.data as { _id: string }[]
    await until('a task of the schedule', async () => (await tasks()).length > 0)
    const [made] = await tasks()
    expect((await client.patch(`/task/${made?._id}`, { name: 'Renamed' })).body.data.content).toEqual({})
    await client.patch(`/task/${made?._id}`, { content: { free: 'to see' } })
    expect((await client.get(`/task/${made?._id}`)).body.data.content).toEqual({ free: 'to see' })
    for (const id of records) await owner.delete(`/data/${id}`)
    expect((await client.patch(schedulePath, { name: 'Renamed' })).body.data.content).toEqual({})
    expect((await client.get(schedulePath)).body.data.content).toEqual({})
    // A user who replaces it cannot send hidden values: these stay.
    const replaced = await client.put(schedulePath, { name: 'Replaced', flowId, content: { free: 'yes' } })
    expect(replaced.body.data.content).toEqual({ free: 'yes' })
    expect((await client.get(schedulePath)).body.data.content).toEqual({ free: 'yes' })
    expect((await owner.get(schedulePath)).body.data.content).toEqual({
      secret: 'of the schedule',
      free: 'yes',
    })
  })
})
