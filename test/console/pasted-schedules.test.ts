import { beforeAll, describe, expect, it } from 'vitest'
import { readTable, splitCells } from '../../console/pages/schedules/pasted-table.ts'
import { columnAt, type KnownNames, readRow } from '../../console/pages/schedules/pasted-values.ts'
import { addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

const NAMES: KnownNames = {
  assignee: [{ _id: 'anna', name: 'Anna Berg' }],
  vehicle: [{ _id: 'van', name: 'Van 12', also: 'B-FL 12' }],
  team: [
    { _id: 'one', name: 'North' },
    { _id: 'two', name: 'north' },
  ],
  hub: [],
}
const read = (cells: object) =>
  readRow(
    { id: 0, cells: { name: 'Water', repeats: 'weekly', start: '2098-03-03 09:00', ...cells } },
    { names: NAMES, timeZone: 'Europe/Berlin', now: Date.parse('2026-01-01') },
  )

describe('A pasted table of schedules', () => {
  it('is split as spreadsheets copy it, with line ends and quotation marks within cells', () => {
    expect(splitCells('a\tb\r\n"two\nlines, ""quoted"""\tc"d\r\n\r\n')).toEqual([
      ['a', 'b'],
      ['two\nlines, "quoted"', 'c"d'],
    ])
  })

  it('has its columns by their headings in either language and any order, or in the usual order', () => {
    const german = readTable('Wiederholung\tFarbe\tAufgabe\twöchentlich\nwöchentlich\trot\tGießen')
    expect(german.rows).toEqual([{ id: 0, cells: { repeats: 'wöchentlich', name: 'Gießen' } }])
    expect([german.columns, german.unknown]).toEqual([
      ['name', 'repeats', 'start'],
      ['Farbe', 'wöchentlich'],
    ])
    const plain = readTable('Water\tdaily\t2\n', 7)
    expect(plain.rows).toEqual([{ id: 7, cells: { name: 'Water', repeats: 'daily', interval: '2' } }])
  })

  it('takes 500 rows, and says how many are left', () => {
    const { rows, tooMany } = readTable('Water\tdaily\n'.repeat(512))
    expect([rows.length, tooMany]).toEqual([500, 12])
  })

  it.each([
    [{ days: 'Mo, Do' }, { repeat: { frequency: 'weekly', interval: 1, byWeekday: ['mon', 'thu'] } }],
    [
      { repeats: 'Monatlich', interval: '2', days: '1; letzter' },
      { repeat: { frequency: 'monthly', interval: 2, byMonthDay: [1, -1] } },
    ],
    [{ repeats: 'RRULE:FREQ=DAILY;COUNT=3' }, { repeat: { rrule: 'FREQ=DAILY;COUNT=3' } }],
    [{ start: '3.3.2098 9:00 Uhr' }, { startTime: '2098-03-03T08:00:00.000Z' }],
    [
      { timezone: 'America/New York' },
      { startTime: '2098-03-03T14:00:00.000Z', timezone: 'America/New_York' },
    ],
    [{ until: '2098-06-30' }, { endTime: '2098-06-30T21:59:00.000Z' }],
    [
      { minutes: '7,5', assignee: 'anna berg', vehicle: 'b-fl 12' },
      { duration: 450, assigneeId: 'anna', vehicleId: 'van' },
    ],
  ])('reads %j', (cells, body) => {
    expect(read(cells)).toMatchObject({ problems: {}, body })
  })

  it.each([
    [{ name: '' }, { name: 'required' }],
    [{ name: 'x'.repeat(101) }, { name: 'long' }],
    [{ repeats: 'sometimes' }, { repeats: 'repeats' }],
    [{ interval: '1.5' }, { interval: 'interval' }],
    [{ days: 'Mo, Someday' }, { days: 'weekdays' }],
    [{ repeats: 'monthly', days: '32' }, { days: 'monthDays' }],
    [{ start: '03/04/2098 09:00' }, { start: 'time' }],
    [{ start: '2098-02-30 09:00' }, { start: 'time' }],
    [{ start: '2098-03-03' }, { start: 'time' }],
    [{ start: '2098-03-03 25:00' }, { start: 'time' }],
    [{ until: '2098-01-01' }, { until: 'before' }],
    [{ timezone: 'Mars/Base' }, { timezone: 'zone' }],
    [{ minutes: 'long' }, { minutes: 'minutes' }],
    [
      { assignee: 'Ann', team: 'north' },
      { assignee: 'unknown', team: 'several' },
    ],
  ])('marks %j', (cells, problems) => {
    expect(read(cells)).toMatchObject({ problems, body: null })
  })

  it('says which begin in the past, and where an error of the server belongs', () => {
    expect(read({ start: '2020-01-01 09:00' }).isPast).toBe(true)
    expect(['repeat.byWeekday.0', 'repeat.rrule', 'endTime', 'content.x'].map(columnAt)).toEqual([
      'days',
      'repeats',
      'until',
      'name',
    ])
  })
})

describe('The dialog for a pasted table', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let planner: Person

  beforeAll(async () => {
    await owner.patch('/organization', { timeZone: 'Europe/Berlin' })
    planner = await addPerson(server, owner, { role: 'Planner' })
  })
  const namesOf = async () =>
    ((await owner.get('/task/schedules?limit=500')).body.data as { name: string }[])
      .map(({ name }) => name)
      .sort()

  it('creates what is right, and keeps the rest to be mended', async () => {
    const page = await screens.open(`${server.url}/schedules`, { as: planner.client })
    await page.getByRole('button', { name: 'From a table' }).click()
    const dialog = page.getByRole('dialog', { name: 'Schedules from a table' })
    const table = [
      'Task\tRepeats\tDays\tStart\tMinutes',
      'Water\tweekly\tMon\t2098-03-03 09:00\t30',
      'Lamp\tyearly\t31\t2098-02-01 09:00\t30',
      'Count\tsometimes\t\t2098-03-03 10:00\t',
    ].join('\n')
    await page.evaluate(text => navigator.clipboard.writeText(text), table)
    await dialog.getByRole('textbox', { name: 'Pasted rows' }).focus()
    await page.keyboard.press('Control+v')
    await dialog.getByText('3 rows. 1 has to be mended first.').waitFor()
    await dialog.getByText('Repeats: Daily, weekly, monthly').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create 2 schedules' }).click()
    await dialog.getByText('2 schedules were created.').waitFor()
    expect(await namesOf()).toEqual(expect.arrayContaining(['Lamp', 'Water']))
    expect(await namesOf()).not.toContain('Count')
    await dialog.getByRole('textbox', { name: 'Repeats, row 1' }).fill('daily')
    await dialog.getByRole('button', { name: 'Create 1 schedule' }).click()
    await dialog.getByText('3 schedules were created.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('row', { name: /Count/ }).waitFor()
  })

  it('shows the errors of the server at their rows, and creates the others at once', async () => {
    const page = await screens.open(`${server.url}/schedules`, { as: planner.client })
    await page.getByRole('button', { name: 'From a table' }).click()
    const dialog = page.getByRole('dialog', { name: 'Schedules from a table' })
    const rows = Array.from({ length: 99 }, (_, n) => `Round ${n}\tdaily\t\t\t2098-03-03 09:00`)
    const paste = (text: string) =>
      dialog.getByRole('textbox', { name: 'Pasted rows' }).evaluate((field, text) => {
        const clipboardData = new DataTransfer()
        clipboardData.setData('text/plain', text)
        field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
      }, text)
    await paste(['Never\tFREQ=DAILY;UNTIL=20200101T000000Z\t\t\t2098-03-03 09:00', ...rows].join('\n'))
    await dialog.getByRole('button', { name: 'Create 100 schedules' }).click()
    await dialog.getByText('99 schedules were created.').waitFor()
    await until(
      'the one that never happens is left',
      async () => (await dialog.getByRole('listitem').count()) === 1,
    )
    expect(await dialog.getByRole('textbox', { name: 'Name, row 1' }).inputValue()).toBe('Never')
    await dialog.locator('.paste-why').waitFor()
    expect((await namesOf()).filter(name => name.startsWith('Round'))).toHaveLength(99)
  })
})
