import { describe, expect, it } from 'vitest'
import { offsetAt } from '../../console/pages/schedules/repeats.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('The page of schedules', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  it('reads as a sentence, and shows the next ten times with a change of the clocks', async () => {
    await owner.patch('/organization', { timeZone: 'Europe/Berlin' })
    const planner = await addPerson(server, owner, { role: 'Planner' })
    const startTime = '2098-03-04T08:00:00.000Z'
    const repeat = { frequency: 'weekly', interval: 1, byWeekday: ['mon'] }
    const made = await owner.post('/task/schedule', {
      name: 'Water the plants',
      repeat,
      startTime,
      timezone: 'Europe/Berlin',
    })
    expect(made.status).toBe(201)
    const page = await screens.open(`${server.url}/schedules`, { as: planner.client, mayFail: /400/ })
    await page.getByText('Every week on Monday at 09:00, Europe/Berlin').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('row', { name: /Water the plants/ }).click()
    const dialog = page.getByRole('dialog', { name: 'Water the plants' })
    const times = dialog.getByRole('region', { name: 'The next ten times' }).getByRole('listitem')
    await until('there are ten times', async () => (await times.count()) === 10)
    expect(await dialog.getByText('the clocks change before it').count()).toBe(1)

    await dialog.getByLabel('Interval').fill('2')
    await dialog
      .getByRole('button', { name: 'Tue' })
      .or(dialog.getByRole('checkbox', { name: 'Tue' }))
      .click()
    await dialog.getByText('Every second week on Monday and Tuesday at 09:00, Europe/Berlin').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])

    // A time zone is found by a few letters, and a length that is no number is refused at its field.
    await dialog.getByRole('button', { name: 'Time zone' }).click()
    await page.keyboard.type('lisb')
    await page.getByRole('option', { name: /Europe\/Lisbon/ }).click()
    await dialog.getByText('Every second week on Monday and Tuesday at 08:00, Europe/Lisbon').waitFor()
    await dialog.getByLabel('Minutes for each task').fill('an hour')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText(/Must be a (whole )?number/).waitFor()
    await dialog.getByLabel('Minutes for each task').fill('45')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /Every second week on Monday and Tuesday/ }).waitFor()
    const stored = (await owner.get(`/task/schedule/${made.body.data._id}`)).body.data
    expect(stored.repeat).toMatchObject({ interval: 2, byWeekday: ['mon', 'tue'] })
    expect(stored).toMatchObject({ timezone: 'Europe/Lisbon', duration: 2_700 })
  })

  it('knows how far clocks are from UTC', () => {
    expect(offsetAt(Date.parse('2026-01-01T00:00:00Z'), 'Europe/Berlin')).toBe(60)
    expect(offsetAt(Date.parse('2026-07-01T00:00:00Z'), 'Europe/Berlin')).toBe(120)
    expect(offsetAt(Date.parse('2026-01-01T00:00:00Z'), 'America/St_Johns')).toBe(-210)
    expect(offsetAt(0, 'UTC')).toBe(0)
  })
})
