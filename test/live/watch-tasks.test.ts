import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { addHub, addPerson, type Person } from '../support/people.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'

type Task = Record<string, unknown> & { _id: string }
type Message = { type: string; task: Task; deleted?: boolean }

describe.each(['pglite', 'postgres'] as const)('A client that watches tasks on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let database: TestDatabase
  let server: Server
  /** The process in which changes are made; PGlite has only one process. */
  let beside: Server
  let owner: Client
  let hubs: string[]
  let teams: string[]
  let people: Person[]

  beforeAll(async () => {
    if (missing) return
    database = await createTestDatabase(kind)
    server = await openServer(database)
    beside = kind === 'postgres' ? await openServer(database, { ROLES: 'api,jobs' }) : server
    owner = await signIn(beside)
    hubs = [await addHub(owner), await addHub(owner)]
    const scopes = ['all', 'all', 'team', 'own'] as const
    people = []
    for (const [index, scope] of scopes.entries()) {
      const permissionDetails = [
        ...['view/task', 'update/task'].map(permissionName => ({ permissionName, scope })),
        { permissionName: 'view/location' },
      ]
      const role = await owner.post('/role', { name: `Role ${index}`, permissionDetails })
      const hubId = index === 0 ? hubs : hubs.slice(0, 1)
      people.push(await addPerson(server, owner, { roleId: role.body.data._id, hubId }))
    }
    teams = []
    for (const [index, member] of people.slice(2).entries()) {
      const team = await owner.post('/team', { name: `Team ${index}`, memberIds: [member.userId] })
      teams.push(team.body.data._id)
    }
  })
  afterAll(async () => {
    if (missing) return
    if (beside !== server) await beside.stop()
    await server.stop()
    await database.remove()
  })
  const test = (name: string, work: () => Promise<void>, timeout?: number) =>
    it(name, async context => (missing ? context.skip(missing) : work()), timeout)

  /** Opens a screen that watches from now on. `shown` returns the list as it was read, with the changes that came after. */
  async function open(client: Client): Promise<{ screen: TestScreen; shown: () => Map<string, Task> }> {
    const screen = await openScreen(server, client.token)
    screen.send({ type: 'watch', topics: ['tasks'] })
    await until('an answer', () => screen.messages.some(({ type }) => type === 'watching'))
    const list: Task[] = (await client.get('/tasks?limit=500')).body.data
    const shown = () => {
      const tasks = new Map(list.map(task => [task._id, task]))
      for (const { type, task, deleted } of screen.messages as Message[]) {
        if (type !== 'task') continue
        if (deleted) tasks.delete(task._id)
        else tasks.set(task._id, task)
      }
      return tasks
    }
    return { screen, shown }
  }
  const add = async (body: object): Promise<string> => {
    const made = await owner.post('/task', { name: 'Task', ...body })
    expect([made.status, made.body.errors]).toEqual([201, undefined])
    return `/task/${made.body.data._id}`
  }

  test('hears of each change, and when a task is deleted or becomes invisible', async () => {
    const [seesAll, firstHub] = await Promise.all(people.slice(0, 2).map(({ client }) => open(client)))
    if (!seesAll || !firstHub) throw new Error('There have to be two')
    const path = await add({ hubId: hubs[0], name: 'One' })
    const id = path.split('/')[2] as string
    const shows = (name: string | undefined) =>
      until(`shown as ${name}`, () =>
        [seesAll, firstHub].every(({ shown }) => shown().get(id)?.name === name),
      )
    await shows('One')
    await owner.patch(path, { name: 'Two' })
    await shows('Two')
    await owner.post(`${path}/status`, { status: 'assigned' })
    await until('the status', () => seesAll.shown().get(id)?.status === 'assigned')
    expect(seesAll.shown().get(id)).toEqual((await owner.get(path)).body.data)
    await owner.patch(path, { hubId: hubs[1] })
    await until('gone from the other hub', () => !firstHub.shown().has(id))
    expect(firstHub.screen.messages.at(-1)).toEqual({
      type: 'task',
      deleted: true,
      task: { _id: id, deleted: true },
    })
    await owner.patch(path, { hubId: null })
    await shows('Two')
    await owner.delete(path)
    await shows(undefined)
    for (const { screen } of [seesAll, firstHub]) screen.cut()
  })

  test('shows in the end the same as the list, for every role, however many change it meanwhile', async () => {
    const paths = await Promise.all(Array.from({ length: 6 }, (_, n) => add({ name: `Task ${n}` })))
    const assignees = [null, people[2]?.userId, people[3]?.userId]
    let seed = 7
    const any = <T>(values: readonly T[]): T => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return values[Math.floor(seed / 65_536) % values.length] as T
    }
    const change = async (nth: number) => {
      const path = any(paths)
      const answer = await any([
        () => owner.patch(path, { hubId: any([null, ...hubs]), name: `Changed ${nth}` }),
        () => owner.patch(path, { teamId: null, assigneeId: any(assignees) }),
        () => owner.patch(path, { assigneeId: null, teamId: any([null, ...teams]) }),
        () => owner.post(`${path}/status`, { status: any(['assigned', 'cancelled', 'unassigned']) }),
        () => owner.post('/task', { name: `New ${nth}`, teamId: any([null, ...teams]) }),
        () => (nth % 12 === 0 ? owner.delete(path) : owner.patch(path, { name: `Only ${nth}` })),
      ])()
      expect([200, 201, 404, 409]).toContain(answer.status)
    }
    const changes = Promise.all(
      [0, 1, 2].map(async worker => {
        for (let nth = 0; nth < 12; nth++) await change(worker * 12 + nth)
      }),
    )
    // They connect while everything changes.
    const viewers = await Promise.all(people.map(({ client }) => open(client)))
    await changes
    const last = await add({ name: 'Last', teamId: teams[0], assigneeId: people[2]?.userId })
    for (const [index, { client }] of people.entries()) {
      const viewer = viewers[index] as Awaited<ReturnType<typeof open>>
      const list: Task[] = (await client.get('/tasks?limit=500')).body.data
      const expected = new Map(list.map(task => [task._id, task]))
      const isSame = () => {
        const shown = viewer.shown()
        return (
          shown.size === expected.size && list.every(task => isDeepStrictEqual(shown.get(task._id), task))
        )
      }
      await until(`viewer ${index} shows the list`, isSame)
      expect(expected.has(last.split('/')[2] as string)).toBe(index < 3)
      viewer.screen.cut()
    }
  })

  test('reads the list again when its own visibility has changed', async () => {
    const person = people[2] as Person
    const { screen } = await open(person.client)
    const answers = () => screen.messages.filter(({ type }) => type === 'watching').length
    expect(answers()).toBe(1)
    await owner.put(`/team/${teams[1]}`, {
      name: 'Team 1',
      memberIds: people.slice(2).map(one => one.userId),
    })
    await until('told to read again', () => answers() === 2)
    const path = await add({ teamId: teams[1] })
    const { data } = (await owner.get(path)).body
    await until('the new team’s task', () =>
      (screen.messages as Message[]).some(
        ({ type, task }) => type === 'task' && isDeepStrictEqual(task, data),
      ),
    )
    screen.cut()
  })
})
