import { beforeAll, describe, expect, it } from 'vitest'
import { copyOf, daysBetween, worthCopying } from '../../console/pages/tasks/day-copy.ts'
import type { Task } from '../../console/pages/tasks/task.ts'
import { addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

const task = (startTime: string | null, endTime: string | null, rest: Partial<Task> = {}) =>
  ({
    name: 'Delivery',
    flowId: 'flow',
    dataIds: [],
    startTime,
    endTime,
    assigneeId: 'anna',
    vehicleId: null,
    content: {},
    history: [],
    ...rest,
  }) as unknown as Task
const copy = (one: Task, days: number, withPeople = true) =>
  copyOf(one, { days, timeZone: 'Europe/Berlin', withPeople })

describe('A copy of a task', () => {
  it('has the same time of day after the clocks have changed', () => {
    // On 29 March 2026 at 02:00 the clocks of Berlin go forward, on 25 October at 03:00 back.
    const spring = copy(task('2026-03-28T08:00:00.000Z', '2026-03-28T10:30:00.000Z'), 1)
    expect([spring.startTime, spring.endTime]).toEqual([
      '2026-03-29T07:00:00.000Z',
      '2026-03-29T09:30:00.000Z',
    ])
    const autumn = copy(task('2026-10-24T08:00:00.000Z', null), 7)
    expect([autumn.startTime, autumn.endTime]).toEqual(['2026-10-31T09:00:00.000Z', null])
  })

  it('begins after the gap at a time that the clocks skip, and at the first of two', () => {
    expect(copy(task('2026-03-28T01:30:00.000Z', null), 1).startTime).toBe('2026-03-29T01:30:00.000Z')
    expect(copy(task('2026-10-24T00:30:00.000Z', null), 1).startTime).toBe('2026-10-25T00:30:00.000Z')
    // 01:30 to 02:30, of which the second is skipped; and 02:30 to 03:15, which would end before it begins.
    const within = copy(task('2026-03-28T01:30:00.000Z', '2026-03-28T02:15:00.000Z'), 1)
    expect([within.startTime, within.endTime]).toEqual([
      '2026-03-29T01:30:00.000Z',
      '2026-03-29T02:15:00.000Z',
    ])
  })

  it('has the plan alone: no results, and no people where they are not wanted', () => {
    const history = [{ status: 'completed', fields: { signature: 'x' } }] as never
    const one = task(null, null, { content: { ring: 'twice', signature: 'x' }, history })
    expect(copy(one, 1)).toMatchObject({ content: { ring: 'twice' }, assigneeId: 'anna', startTime: null })
    expect(copy(one, 1, false)).toMatchObject({ assigneeId: null, vehicleId: null })
    expect(copy(one, 1)).not.toHaveProperty('history')
    expect(worthCopying([task(null, null, { status: 'cancelled' }), one])).toEqual([one])
    expect([daysBetween('2026-03-28', '2026-03-30'), daysBetween('2026-03-01', '2026-02-28')]).toEqual([
      2, -1,
    ])
  })
})

describe('A day on the page of tasks', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let planner: Person

  beforeAll(async () => {
    await owner.patch('/organization', { timeZone: 'Europe/Berlin' })
    planner = await addPerson(server, owner, { role: 'Planner' })
    for (const hour of ['08', '09', '10', '11']) {
      const body = {
        name: `Round ${hour}`,
        startTime: `2098-03-29T${hour}:00:00.000Z`,
        endTime: `2098-03-29T${hour}:30:00.000Z`,
        assigneeId: hour === '11' ? null : planner.userId,
      }
      const { body: made } = await owner.post('/task', body)
      if (hour === '10') await owner.post(`/task/${made.data._id}/status`, { status: 'cancelled' })
    }
  })
  const tasksOf = async (day: string) =>
    (await owner.get(`/tasks?from=${day}T00:00:00Z&to=${day}T23:59:00Z&sort=startTime`)).body.data as Task[]

  it('is copied to another one after a preview, exactly once, and taken back by one undo', async () => {
    const page = await screens.open(`${server.url}/tasks?day=2098-03-29&view=list`, {
      as: owner,
      mayFail: /503/,
    })
    await page.getByRole('button', { name: 'Copy this day' }).click()
    const dialog = page.getByRole('dialog', { name: /^Copy the tasks of/ })
    await dialog.getByText('3 tasks will be created on').waitFor()
    await dialog.getByText('1 cancelled task is left out.').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    // The answer to one of them is lost, and another one is refused.
    let asked = 0
    await page.route('**/api/v3/task', async route => {
      const turn = ++asked
      if (turn === 1) await route.fetch()
      if (turn <= 2) return route.fulfill({ status: 503, json: { status: false, code: 'busy', message: '' } })
      return route.continue()
    })
    await dialog.getByRole('button', { name: 'Copy 3 tasks' }).click()
    await dialog.getByText('1 of 3 are copied.').waitFor()
    await dialog.getByRole('button', { name: 'Copy the remaining ones' }).click()
    await page.getByText('3 tasks were copied to').waitFor()
    // The day before has such a row too.
    await page.waitForURL(url => url.searchParams.get('day') === '2098-03-30')
    await page.getByRole('row', { name: /Round 08/ }).waitFor()
    const copies = await tasksOf('2098-03-30')
    // In between the clocks go forward.
    expect(
      copies.map(({ name, status, assigneeId, startTime }) => [name, status, assigneeId, startTime]),
    ).toEqual([
      ['Round 08', 'assigned', planner.userId, '2098-03-30T07:00:00.000Z'],
      ['Round 09', 'assigned', planner.userId, '2098-03-30T08:00:00.000Z'],
      ['Round 11', 'unassigned', null, '2098-03-30T10:00:00.000Z'],
    ])
    await page.getByRole('button', { name: 'Undo' }).click()
    await until('they are gone', async () => (await tasksOf('2098-03-30')).length === 0)
    expect(await tasksOf('2098-03-29')).toHaveLength(4)
  })

  it('is copied without its people by the keyboard alone', async () => {
    const page = await screens.open(`${server.url}/tasks?day=2098-03-29`, { as: owner })
    const button = page.getByRole('button', { name: 'Copy this day' })
    await until('there is something to copy', () => button.isEnabled())
    await button.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: /^Copy the tasks of/ })
    await dialog.getByText('3 tasks will be created').waitFor()
    await dialog.getByRole('checkbox').focus()
    await page.keyboard.press('Space')
    await dialog.getByRole('button', { name: 'Copy 3 tasks' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('3 tasks were copied to').waitFor()
    const copies = await tasksOf('2098-03-30')
    expect(copies.map(({ assigneeId }) => assigneeId)).toEqual([null, null, null])
  })
})
