import { beforeAll, describe, expect, it } from 'vitest'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

/** As many as a schedule creates for missed occurrences, and as a list counts. */
const TASKS = 1_000
const MINUTE_MS = 60_000

describe('A record that many tasks name is removed from them in steps, with turns for everybody else in between', () => {
  const { server, owner } = useOrganization()
  /** Tasks that refer to every kind of record that may be deleted. */
  let named: { teamId: string; assigneeId: string; vehicleId: string; scheduleId: string }

  const count = async (filter: string): Promise<number> =>
    (await owner.get(`/tasks?limit=1&${filter}`)).body.pagination.total

  beforeAll(async () => {
    // Samples that a job makes meanwhile would name their vehicles.
    expect((await owner.delete('/organization/sample-data')).status).toBe(200)
    const assigneeId = (await addPerson(server, owner)).userId
    const teamId = (await owner.post('/team', { name: 'Many', memberIds: [assigneeId] })).body.data._id
    const vehicleId = (await owner.post('/vehicle', { name: 'Many' })).body.data._id
    const start = Date.now() - TASKS * MINUTE_MS
    const schedule = await owner.post('/task/schedule', {
      name: 'Many',
      teamId,
      assigneeId,
      vehicleId,
      repeat: { rrule: `FREQ=MINUTELY;COUNT=${TASKS}` },
      startTime: new Date(start).toISOString(),
    })
    const scheduleId = schedule.body.data._id
    await until('the tasks are there', async () => (await count(`scheduleId=${scheduleId}`)) === TASKS)
    named = { teamId, assigneeId, vehicleId, scheduleId }
  })

  it.each([
    ['team', 'teamId', '/team'],
    ['vehicle', 'vehicleId', '/vehicle'],
    ['schedule', 'scheduleId', '/task/schedule'],
    ['user', 'assigneeId', '/user'],
  ] as const)('a %s', async (_, field, path) => {
    const filter = `${field}=${named[field]}`
    const deletion = owner.delete(`${path}/${named[field]}`)
    let deleted = false
    deletion.finally(() => {
      deleted = true
    })
    const seen: number[] = []
    while (!deleted) seen.push(await count(filter))
    expect((await deletion).status).toBe(200)
    expect(seen.filter(tasks => tasks > 0 && tasks < TASKS).length).toBeGreaterThan(0)
    expect(await count(filter)).toBe(0)
    const { data } = (await owner.get('/tasks?limit=500')).body
    for (const task of data) expect(task[field]).toBeNull()
  })
})
