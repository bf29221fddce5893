import { beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { addPerson } from '../support/people.ts'
import { upgradeStatus } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const PLACE = { lat: 52.49, lng: 13.36, address: 'Alexanderplatz 1' }

describe('A tracking link with a task', () => {
  const { server, owner } = useOrganization()
  let van: TestDevice

  const addTask = async (more: object = {}) => {
    const body = { name: 'Deliver the secret', location: PLACE, content: { gate: '4711' }, ...more }
    return (await owner.post('/task', body)).body.data as { _id: string; code: string; status: string }
  }
  const create = (taskId: unknown, client = owner) =>
    client.post('/tracking-link', {
      subjectId: van.id,
      subjectType: 'device',
      expiresAt: new Date(Date.now() + 3_600_000),
      taskId,
    })
  const look = (token: string) => createClient(server, '').get(`/location-history/tracking/${token}`)
  async function open(token: string) {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v3/live/tracking/${token}`)
    const messages: { type: string; destination?: unknown }[] = []
    socket.on('message', data => messages.push(JSON.parse(String(data))))
    const closed = new Promise<number>(done => socket.on('close', done))
    expect(await upgradeStatus(socket)).toBe(101)
    await until('a snapshot', () => messages.length > 0)
    return { socket, messages, closed }
  }

  beforeAll(async () => {
    van = await createDevice(owner, 'Van 7')
    const points = [{ lat: 52.5, lng: 13.4, timestamp: Date.now() - 1_000 }]
    await createClient(server, van.key).post('/location-history/bulk', { points })
  })

  it('says where the subject is going, and nothing else of the task', async () => {
    const task = await addTask()
    const created = await create(task._id.toUpperCase())
    expect(created.status).toBe(201)
    expect(created.body.data.taskId).toBe(task._id)
    const { token } = created.body.data
    const { body } = await look(token)
    expect(Object.keys(body.data)).toEqual(['name', 'position', 'trail', 'expiresAt', 'destination'])
    expect(body.data.destination).toEqual(PLACE)
    const { messages, socket } = await open(token)
    /** Empty frames, which say that nothing is new, may come at any moment. */
    const told = () => messages.filter(({ type }) => type === 'destination')
    expect(messages[0]).toMatchObject({ type: 'snapshot', destination: PLACE })
    expect(Object.keys(messages[0] ?? {})).toEqual(['type', 'positions', 'trailMinutes', 'destination'])
    const moved = { lat: 52.6, lng: 13.5, address: null }
    await owner.patch(`/task/${task._id}`, { location: moved, name: 'Another name' })
    await until('told of the place', () => told().length > 0)
    expect(told()).toEqual([{ type: 'destination', destination: moved }])
    await owner.patch(`/task/${task._id}`, { location: null })
    await until('told that there is none', () => told().at(-1)?.destination === null)
    expect((await look(token)).body.data.destination).toBeNull()
    for (const inner of ['secret', '4711', 'Another name', task._id, task.code, task.status])
      expect(JSON.stringify([body, messages])).not.toContain(inner)
    socket.terminate()
  })

  it('has no destination without a task', async () => {
    const { token } = (await create(null)).body.data
    expect((await look(token)).body.data).not.toHaveProperty('destination')
    const { messages, socket } = await open(token)
    expect(messages[0]).not.toHaveProperty('destination')
    socket.terminate()
  })

  it('ends when the task is deleted or done, within a second on its socket', async () => {
    const [deleted, done] = [await addTask(), await addTask()]
    const links = [(await create(deleted._id)).body.data, (await create(done._id)).body.data]
    const pages = [await open(links[0].token), await open(links[1].token)]
    await owner.delete(`/task/${deleted._id}`)
    expect(await pages[0]?.closed).toBe(4403)
    const { data: flows } = (await owner.get('/flows')).body
    const { flowId } = (await owner.get(`/task/${done._id}`)).body.data
    const steps = flows.find(({ _id }: { _id: string }) => _id === flowId).steps as {
      status: string
      next: string[]
    }[]
    for (let step = steps[0]; step && step.next.length > 0; ) {
      const next =
        step.next.find(status => steps.find(one => one.status === status)?.next.length === 0) ?? step.next[0]
      const { status } = await owner.post(`/task/${done._id}/status`, { status: next })
      expect(status).toBe(200)
      step = steps.find(one => one.status === next)
    }
    expect(await pages[1]?.closed).toBe(4403)
    for (const { token } of links) expect((await look(token)).status).toBe(404)
    expect((await owner.get(`/tracking-links?subjectId=${van.id}&limit=100`)).body.data).not.toContainEqual(
      expect.objectContaining({ _id: links[0]._id }),
    )
    const again = await create(done._id)
    expect([again.status, again.body.errors[0].path]).toEqual([400, 'taskId'])
  })

  it('is made for a task that its creator may see alone, and ends when they may not any more', async () => {
    const task = await addTask()
    for (const unknown of [van.id, 'x', '']) {
      const { status, body } = await create(unknown)
      expect([status, body.errors]).toEqual([
        400,
        [{ path: 'taskId', code: 'not-found', message: 'There is no such task.' }],
      ])
    }
    const role = await owner.post('/role', {
      name: 'Shows the way',
      permissionDetails: ['create/tracking-link', 'view/location', 'view/task'].map(permissionName => ({
        permissionName,
        scope: permissionName === 'view/task' ? 'own' : 'all',
      })),
    })
    const person = await addPerson(server, owner, { roleId: role.body.data._id })
    expect((await create(task._id, person.client)).status).toBe(400)
    await owner.patch(`/task/${task._id}`, { assigneeId: person.userId })
    const created = await create(task._id, person.client)
    expect(created.status).toBe(201)
    const { token } = created.body.data
    expect((await look(token)).body.data.destination).toEqual(PLACE)
    const page = await open(token)
    await owner.patch(`/task/${task._id}`, { assigneeId: null })
    expect(await page.closed).toBe(4403)
    expect((await look(token)).status).toBe(404)
  })
})
