import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

/** A day that is over for everybody: no clock of a browser changes how its tasks stand. */
const DAY = '2026-03-10'
const at = (time: string) => `${DAY}T${time}:00.000Z`
/** In the future as long as this code lives. */
const FAR = '2126-03-10'

describe('The day of a planner', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const people: { [name: string]: Person } = {}
  let planner: Person
  let team = ''

  const create = async (name: string, body: object = {}): Promise<string> => {
    const made = await owner.post('/task', { name, startTime: at('09:00'), endTime: at('10:00'), ...body })
    expect(made.status).toBe(201)
    return made.body.data._id
  }
  const read = async (id: string) => (await owner.get(`/task/${id}`)).body.data
  const block = (page: Page, name: string) => page.getByRole('button', { name: new RegExp(`^${name},`) })
  const lane = (page: Page, name: string) => page.getByRole('region', { name: new RegExp(`^${name}:`) })
  const open = (path: string, as = planner.client, size = { width: 1_280, height: 800 }) =>
    screens.open(`${server.url}${path}`, { as, size })

  beforeAll(async () => {
    await owner.patch('/organization', { timeZone: 'UTC' })
    planner = await addPerson(server, owner, { role: 'Planner' })
    for (const name of ['Ada Lovelace', 'Grace Hopper']) {
      const person = await addPerson(server, owner, { role: 'Field user' })
      await person.client.patch('/user', { name })
      people[name] = person
    }
    const memberIds = [people['Ada Lovelace']?.userId]
    team = (await owner.post('/team', { name: 'North', memberIds })).body.data._id
    const device = await createDevice(owner, 'Tracker 1')
    const weekday = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
    const workingHours = weekday.map(one => ({ weekday: one, from: '08:00', to: '16:00' }))
    const driverId = people['Grace Hopper']?.userId
    await owner.post('/vehicle', { name: 'Van 1', driverId, deviceId: device.id, workingHours })
  })

  it('has a lane for everybody, and tells what is late, without an assignee, or outside of working hours', async () => {
    await create('Fix the fridge')
    const late = await create('Collect returns', {
      assigneeId: people['Grace Hopper']?.userId,
      startTime: at('17:00'),
      endTime: at('18:00'),
    })
    await create('Ride far', { startTime: `${FAR}T09:00:00.000Z`, endTime: null })
    const page = await open(`/tasks?day=${DAY}`)
    await lane(page, 'Unassigned')
      .getByRole('button', { name: /^Fix the fridge, 09:00 – 10:00/ })
      .waitFor()
    await lane(page, 'Grace Hopper')
      .getByRole('button', { name: 'Collect returns, 17:00 – 18:00, Assigned, Late, Outside working hours' })
      .waitFor()
    await page.getByText('2 tasks, 0 done').waitFor()
    await page.getByText('1 outside working hours').waitFor()
    expect(await page.getByText('Ride far').count()).toBe(0)
    expect(await findBarriersInThemes(page)).toEqual([])

    // The same day as a list, and another day, by the address alone.
    await page.getByRole('radio', { name: 'List' }).click()
    await page.getByRole('row', { name: /Collect returns Assigned · Late.*Grace Hopper/ }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('radio', { name: 'Map' }).click()
    await page.getByText('This browser can’t draw maps.').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.goto(`${server.url}/tasks?day=${FAR}&view=list`)
    await page.getByRole('row', { name: /Ride far Unassigned/ }).waitFor()
    await owner.delete(`/task/${late}`)
  })

  it('assigns by A and three letters, several at once, and takes it back', async () => {
    const ids = [await create('Parcel one'), await create('Parcel two'), await create('Parcel three')]
    const page = await open(`/tasks?day=${DAY}`)
    await block(page, 'Parcel one').focus()
    await page.keyboard.press('Space')
    await block(page, 'Parcel two').focus()
    await page.keyboard.press('Space')
    await page.getByText('2 tasks selected').waitFor()
    await page.keyboard.press('a')
    await page.getByRole('dialog', { name: 'Assign 2 tasks' }).waitFor()
    await page.getByRole('dialog').getByRole('searchbox').waitFor()
    await page.keyboard.type('hop')
    await page.locator('[role=option][data-focused]').getByText('Grace Hopper').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.keyboard.press('Enter')
    await lane(page, 'Grace Hopper')
      .getByRole('button', { name: /^Parcel two,.*Assigned/ })
      .waitFor()
    await page.getByText('2 tasks were assigned to Grace Hopper.').waitFor()
    const grace = people['Grace Hopper']?.userId
    expect((await Promise.all(ids.map(read))).map(({ assigneeId }) => assigneeId)).toEqual([
      grace,
      grace,
      null,
    ])

    await page.getByRole('button', { name: 'Undo' }).click()
    await lane(page, 'Unassigned')
      .getByRole('button', { name: /^Parcel two,/ })
      .waitFor()
    // One of them may be shown before the other is taken back.
    await until('nobody has any of them', async () =>
      (await Promise.all(ids.map(read))).every(({ assigneeId }) => assigneeId === null),
    )
    for (const id of ids) await owner.delete(`/task/${id}`)
  })

  it('assigns by dragging, and only within the team', async () => {
    const id = await create('Deliver the piano', { teamId: team })
    const page = await screens.open(`${server.url}/tasks?day=${DAY}`, {
      as: planner.client,
      size: { width: 1_280, height: 800 },
      mayFail: /400/,
    })
    // Its lanes move while people and vehicles are read, and what is dragged from under the pointer is nothing.
    await lane(page, 'Grace Hopper').getByText('Van 1').waitFor()
    await block(page, 'Deliver the piano').dragTo(lane(page, 'Grace Hopper'))
    await page.getByText('Not every task could be assigned:').waitFor()
    await lane(page, 'Unassigned')
      .getByRole('button', { name: /^Deliver the piano,/ })
      .waitFor()

    await block(page, 'Deliver the piano').focus()
    await page.keyboard.press('a')
    await page.getByText('Only members of North can be given these tasks.').waitFor()
    expect(await page.getByRole('option', { name: /Grace/ }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.goto(`${server.url}/tasks?day=${DAY}&team=${team}`)
    await lane(page, 'Ada Lovelace').waitFor()
    await until('only the team has lanes', async () => (await lane(page, 'Grace Hopper').count()) === 0)
    await block(page, 'Deliver the piano').dragTo(lane(page, 'Ada Lovelace'))
    await lane(page, 'Ada Lovelace')
      .getByRole('button', { name: /^Deliver the piano,.*Assigned/ })
      .waitFor()
    await until('it is stored', async () => (await read(id)).assigneeId === people['Ada Lovelace']?.userId)
    await owner.delete(`/task/${id}`)
  })

  it('shows what the driver does, without a reload', async () => {
    const grace = people['Grace Hopper'] as Person
    const id = await create('Repair the lift', { assigneeId: grace.userId })
    const page = await open(`/tasks/${id}?day=${DAY}`)
    const panel = page.getByRole('complementary', { name: 'Repair the lift' })
    await panel.getByText('Assigned').first().waitFor()
    for (const status of ['accepted', 'on_the_way', 'in_progress', 'completed']) {
      const move = {
        status,
        lat: 52.5,
        lng: 13.4,
        ...(status === 'completed' && { note: 'Left at the gate' }),
      }
      expect((await grace.client.post(`/task/${id}/status`, move)).status).toBe(200)
    }
    await panel.getByText('Left at the gate').waitFor()
    await block(page, 'Repair the lift').getByText('Repair the lift').waitFor()
    await page.getByRole('button', { name: /^Repair the lift,.*Completed/ }).waitFor()
    await panel.getByText('Grace Hopper').first().waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    // A task that somebody else deletes is gone.
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await owner.delete(`/task/${id}`)
    await block(page, 'Repair the lift').waitFor({ state: 'detached' })
  })

  it('creates, changes, shares and deletes a task', async () => {
    // The page may hear that the task is deleted before it closes the panel, which then reads it once more.
    const page = await screens.open(`${server.url}/tasks?day=${DAY}`, {
      as: planner.client,
      size: { width: 1_280, height: 800 },
      mayFail: /404 .*\/api\/v3\/task\/[\da-f-]+$/,
    })
    await page.getByRole('button', { name: 'New task' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Install a router')
    await dialog.getByRole('combobox', { name: 'Place' }).fill('Somewhere')
    await dialog.getByRole('button', { name: 'Assignee' }).click()
    await page.getByRole('option', { name: 'Grace Hopper' }).click()
    expect(await findBarriersInThemes(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText(/^Choose a place from the list/).waitFor()
    await dialog.getByRole('combobox', { name: 'Place' }).fill('52.52, 13.405')
    await dialog.getByText('52.52000, 13.40500').waitFor()
    await dialog.getByRole('button', { name: 'Remove the place' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    const panel = page.getByRole('complementary', { name: 'Install a router' })
    await panel.getByText(/10 Mar 2026, 09:00 – 10:00/).waitFor()
    await panel.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('Install two routers')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Install two routers' }).waitFor()

    const changed = page.getByRole('complementary', { name: 'Install two routers' })
    await changed.getByRole('button', { name: 'Share with the customer' }).click()
    const sharing = page.getByRole('dialog', { name: 'Share where Van 1 is' })
    await sharing.getByText(/the place of the task.*until the task is done/).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await sharing.getByRole('button', { name: 'Create link' }).click()
    await sharing.getByText('The link is only shown once.').waitFor()
    await sharing.getByRole('button', { name: 'Done' }).click()
    const task = (await owner.get(`/tasks?search=${encodeURIComponent('Install two routers')}`)).body.data[0]
    expect((await owner.get('/tracking-links')).body.data).toMatchObject([{ taskId: task._id }])

    // Nobody is shown the way to a task that is over, and its link has ended.
    const end = await owner.post(`/task/${task._id}/status`, { status: 'cancelled' })
    expect(end.status).toBe(200)
    await changed.getByRole('button', { name: 'Share with the customer' }).waitFor({ state: 'detached' })
    await changed.getByRole('button', { name: 'Delete' }).click()
    await changed.getByText(/^Delete Install two routers\?/).waitFor()
    await changed.getByRole('alert').getByRole('button', { name: 'Delete' }).click()
    await block(page, 'Install two routers').waitFor({ state: 'detached' })
  })

  it('asks for the fields of a step', async () => {
    const steps = [
      { status: 'open', label: 'Open', next: ['signed'] },
      {
        status: 'signed',
        label: 'Signed',
        fields: [{ key: 'by', label: 'Signed by', type: 'text', required: true }],
      },
    ]
    const flow = (await owner.post('/flow', { name: 'Signing', steps })).body.data
    const id = await create('Sign the contract', { flowId: flow._id })
    const page = await open(`/tasks/${id}?day=${DAY}`)
    const panel = page.getByRole('complementary', { name: 'Sign the contract' })
    await panel.getByRole('button', { name: 'Signed' }).click()
    await panel.getByLabel('Signed by').fill('Ms Curie')
    await panel.getByRole('button', { name: 'Set to Signed' }).click()
    await until('it is signed', async () => (await read(id)).status === 'signed')
    await panel.getByText('Ms Curie').first().waitFor()
    // Its open panel would read the deleted task once more.
    await page.close()
    await owner.delete(`/task/${id}`)
  })

  it('offers a role nothing that it may not', async () => {
    const ada = people['Ada Lovelace'] as Person
    const id = await create('Water the plants', { assigneeId: ada.userId })
    await create('Not for Ada')
    const page = await open(`/tasks?day=${DAY}`, ada.client)
    await block(page, 'Water the plants').waitFor()
    expect(await page.getByText('Not for Ada').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'New task' }).count()).toBe(0)
    await block(page, 'Water the plants').click()
    const panel = page.getByRole('complementary', { name: 'Water the plants' })
    await panel.getByText('Assigned').first().waitFor()
    expect(await panel.getByRole('button', { name: 'Delete' }).count()).toBe(0)
    await page.close()
    await owner.delete(`/task/${id}`)
  })

  it('is a list on a phone', async () => {
    await create('Call the customer', { startTime: at('11:00'), endTime: at('12:00') })
    const page = await open(`/tasks?day=${DAY}`, planner.client, { width: 390, height: 844 })
    await page.getByRole('row', { name: /Call the customer/ }).click()
    await page.getByRole('heading', { name: 'Call the customer' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    expect(await findBarriersInThemes(page)).toEqual([])

    // A date and its time are read in one line.
    await page.goto(`${server.url}/tasks/new?day=${DAY}`)
    const parts = page.getByRole('group', { name: 'Start' }).getByRole('spinbutton')
    await parts.first().waitFor()
    // At one look: the form may move.
    const tops = await parts.evaluateAll(all => all.map(one => one.getBoundingClientRect().top))
    expect(new Set(tops).size).toBe(1)
  })
})
