import { beforeAll, describe, expect, it } from 'vitest'
import { addHub, addOrganization, addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const PLACE = { lat: 52.52, lng: 13.405, address: 'Alexanderplatz 1' }

describe('Tasks', () => {
  const { server, owner } = useOrganization()
  let flowId: string
  let me: string

  beforeAll(async () => {
    // Tasks that a job makes meanwhile would take codes too.
    expect((await owner.delete('/organization/sample-data')).status).toBe(200)
    const flows = (await owner.get('/flows')).body.data as { _id: string; name: string }[]
    flowId = flows.find(({ name }) => name === 'Standard')?._id as string
    me = (await owner.get('/user')).body.data._id
  })

  // biome-ignore lint/suspicious/noExplicitAny: as in Answer
  const add = async (body: object = {}, by = owner): Promise<any> => {
    const made = await by.post('/task', { name: 'Task', ...body })
    expect([made.status, made.body.errors]).toEqual([201, undefined])
    return made.body.data
  }
  const addRole = async (permissionDetails: object[]) => {
    const made = await owner.post('/role', { name: `Role ${Math.random()}`, permissionDetails })
    expect(made.status).toBe(201)
    return made.body.data._id as string
  }

  it('need a name alone: the usual flow, a readable code, its first step', async () => {
    const task = await add()
    expect(task).toEqual({
      _id: expect.any(String),
      code: expect.stringMatching(/^T-\d+$/),
      name: 'Task',
      status: 'unassigned',
      flowId,
      dataIds: [],
      hubId: null,
      teamId: null,
      assigneeId: null,
      vehicleId: null,
      location: null,
      startTime: null,
      endTime: null,
      content: {},
      scheduleId: null,
      history: [
        {
          status: 'unassigned',
          at: expect.any(String),
          by: me,
          lat: null,
          lng: null,
          note: null,
          fields: {},
        },
      ],
      isSample: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await owner.get(`/task/${task._id}`)).body.data).toEqual(task)
  })

  it('are created with everything, changed by key, and deleted', async () => {
    const hubId = await addHub(owner)
    const person = await addPerson(server, owner, { hubId: [hubId] })
    const team = (await owner.post('/team', { name: 'All', hubId, memberIds: [person.userId] })).body.data
    const vehicle = (await owner.post('/vehicle', { name: 'Van', hubId })).body.data
    const given = {
      name: 'Deliver',
      code: 'ORDER-1',
      hubId,
      teamId: team._id,
      assigneeId: person.userId,
      vehicleId: vehicle._id,
      location: PLACE,
      startTime: '2026-11-21T09:00:00.000Z',
      endTime: '2026-11-21T10:00:00.000Z',
      content: { parcels: 3, gate: { code: [1, 2] } },
    }
    const task = await add({ ...given, startTime: '2026-11-21T10:00:00+01:00' })
    expect(task).toMatchObject({ ...given, status: 'assigned' })
    const path = `/task/${task._id}`
    const changed = await owner.patch(path, {
      name: 'Deliver soon',
      location: null,
      content: { gate: null, floor: 4 },
    })
    const { updatedAt } = changed.body.data
    expect(changed.body.data).toEqual({
      ...task,
      name: 'Deliver soon',
      location: null,
      content: { parcels: 3, floor: 4 },
      updatedAt,
    })
    expect((await owner.get(path)).body.data).toEqual(changed.body.data)
    // Merged content must not exceed the maximum of a single request.
    const half = { a: 'x'.repeat(40_000) }
    expect((await owner.patch(path, { content: half })).status).toBe(200)
    expect((await owner.patch(path, { content: { b: half.a } })).body.errors[0].path).toBe('content')
    expect((await owner.delete(path)).body.data).toEqual({ _id: task._id })
    expect((await owner.get(path)).status).toBe(404)
    // The targets of a task's references may be deleted: the task continues without them.
    const other = await add({ ...given, code: 'ORDER-2' })
    await owner.delete(`/team/${team._id}`)
    await owner.delete(`/vehicle/${vehicle._id}`)
    const { data } = (await owner.get(`/task/${other._id}`)).body
    expect([data.teamId, data.vehicleId, data.assigneeId]).toEqual([null, null, person.userId])
    expect((await owner.delete(`/hub/${hubId}`)).status).toBe(409)
  })

  it.each([
    ['name', { name: '' }],
    ['status', { status: 'completed' }],
    ['history', { history: [] }],
    ['scheduleId', { scheduleId: null }],
    ['flowId', { flowId: '019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70' }],
    ['hubId', { hubId: 'none' }],
    ['teamId', { teamId: '' }],
    ['assigneeId', { assigneeId: '019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70' }],
    ['vehicleId', { vehicleId: 'x' }],
    ['dataIds.0', { dataIds: ['019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70'] }],
    ['location.lat', { location: { lat: 91, lng: 0 } }],
    ['location.lng', { location: { lat: 1 } }],
    ['startTime', { startTime: '2026-11-21' }],
    ['startTime', { startTime: '10000-01-01T00:00:00Z' }],
    ['endTime', { startTime: '2026-11-21T09:00:00Z', endTime: '2026-11-21T08:59:59Z' }],
    ['content.reason', { content: { reason: 3 } }],
    ['content', { content: { long: 'x'.repeat(66_000) } }],
    ['content.a b', { content: { 'a b': 1 } }],
  ])('a wrong %s is 400, when they are created and when they are changed', async (path, wrong) => {
    const task = await add()
    for (const answer of [
      await owner.post('/task', { name: 'Task', ...wrong }),
      await owner.patch(`/task/${task._id}`, wrong),
    ]) {
      expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
    }
    expect((await owner.get(`/task/${task._id}`)).body.data).toEqual(task)
  })

  it('have a code of their own each, drawn or given, however many are created at once', async () => {
    const first = await add()
    const number = Number(first.code.slice(2))
    await add({ code: `T-${number + 2}` })
    const codes = (await Promise.all(Array.from({ length: 12 }, () => add()))).map(({ code }) => code)
    expect(new Set(codes).size).toBe(12)
    expect(codes).not.toContain(`T-${number + 2}`)
    expect(codes).toContain(`T-${number + 13}`)
    const taken = await owner.post('/task', { name: 'Twice', code: first.code })
    expect([taken.status, taken.body.message]).toEqual([409, expect.stringContaining(first.code)])
    const other = await add()
    expect((await owner.patch(`/task/${other._id}`, { code: first.code })).status).toBe(409)
    const elsewhere = await addOrganization(
      server,
      (await addPerson(server, owner, { role: 'Admin' })).client,
    )
    expect((await add({ code: first.code }, elsewhere.client)).code).toBe(first.code)
  })

  it('of a team are given to whoever belongs to it alone', async () => {
    const [inside, leader, outside] = await Promise.all([1, 2, 3].map(() => addPerson(server, owner)))
    const of = (one: Person | undefined) => one?.userId as string
    const team = await owner.post('/team', {
      name: 'North',
      memberIds: [of(inside)],
      leaderIds: [of(leader)],
    })
    const teamId = team.body.data._id
    const wrong = async (answer: Promise<{ status: number; body: { errors?: { path: string }[] } }>) => {
      const { status, body } = await answer
      return [status, body.errors?.[0]?.path]
    }
    expect(await wrong(owner.post('/task', { name: 'x', teamId, assigneeId: of(outside) }))).toEqual([
      400,
      'assigneeId',
    ])
    const task = await add({ teamId, assigneeId: of(inside) })
    const path = `/task/${task._id}`
    expect(await wrong(owner.patch(path, { assigneeId: of(outside) }))).toEqual([400, 'assigneeId'])
    expect((await owner.patch(path, { assigneeId: of(leader) })).status).toBe(200)
    const free = await add({ assigneeId: of(outside) })
    expect(await wrong(owner.patch(`/task/${free._id}`, { teamId }))).toEqual([400, 'teamId'])
    // A user who leaves the team keeps earlier tasks, and the task can be changed.
    await owner.put(`/team/${teamId}`, { name: 'North', memberIds: [of(inside)] })
    expect((await owner.patch(path, { name: 'Still' })).status).toBe(200)
  })

  it('are seen and changed as far as the role reaches: all, those of the own teams, the own ones', async () => {
    const grants = (scope: string) =>
      ['view/task', 'create/task', 'update/task', 'delete/task'].map(permissionName => ({
        permissionName,
        scope,
      }))
    const names = [...grants('own').map(({ permissionName }) => permissionName)]
    const make = async (scope: string) => {
      const roleId = await addRole([
        ...grants(scope),
        ...['view/team', 'view/user'].map(permissionName => ({ permissionName })),
      ])
      return addPerson(server, owner, { roleId })
    }
    const [own, team, all] = [await make('own'), await make('team'), await make('all')]
    expect(names).toHaveLength(4)
    const addTeam = async (name: string, memberIds: string[]) =>
      (await owner.post('/team', { name, memberIds })).body.data._id as string
    const mine = await addTeam('Mine', [own.userId, team.userId])
    const others = await addTeam('Others', [all.userId])
    const tasks = {
      ofOwn: await add({ assigneeId: own.userId }),
      ofTeam: await add({ teamId: mine }),
      ofTeamAndOwn: await add({ teamId: mine, assigneeId: own.userId }),
      ofTeamUser: await add({ assigneeId: team.userId }),
      ofOthers: await add({ teamId: others }),
      nobodys: await add(),
    }
    const seen = async ({ client }: Person) => {
      const ids = (await client.get('/tasks?limit=500')).body.data.map(({ _id }: { _id: string }) => _id)
      const found = []
      for (const [name, { _id }] of Object.entries(tasks)) {
        const answers = [
          await client.get(`/task/${_id}`),
          await client.patch(`/task/${_id}`, { name }),
          await client.post(`/task/${_id}/status`, { status: 'unheard_of' }),
        ]
        const status = ids.includes(_id) ? [200, 200, 409] : [404, 404, 404]
        expect([name, ...answers.map(answer => answer.status)]).toEqual([name, ...status])
        if (ids.includes(_id)) found.push(name)
      }
      return found
    }
    expect(await seen(own)).toEqual(['ofOwn', 'ofTeamAndOwn'])
    expect(await seen(team)).toEqual(['ofTeam', 'ofTeamAndOwn', 'ofTeamUser'])
    expect(await seen(all)).toEqual(Object.keys(tasks))
    const status = async ({ client }: Person, body: object) =>
      (await client.post('/task', { name: 'New', ...body })).status
    expect([await status(own, {}), await status(own, { assigneeId: own.userId })]).toEqual([403, 201])
    expect([await status(team, { teamId: others }), await status(team, { teamId: mine })]).toEqual([403, 201])
    const away = await own.client.patch(`/task/${tasks.ofOwn._id}`, { assigneeId: all.userId })
    expect(away.status).toBe(403)
    expect((await own.client.delete(`/task/${tasks.ofTeam._id}`)).status).toBe(404)
    expect((await own.client.delete(`/task/${tasks.ofOwn._id}`)).status).toBe(200)
  })

  it('are listed by every filter, found by text, sorted, page by page', async () => {
    const founder = await addPerson(server, owner, { role: 'Admin' })
    const { client, userId, hubIds } = await addOrganization(server, founder.client)
    await client.delete('/organization/sample-data')
    const teamId = (await client.post('/team', { name: 'T', memberIds: [userId] })).body.data._id
    const vehicleId = (await client.post('/vehicle', { name: 'V' })).body.data._id
    const other = await client.post('/flow', { name: 'F', steps: [{ status: 'open', label: 'Open' }] })
    const day = (hour: number) => `2026-11-21T${String(hour).padStart(2, '0')}:00:00Z`
    const bodies: [string, object][] = [
      ['flow', { flowId: other.body.data._id }],
      ['hub', { hubId: hubIds[0], startTime: day(9) }],
      ['team', { teamId, startTime: day(8) }],
      ['assignee', { assigneeId: userId, startTime: day(10), endTime: day(11) }],
      ['vehicle', { vehicleId, location: { lat: 10, lng: 179.5, address: 'Somewhere 100%' } }],
      ['place', { location: { ...PLACE, address: null } }],
    ]
    for (const [name, body] of bodies) await add({ name: `By ${name}`, ...body }, client)
    const found = async (query: string) => {
      const { status, body } = await client.get(`/tasks?${query}`)
      expect([query, status]).toEqual([query, 200])
      return body.data.map(({ name }: { name: string }) => name.slice(3))
    }
    expect(await found('')).toEqual(['place', 'vehicle', 'assignee', 'team', 'hub', 'flow'])
    expect(await found('status=open')).toEqual(['flow'])
    expect(await found('status=open,assigned')).toEqual(['assignee', 'flow'])
    expect(await found('status=nothing')).toEqual([])
    expect(await found(`flowId=${other.body.data._id}`)).toEqual(['flow'])
    expect(await found(`hubId=${hubIds[0]}`)).toEqual(['hub'])
    expect(await found(`teamId=${teamId},${userId}`)).toEqual(['team'])
    expect(await found(`assigneeId=${userId}`)).toEqual(['assignee'])
    expect(await found(`vehicleId=${vehicleId}`)).toEqual(['vehicle'])
    expect(await found(`scheduleId=${userId}`)).toEqual([])
    expect(await found('hubId=nonsense')).toEqual([])
    expect(await found(`from=${day(9)}&sort=startTime`)).toEqual(['hub', 'assignee'])
    expect(await found(`to=${day(9)}`)).toEqual(['team'])
    expect(await found(`from=${day(8)}&to=${day(10)}`)).toEqual(['team', 'hub'])
    expect(await found('bbox=13,52,14,53')).toEqual(['place'])
    expect(await found('bbox=170,0,-170,20')).toEqual(['vehicle'])
    expect(await found(`status=assigned&assigneeId=${userId}&search=BY%20ass`)).toEqual(['assignee'])
    expect(await found('search=100%25')).toEqual(['vehicle'])
    // Codes are random, and hold no blank.
    expect(await found('search=z%20z')).toEqual([])
    expect(await found('sort=name')).toEqual(['assignee', 'flow', 'hub', 'place', 'team', 'vehicle'])
    expect(await found('sort=startTime')).toEqual(['team', 'hub', 'assignee', 'flow', 'vehicle', 'place'])
    for (const sort of ['createdAt', '-createdAt', 'startTime', '-startTime', 'name', '-name']) {
      const whole = await found(`sort=${sort}`)
      const pages: string[] = []
      let cursor = ''
      do {
        const { body } = await client.get(`/tasks?limit=1&sort=${sort}${cursor && `&cursor=${cursor}`}`)
        pages.push(...body.data.map(({ name }: { name: string }) => name.slice(3)))
        cursor = body.pagination.nextCursor
        expect(body.pagination.total).toBe(6)
      } while (cursor)
      expect(pages).toEqual(whole)
    }
  })

  it('of a hub without access are 404 and not listed', async () => {
    const [mine, other] = [await addHub(owner), await addHub(owner)]
    const { client } = await addPerson(server, owner, { hubId: [mine] })
    const [seen, hidden] = [await add({ hubId: mine }), await add({ hubId: other })]
    const path = `/task/${hidden._id}`
    for (const answer of [
      await client.get(path),
      await client.patch(path, { name: 'Taken' }),
      await client.post(`${path}/status`, { status: 'assigned' }),
      await client.delete(path),
    ]) {
      expect(answer.status).toBe(404)
    }
    const ids = (await client.get('/tasks?limit=500')).body.data.map(({ _id }: { _id: string }) => _id)
    expect([ids.includes(seen._id), ids.includes(hidden._id)]).toEqual([true, false])
    expect((await client.patch(`/task/${seen._id}`, { hubId: other })).status).toBe(400)
  })

  it('are in the audit log, content by its keys alone', async () => {
    const task = await add({ content: { door: 'sesame' } })
    await owner.patch(`/task/${task._id}`, { name: 'Renamed', content: { door: 'changed' } })
    await owner.post(`/task/${task._id}/status`, { status: 'assigned' })
    await owner.delete(`/task/${task._id}`)
    const { data } = (await owner.get(`/audit-log?resourceId=${task._id}`)).body
    expect(data.map(({ action }: { action: string }) => action)).toEqual([
      'delete',
      'status',
      'update',
      'create',
    ])
    expect(data[2].changes).toEqual({ name: { from: 'Task', to: 'Renamed' }, 'content.door': {} })
    expect(data[1].changes).toEqual({ status: { from: 'unassigned', to: 'assigned' } })
    expect(JSON.stringify(data)).not.toMatch(/sesame|changed/)
  })
})
