import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseRows } from '../../console/pages/imports/preview.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

const CSV = [
  'Number;Name;Phone;Shop lat;Shop lon',
  'C-1;Café Ünion;+1 415 555 0001;37.76;-122.42',
  'C-2;"Deli; Dolores";not a phone;37.77;-122.43',
  'C-3;Tools;+1 415 555 0003;37.75;-122.41',
].join('\r\n')

describe('The page of imports', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let customers = ''

  beforeAll(async () => {
    const fields = [
      { key: 'number', label: 'Number', type: 'text' },
      { key: 'name', label: 'Name', type: 'text', required: true },
      { key: 'phone', label: 'Phone', type: 'phone' },
      { key: 'place', label: 'Place', type: 'location' },
    ]
    const made = await owner.post('/data-type', { name: 'Customer', primaryKey: 'number', fields })
    customers = made.body.data._id
  })

  const choose = (page: Page, text: string) =>
    page
      .locator('input[type=file]')
      .setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
  const purpose = async (page: Page, heading: string, name: string) => {
    await page.getByRole('button', { name: `Field for ${heading}` }).click()
    await page.getByRole('option', { name, exact: true }).click()
  }

  it('checks a file, shows its first rows beside the mapping, imports it and gives back the failed rows', async () => {
    const page = await screens.open(`${server.url}/imports?new=true&type=${customers}`, { as: owner })
    await choose(page, CSV)
    await page.getByRole('cell', { name: 'Deli; Dolores' }).waitFor()
    await page.getByText('2 would be created').waitFor()
    await page.getByText('1 would fail').waitFor()
    // The cell that fails is marked beside the mapping.
    await page.getByRole('region', { name: 'Which column goes where' }).locator('mark').first().waitFor()
    expect((await owner.get(`/data?dataTypeId=${customers}`)).body.data).toEqual([])
    await page.getByRole('button', { name: 'Field for Shop lat' }).getByText('Place: latitude').waitFor()
    await purpose(page, 'Phone', 'Not imported')
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.getByText('3 would be created').waitFor()
    await purpose(page, 'Phone', 'Phone')
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.getByText('2 would be created').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])

    await page.getByText('Save this mapping').first().click()
    await page.getByLabel('Name of the mapping').fill('From the shop')
    await page.getByRole('button', { name: 'Save this mapping' }).click()
    await page.getByText('Saved. Choose it the next time.').waitFor()
    await page.getByRole('button', { name: 'Import 2 rows' }).click()
    await page.getByText('2 created').waitFor()
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the failed rows' }).click()
    expect((await downloading).suggestedFilename()).toBe('customers.csv')
    const { data } = (await owner.get(`/data?dataTypeId=${customers}&sort=number`)).body
    expect(data.map((one: { data: object }) => one.data)).toMatchObject([
      { number: 'C-1', name: 'Café Ünion', place: { lat: 37.76, lng: -122.42 } },
      { number: 'C-3', name: 'Tools' },
    ])

    await page.getByRole('button', { name: 'Done' }).click()
    await page
      .getByRole('row', { name: /customers\.csv Customer Completed with errors 2 created, 1 failed/ })
      .waitFor()
    await page.goto(`${server.url}/imports?new=true&type=${customers}`)
    await page.getByRole('button', { name: 'Saved mapping' }).click()
    await page.getByRole('option', { name: 'From the shop' }).click()
    await page.getByRole('button', { name: 'Known records' }).click()
    await page.getByRole('option', { name: 'Update by the primary key' }).click()
    await choose(page, CSV.replace('Tools', 'More tools').replace('not a phone', '+1 415 555 0002'))
    await page.getByText('1 would be created').waitFor()
    await page.getByText('1 would be updated').waitFor()
  })

  it('exports what the filters leave, and lists it', async () => {
    const page = await screens.open(`${server.url}/data-types/${customers}?is.number=C-1`, { as: owner })
    await page.getByRole('row', { name: /Café/ }).waitFor()
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByText('Only the records that the filters of the page leave.').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    const downloading = page.waitForEvent('download')
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click()
    expect((await downloading).suggestedFilename()).toMatch(/\.xlsx$/)
    await page.getByText('The file was downloaded.').waitFor()
    await page.goto(`${server.url}/imports?show=exports`)
    await page.getByRole('row', { name: /\.xlsx Customer Completed 1/ }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('is not there for a role that may not import', async () => {
    const person = await addPerson(server, owner, { role: 'Field user' })
    const page = await screens.open(`${server.url}/`, { as: person.client })
    await page.getByRole('link', { name: 'Tasks' }).waitFor()
    expect(await page.getByRole('link', { name: 'Imports' }).count()).toBe(0)
  })

  it('leads to a data type where there is none to import into', async () => {
    const { client } = await addOrganization(server, owner)
    await until('the sample data is there', async () => {
      const { body } = await client.get('/tasks')
      return body.data.length > 0
    })
    expect((await client.delete('/organization/sample-data')).status).toBe(200)
    await until('its types are gone', async () => (await client.get('/data-types')).body.data.length === 0)
    const page = await screens.open(`${server.url}/imports?new=true`, { as: client })
    await page.getByText('No data type to import into').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('link', { name: 'New data type' }).click()
    await page.waitForURL('**/data-types/new')
  })

  it('reads quoted cells, doubled quotes and blank rows of CSV', () => {
    const text = 'a,b\n\n"x, ""y""",2\r\n,\n"line\nbreak",3'
    expect(parseRows(text, ',', 5)).toEqual([
      ['a', 'b'],
      ['x, "y"', '2'],
      ['line\nbreak', '3'],
    ])
  })
})
