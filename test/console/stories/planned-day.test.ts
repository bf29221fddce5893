import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice, type TestDevice } from '../../support/client.ts'
import { connectDevice, publish } from '../../support/mqtt.ts'
import { addPerson, type Person } from '../../support/people.ts'
import { useOrganization } from '../../support/shared-server.ts'
import { until } from '../../support/wait.ts'
import { findBarriers, useBrowser } from '../browser.ts'

const CSV = [
  'Number;Name;Shop lat;Shop lon',
  'C-1;Café Ünion;52.50;13.40',
  'C-2;Deli Dolores;52.51;13.41',
  'C-3;Tools & Co;52.52;13.42',
].join('\r\n')
const PHONE = { width: 390, height: 844 }

describe('A story: a planner’s day, from an import of customers to completed tasks', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none', savesData: false })
  let driver: Person
  let tracker: TestDevice

  // The company is there before the story begins: a driver, and the van with its tracker.
  beforeAll(async () => {
    // It is noon there, so that a task within the next hour is one of today.
    const ahead = 12 - new Date().getUTCHours()
    const timeZone = ahead === 0 ? 'UTC' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`
    expect((await owner.patch('/organization', { timeZone })).status).toBe(200)
    driver = await addPerson(server, owner, { role: 'Field user' })
    await driver.client.patch('/user', { name: 'Grace Hopper' })
    tracker = await createDevice(owner, 'Tracker 1')
    const van = { name: 'Van 1', driverId: driver.userId, deviceId: tracker.id }
    expect((await owner.post('/vehicle', van)).status).toBe(201)
  })
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (page: Page) => page.getByRole('dialog')
  const addField = async (page: Page, label: string, type = '') => {
    await button(page, 'Add a field').click()
    await page.getByRole('group', { name: 'New field' }).getByLabel('Label', { exact: true }).fill(label)
    if (type === '') return
    await page.getByRole('group', { name: label }).getByRole('button', { name: 'Type' }).click()
    await page.getByRole('option', { name: type, exact: true }).click()
  }

  it('is told by browsers and a tracker alone', async () => {
    // The customers: a type for them, and a file from the shop.
    const page = await screens.open(`${server.url}/data-types/new`, {
      as: owner,
      size: { width: 1_366, height: 768 },
    })
    await dialog(page).getByLabel('Name', { exact: true }).fill('Customer')
    await addField(page, 'Number')
    await addField(page, 'Name')
    await addField(page, 'Place', 'Place')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: 'Customer' }).waitFor()
    await button(page, 'Import').click()
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer: Buffer.from(CSV) })
    await page.getByText('3 would be created').waitFor()
    await button(page, 'Import 3 rows').click()
    await page.getByText('3 created').waitFor()

    // The plan: a task for each, given to the driver by A and three letters.
    await page.getByRole('link', { name: 'Tasks' }).click()
    for (const customer of ['Café Ünion', 'Deli Dolores']) {
      await button(page, 'New task').click()
      await dialog(page).getByLabel('Name', { exact: true }).fill(`Visit ${customer}`)
      const records = dialog(page).getByRole('group', { name: 'Data records' })
      await records.getByRole('searchbox').fill(customer)
      // Until then it has its place among all records, and moves away under a click.
      await until('it is found alone', async () => (await records.getByRole('checkbox').count()) === 1)
      await records.getByText(customer).first().click()
      await dialog(page).getByRole('button', { name: 'Save' }).click()
      await page
        .getByRole('complementary', { name: `Visit ${customer}` })
        .getByRole('link', { name: customer })
        .waitFor()
      await page.keyboard.press('Escape')
    }
    const block = (name: string) => page.getByRole('button', { name: new RegExp(`^Visit ${name}`) })
    for (const name of ['Café', 'Deli']) {
      await block(name).focus()
      await page.keyboard.press('Space')
    }
    await page.keyboard.press('a')
    await dialog(page).getByRole('searchbox').waitFor()
    await page.keyboard.type('gra')
    await page.locator('[role=option][data-focused]').getByText('Grace Hopper').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('2 tasks were assigned to Grace Hopper.').waitFor()

    // The driver: on the way, which the live map of the planner shows.
    const phone = await screens.open(`${server.url}/tasks`, { as: driver.client, size: PHONE })
    await phone.getByRole('row', { name: /Visit Café/ }).click()
    // Its vehicle is read on its own, and pushes the steps down.
    await phone.getByRole('complementary', { name: 'Visit Café Ünion' }).getByText('Van 1').waitFor()
    const step = async (label: string) => {
      await button(phone, label).click()
      await button(phone, `Set to ${label}`).click()
      await button(phone, `Set to ${label}`).waitFor({ state: 'detached' })
    }
    await step('Accepted')
    await step('On the way')
    const connection = await connectDevice(server, tracker)
    const point = { lat: 52.5, lng: 13.4, speed: 9, timestamp: new Date().toISOString() }
    await publish(connection, tracker, point)
    await page.getByRole('link', { name: 'Live map' }).click()
    await page.getByRole('option', { name: /Van 1 .*Grace Hopper · Visit Café Ünion/ }).click()
    const panel = page.getByRole('complementary', { name: 'Van 1' })
    await panel.getByText('Task under way').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await panel.getByRole('link', { name: 'Visit Café Ünion' }).click()

    // The task is completed on the phone, and the planner sees it happen.
    const task = page.getByRole('complementary', { name: 'Visit Café Ünion' })
    await task.getByText('On the way').first().waitFor()
    await step('In progress')
    await step('Completed')
    await task.getByText('Completed').first().waitFor()
    await page.getByRole('button', { name: /^Visit Café Ünion,.*Completed/ }).waitFor()
    await connection.endAsync(true)
  })
})
