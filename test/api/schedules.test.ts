import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addHub, addOrganization, addPerson } from '../support/people.ts'

const HOUR = 3_600_000
const daily = { frequency: 'daily', interval: 1 }
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString()

describe('Task schedules', () => {
  // Without jobs, so that no tasks are created meanwhile.
  const { server, database } = useServer({ ROLES: 'api,ingest,writer,live' })
  let owner: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    await owner.patch('/organization', { timeZone: 'Asia/Ho_Chi_Minh' })
  })

  const create = async (body: object, client = owner) => {
    const answer = await client.post('/task/schedule', { name: 'Schedule', ...body })
    expect(answer.body.errors, JSON.stringify(answer.body)).toBeUndefined()
    expect(answer.status).toBe(201)
    return answer.body.data
  }

  it('need a name alone: then they make a task a day from now on, in the time zone of the organization', async () => {
    const made = await create({})
    expect(made).toMatchObject({
      name: 'Schedule',
      repeat: daily,
      timezone: 'Asia/Ho_Chi_Minh',
      endTime: null,
      content: {},
      flow: { name: 'Standard' },
      lastRunAt: null,
      lastError: null,
      skipped: 0,
    })
    expect(Math.abs(Date.parse(made.startTime) - Date.now())).toBeLessThan(HOUR)
    expect(made.nextRunAt).toBe(made.startTime)
    expect((await owner.get(`/task/schedule/${made._id}`)).body.data).toEqual(made)
  })

  it('show their flow as it is, and what their tasks are made of', async () => {
    const [flow] = (await owner.get('/flows')).body.data
    const hubId = await addHub(owner)
    const person = await addPerson(server, owner)
    const team = await owner.post('/team', { name: 'Garden', hubId, memberIds: [person.userId] })
    const type = await owner.post('/data-type', {
      name: 'Garden',
      fields: [{ key: 'gate', label: 'Gate', type: 'text' }],
    })
    const record = await owner.post('/data', { dataTypeId: type.body.data._id, data: { gate: 'east' } })
    const given = {
      flowId: flow._id,
      dataIds: [record.body.data._id],
      hubId,
      teamId: team.body.data._id,
      assigneeId: person.userId,
      location: { lat: 52.5, lng: 13.4, address: 'Garden 1' },
      duration: 1800,
      content: { gate: 'west', note: 'key under the mat' },
      repeat: { rrule: 'FREQ=MONTHLY;BYDAY=1MO' },
      startTime: '2030-01-01T08:00:00.000Z',
      endTime: '2030-12-31T08:00:00.000Z',
      timezone: 'Europe/Berlin',
      exceptions: ['2030-02-04', '2030-03-04T08:00:00.000Z'],
    }
    const made = await create(given)
    expect(made).toMatchObject(given)
    expect(made.flow).toEqual({ _id: flow._id, name: flow.name, steps: flow.steps })
    expect(made.nextRunAt).toBe('2030-01-07T08:00:00.000Z')
    const again = await owner.post('/task/schedule', { ...given, name: 'Other', assigneeId: null })
    expect(again.status).toBe(201)
    // A role that may not see a field of the type does not see it in the content.
    const role = await owner.post('/role', {
      name: 'Half blind',
      permissionDetails: [
        { permissionName: 'view/task-schedule' },
        {
          permissionName: 'view/data',
          dataTypes: [{ dataTypeId: type.body.data._id, restrictedFields: ['gate'] }],
        },
      ],
    })
    const blind = await addPerson(server, owner, { roleId: role.body.data._id, hubId: [hubId] })
    const shown = await blind.client.get(`/task/schedule/${made._id}`)
    expect(shown.body.data.content).toEqual({ note: 'key under the mat' })
    const listing = await blind.client.get('/task/schedules')
    expect(JSON.stringify(listing.body)).not.toContain('west')
  })

  it.each([
    ['name', { name: '' }],
    ['shoe', { shoe: 1 }],
    ['flowId', { flowId: '0190aaaa-0000-7000-8000-000000000000' }],
    ['flowId', { flowId: '' }],
    ['hubId', { hubId: 'x' }],
    ['dataIds.1', { dataIds: ['x', '0190aaaa-0000-7000-8000-000000000000'] }],
    ['location.lat', { location: { lat: 91, lng: 1 } }],
    ['duration', { duration: -1 }],
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['timezone', { timezone: 'x'.repeat(101) }],
    ['startTime', { startTime: 'tomorrow' }],
    ['startTime', { startTime: '1999-12-31T23:59:59Z' }],
    ['startTime', { startTime: '9999-01-01T00:00:00Z' }],
    ['endTime', { startTime: '2030-01-02T00:00:00Z', endTime: '2030-01-01T00:00:00Z' }],
    ['exceptions.0', { exceptions: ['2030-02-30'] }],
    ['exceptions', { exceptions: Array(501).fill('2030-01-01') }],
    ['repeat.frequency', { repeat: {} }],
    ['repeat.frequency', { repeat: { frequency: 'hourly' } }],
    ['repeat.interval', { repeat: { ...daily, interval: 0 } }],
    ['repeat.byWeekday.0', { repeat: { frequency: 'weekly', byWeekday: ['monday'] } }],
    ['repeat.byWeekday', { repeat: { frequency: 'weekly', byWeekday: [] } }],
    ['repeat.byWeekday', { repeat: { frequency: 'monthly', byWeekday: ['mon'] } }],
    ['repeat.byMonthDay', { repeat: { frequency: 'weekly', byMonthDay: [1] } }],
    ['repeat.byMonthDay.0', { repeat: { frequency: 'monthly', byMonthDay: [32] } }],
    ['repeat.byMonthDay.0', { repeat: { frequency: 'monthly', byMonthDay: [0] } }],
    ['repeat.interval', { repeat: { interval: 2, rrule: 'FREQ=DAILY' } }],
    ['repeat.rrule', { repeat: { rrule: 'FREQ=SECONDLY' } }],
    ['repeat.rrule', { repeat: { rrule: 'every day' } }],
    ['repeat.rrule', { repeat: { rrule: `FREQ=DAILY;BYHOUR=${'1,'.repeat(3_000)}1` } }],
    ['repeat', { repeat: { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' } }],
    [
      'repeat',
      {
        repeat: daily,
        startTime: '2030-01-01T08:00:00Z',
        endTime: '2030-01-01T20:00:00Z',
        exceptions: ['2030-01-01'],
      },
    ],
    [
      'repeat',
      {
        repeat: { rrule: 'FREQ=YEARLY;BYMONTH=3' },
        startTime: '2030-04-01T08:00:00Z',
        endTime: '2030-12-01T08:00:00Z',
      },
    ],
  ])('a wrong %s is 400 (%#)', async (path, wrong) => {
    const answer = await owner.post('/task/schedule', { name: 'Wrong', ...wrong })
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path)
    const one = await owner.post('/task/schedules/bulk', { schedules: [{ name: 'Wrong', ...wrong }] })
    expect(one.body.data).toMatchObject([{ index: 0, status: 'failed' }])
    expect(one.body.data[0].errors).toEqual(answer.body.errors)
  })

  it('give their tasks to members of their team alone', async () => {
    const [member, other] = [await addPerson(server, owner), await addPerson(server, owner)]
    const team = await owner.post('/team', { name: 'Few', memberIds: [member.userId] })
    const given = { name: 'Teamwork', teamId: team.body.data._id }
    const wrong = await owner.post('/task/schedule', { ...given, assigneeId: other.userId })
    expect([wrong.status, wrong.body.errors[0].path]).toEqual([400, 'assigneeId'])
    const { _id } = await create({ ...given, assigneeId: member.userId })
    expect((await owner.patch(`/task/schedule/${_id}`, { assigneeId: other.userId })).status).toBe(400)
  })

  it('are created five hundred at once, each by itself', async () => {
    const schedules = Array.from({ length: 500 }, (_, index) => ({
      name: `Bulk ${index}`,
      ...(index % 100 === 7 ? { flowId: '0190aaaa-0000-7000-8000-000000000000' } : {}),
      ...(index % 100 === 8 ? { repeat: { rrule: 'FREQ=NEVER' } } : {}),
      content: Object.fromEntries(
        Array.from({ length: 40 }, (_, key) => [`key${key}`, `a value of it ${key}`]),
      ),
    }))
    const answer = await owner.post('/task/schedules/bulk', { schedules })
    expect([answer.status, answer.body.message]).toEqual([200, '10 of 500 could not be created'])
    expect(answer.body.data.map(({ index }: { index: number }) => index)).toEqual(
      schedules.map((_, index) => index),
    )
    for (const { index, status, schedule, errors } of answer.body.data) {
      const path = { 7: 'flowId', 8: 'repeat.rrule' }[index % 100]
      expect(status).toBe(path ? 'failed' : 'created')
      if (path) expect([schedule, errors[0].path]).toEqual([undefined, path])
      else expect(schedule).toMatchObject({ name: `Bulk ${index}`, content: schedules[index]?.content })
    }
    const found = await owner.get('/task/schedules?search=bulk&limit=500')
    expect(found.body.pagination.total).toBe(490)
    const more = await owner.post('/task/schedules/bulk', { schedules: Array(501).fill({ name: 'x' }) })
    expect([more.status, more.body.errors[0].path]).toEqual([400, 'schedules'])
    for (const schedules of [[], 'x', undefined])
      expect((await owner.post('/task/schedules/bulk', { schedules })).status).toBe(400)
  })

  it.runIf(usualKind() === 'postgres')(
    'of a list are not created again because a later one has failed: the answer says which are there',
    async () => {
      const db = await openTestDatabase(database)
      await db.system.query(`ALTER TABLE schedules ADD CONSTRAINT schedules_late CHECK (name <> 'Late')`)
      const named = (name: string, count: number) => Array.from({ length: count }, () => ({ name }))
      const post = (schedules: object[]) => owner.post('/task/schedules/bulk', { schedules })
      expect((await post(named('Late', 60))).status).toBeGreaterThanOrEqual(400)
      const answer = await post([...named('Early', 50), ...named('Late', 30)])
      await db.system.query('ALTER TABLE schedules DROP CONSTRAINT schedules_late')
      const { total } = (await owner.get('/task/schedules?limit=1')).body.pagination
      await db.system.query(`UPDATE row_caps SET max = $1 WHERE table_name = 'schedules'`, [total + 60])
      const capped = await post(named('Capped', 120))
      await db.system.query(`UPDATE row_caps SET max = 10000 WHERE table_name = 'schedules'`)
      await db.close()
      expect([answer.status, answer.body.message]).toEqual([200, '30 of 80 could not be created'])
      const states = answer.body.data.map(({ status }: { status: string }) => status)
      expect(states).toEqual([...Array(50).fill('created'), ...Array(30).fill('failed')])
      expect(answer.body.data[50].errors).toMatchObject([
        { message: expect.stringContaining('Send this one') },
      ])
      expect([capped.status, capped.body.message]).toEqual([200, '70 of 120 could not be created'])
      const message = `An organization has at most ${total + 60} task schedules. Delete some of them first.`
      for (const { errors } of capped.body.data.slice(50)) expect(errors).toMatchObject([{ message }])
    },
  )

  it('of a long flow are created as far as their answer goes, and listed page by page', async () => {
    const field = (key: string) => ({ key, label: 'L'.repeat(100), type: 'text' })
    const steps = Array.from({ length: 10 }, (_, step) => ({
      status: `step${step}`,
      label: 'Step',
      next: ['step0'],
      fields: Array.from({ length: 100 }, (_, at) => field(`key${step}_${at}`)),
    }))
    const flow = (await owner.post('/flow', { name: 'Long', steps })).body.data
    const bytes = JSON.stringify(flow.steps).length
    expect(bytes).toBeGreaterThan(200_000)
    const schedules = Array.from({ length: 120 }, (_, index) => ({ name: `Long ${index}`, flowId: flow._id }))
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const answer = await owner.post('/task/schedules/bulk', { schedules }, headers)
    expect(answer.status).toBe(200)
    // The answer is too long to be stored, and nothing is carried out twice.
    const again = await owner.post('/task/schedules/bulk', { schedules }, headers)
    expect([again.status, again.body.message]).toEqual([409, expect.stringContaining('carried out already')])
    const created = answer.body.data.filter(({ status }: { status: string }) => status === 'created')
    const failed = answer.body.data.filter(
      ({ errors }: { errors?: { path: string }[] }) => errors?.[0]?.path === 'flowId',
    )
    expect(Math.abs(created.length - (8 * 1024 * 1024) / bytes)).toBeLessThan(2)
    expect(created.length + failed.length).toBe(120)
    expect(created.at(-1).schedule.flow.steps).toEqual(flow.steps)
    const page = await owner.get('/task/schedules?search=Long&limit=500')
    expect(page.body.pagination.total).toBe(created.length)
    expect(JSON.stringify(page.body).length).toBeLessThan(4 * 1024 * 1024)
    expect(page.body.pagination.nextCursor).not.toBeNull()
  })

  it('are previewed: the next occurrences, and how many are over', async () => {
    const preview = (body: object) => owner.post('/task/schedules/preview', body)
    const soon = await preview({
      repeat: { frequency: 'monthly', byMonthDay: [-1] },
      startTime: '2030-01-15T09:00:00+01:00',
      timezone: 'Europe/Berlin',
      count: 4,
    })
    expect(soon.body.data).toEqual({
      occurrences: [
        '2030-01-31T08:00:00.000Z',
        '2030-02-28T08:00:00.000Z',
        '2030-03-31T07:00:00.000Z',
        '2030-04-30T07:00:00.000Z',
      ],
      past: 0,
    })
    const since = await preview({ repeat: { rrule: 'FREQ=HOURLY' }, startTime: inHours(-5000.5) })
    expect(since.body.data.past).toBe(5001)
    expect(since.body.data.occurrences).toHaveLength(10)
    const over = await preview({ repeat: daily, startTime: inHours(-50), endTime: inHours(-1) })
    expect(over.body.data).toEqual({ occurrences: [], past: 3 })
    const wrong = await preview({ repeat: { rrule: 'FREQ=DAILY;BYHOUR=25' } })
    expect([wrong.status, wrong.body.errors[0].path]).toEqual([400, 'repeat.rrule'])
    expect((await preview({ repeat: daily, count: 501 })).status).toBe(400)
    expect((await owner.get('/task/schedules?search=preview')).body.data).toEqual([])
  })

  it('begin with what is over since their start: the last thousand, the rest is counted', async () => {
    const made = await create({ repeat: { rrule: 'FREQ=HOURLY' }, startTime: inHours(-3000.5) })
    expect(made.skipped).toBe(2001)
    expect(Math.round((Date.now() - Date.parse(made.nextRunAt)) / HOUR)).toBe(1000)
    const over = await create({ startTime: inHours(-49), endTime: inHours(-1) })
    expect([over.nextRunAt, over.skipped]).toEqual([over.startTime, 0])
  })

  it('are changed, replaced and deleted', async () => {
    const made = await create({
      startTime: '2030-01-01T08:00:00.000Z',
      content: { a: 1, b: 2 },
      timezone: 'UTC',
    })
    const path = `/task/schedule/${made._id}`
    const changed = await owner.patch(path, { content: { b: null, c: 3 }, duration: 60 })
    expect(changed.body.data).toMatchObject({
      content: { a: 1, c: 3 },
      duration: 60,
      nextRunAt: made.nextRunAt,
    })
    const moved = await owner.patch(path, { repeat: { frequency: 'monthly', byMonthDay: [31] } })
    expect(moved.body.data.nextRunAt).toBe('2030-01-31T08:00:00.000Z')
    const later = await owner.patch(path, { startTime: '2030-02-10T07:00:00Z' })
    expect(later.body.data.nextRunAt).toBe('2030-02-28T07:00:00.000Z')
    for (const [wrong, at] of [
      [{ endTime: '2030-02-09T07:00:00Z' }, 'endTime'],
      [{ repeat: { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' } }, 'repeat'],
      [{ teamId: made._id }, 'teamId'],
      [{ nextRunAt: null }, 'nextRunAt'],
    ] as const) {
      const answer = await owner.patch(path, wrong)
      expect([answer.status, answer.body.errors[0].path]).toEqual([400, at])
    }
    const replaced = await owner.put(path, { name: 'Replaced' })
    expect(replaced.body.data).toMatchObject({ name: 'Replaced', content: {}, duration: null, repeat: daily })
    expect(replaced.body.data.startTime).toBe('2030-02-10T07:00:00.000Z')
    expect((await owner.delete(path)).body.data).toEqual({ _id: made._id })
    for (const gone of [await owner.get(path), await owner.patch(path, {}), await owner.delete(path)])
      expect(gone.status).toBe(404)
    const log = await owner.get('/audit-log?limit=1')
    expect(log.body.data[0]).toMatchObject({
      action: 'delete',
      resource: 'task-schedule',
      resourceId: made._id,
    })
  })

  it('are listed by name, by what comes next and by what they are of, page by page', async () => {
    const { client } = await addOrganization(server, await signIn(server))
    const hubId = await addHub(client)
    const [, flow] = (await client.get('/flows')).body.data
    for (const [name, day, more] of [
      ['b', '03', { hubId }],
      ['a', '02', {}],
      ['c', '01', { flowId: flow._id }],
    ] as const)
      await create({ name, startTime: `2030-01-${day}T08:00:00Z`, ...more }, client)
    const names = async (query: string) => {
      const found: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await client.get(`/task/schedules?limit=2&${query}${cursor && `&cursor=${cursor}`}`)
        found.push(...body.data.map(({ name }: { name: string }) => name))
        cursor = body.pagination.nextCursor
      }
      return found.join('')
    }
    expect(await names('')).toBe('abc')
    expect(await names('sort=-createdAt')).toBe('cab')
    expect(await names('sort=nextRunAt')).toBe('cab')
    expect(await names(`hubId=${hubId}`)).toBe('b')
    expect(await names(`flowId=${flow._id}`)).toBe('c')
    expect(await names('teamId=x')).toBe('')
    // Records that they depend on cannot be deleted.
    expect((await client.delete(`/flow/${flow._id}`)).status).toBe(409)
    expect((await client.delete(`/hub/${hubId}`)).status).toBe(409)
  })

  it('of another hub are 404, and for field users 403', async () => {
    const hubId = await addHub(owner)
    const { _id } = await create({ name: 'Elsewhere', hubId })
    const planner = await addPerson(server, owner)
    expect((await planner.client.get(`/task/schedule/${_id}`)).status).toBe(404)
    expect((await planner.client.delete(`/task/schedule/${_id}`)).status).toBe(404)
    expect((await planner.client.get('/task/schedules?search=elsewhere')).body.data).toEqual([])
    const taken = await planner.client.post('/task/schedule', { name: 'x', hubId })
    expect([taken.status, taken.body.errors[0].path]).toEqual([400, 'hubId'])
    const field = await addPerson(server, owner, { role: 'Field user' })
    expect((await field.client.get('/task/schedules')).status).toBe(403)
  })
})
