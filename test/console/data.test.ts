import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('The page of data', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let customers = ''

  const field = (page: Page, name: string) => page.getByRole('dialog').getByLabel(name, { exact: true })
  const save = (page: Page) => page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  const row = (page: Page, name: RegExp) => page.getByRole('row', { name })

  beforeAll(async () => {
    const fields = [
      { key: 'number', label: 'Number', type: 'text' },
      { key: 'name', label: 'Name', type: 'text', required: true },
      { key: 'phone', label: 'Phone', type: 'phone' },
      { key: 'tier', label: 'Tier', type: 'select', options: ['gold', 'silver'] },
      { key: 'credit', label: 'Credit', type: 'number' },
    ]
    const made = await owner.post('/data-type', { name: 'Customer', primaryKey: 'number', fields })
    customers = made.body.data._id
    for (let n = 1; n < 6; n++) {
      const data = { number: `C-${n}`, name: `Shop ${n}`, tier: n % 2 ? 'gold' : 'silver', credit: n * 10 }
      expect((await owner.post('/data', { dataTypeId: customers, data })).status).toBe(201)
    }
  })

  it('creates a type with its fields, and records of it, with the server’s errors at the fields', async () => {
    const page = await screens.open(`${server.url}/data-types/new`, { as: owner, mayFail: /40[09]/ })
    await field(page, 'Name').fill('Order')
    await page.getByRole('button', { name: 'Add a field' }).click()
    await field(page, 'Label').fill('Order number')
    expect(await field(page, 'Key').inputValue()).toBe('orderNumber')
    await page.getByRole('button', { name: 'Add a field' }).click()
    const second = page.getByRole('group', { name: 'New field' })
    await second.getByLabel('Label', { exact: true }).fill('Customer')
    const reference = page.getByRole('group', { name: 'Customer' })
    await reference.getByRole('button', { name: 'Type' }).click()
    await page.getByRole('option', { name: 'Another record' }).click()
    await reference.getByRole('button', { name: 'Refers to' }).click()
    await page.getByRole('option', { name: 'Customer', exact: true }).click()
    await page.getByRole('button', { name: 'Primary key' }).click()
    await page.getByRole('option', { name: 'Order number' }).click()
    expect(await findBarriersInThemes(page)).toEqual([])
    await save(page)

    await page.getByRole('region', { name: 'Order' }).waitFor()
    await page.getByRole('button', { name: 'New record' }).click()
    await field(page, 'Order number').fill('O-1')
    await page.getByRole('dialog').getByRole('button', { name: 'Customer' }).click()
    await page.getByRole('option', { name: 'Shop 1' }).waitFor()
    await page.keyboard.type('shop 2')
    // Until then the one to press moves up.
    await page.getByRole('option', { name: 'Shop 1' }).waitFor({ state: 'detached' })
    await page.getByRole('option', { name: 'Shop 2' }).click()
    await save(page)
    await row(page, /O-1 Shop 2/).waitFor()
    // A reference is followed.
    await row(page, /O-1 Shop 2/)
      .getByRole('link', { name: 'Shop 2' })
      .click()
    await page.getByRole('dialog', { name: 'Shop 2' }).waitFor()
    await field(page, 'Number').fill('C-1')
    await save(page)
    await page.getByRole('dialog').getByRole('alert').or(page.locator('.field-error')).first().waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('finds, filters and sorts records by the fields of their type', async () => {
    const page = await screens.open(`${server.url}/data-types/${customers}`, { as: owner })
    await row(page, /Shop 5/).waitFor()
    await page.getByRole('button', { name: 'Filter by' }).click()
    await page.getByRole('option', { name: 'Tier' }).click()
    await page.getByRole('button', { name: 'Tier is' }).click()
    await page.getByRole('option', { name: 'gold' }).click()
    await row(page, /Shop 2/).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Credit' }).click()
    await page.locator('[aria-sort=ascending]').getByText('Credit').waitFor()
    await page.getByRole('button', { name: 'Credit' }).click()
    await page.locator('tbody tr').first().getByText('Shop 5').waitFor()
    expect(new URL(page.url()).search).toBe('?is.tier=gold&sort=-credit')
    await page.getByRole('searchbox', { name: 'Search records' }).fill('shop 3')
    await row(page, /Shop 5/).waitFor({ state: 'detached' })
    await row(page, /Shop 3/).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('says at the field that records contradict a change', async () => {
    const page = await screens.open(`${server.url}/data-types/${customers}?edit=true`, {
      as: owner,
      mayFail: /409/,
    })
    const phone = page.getByRole('group', { name: 'Phone' })
    await phone.getByText('Required').click()
    await save(page)
    await page.getByText('5 existing records contradict this change.').waitFor()
    expect(await phone.getAttribute('class')).toContain('contradicted')
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('has no restricted field', async () => {
    const detail = { dataTypeId: customers, restrictedFields: ['phone', 'credit'] }
    const role = await owner.post('/role', {
      name: 'Caller',
      permissionDetails: [
        { permissionName: 'view/data', dataTypes: [detail] },
        { permissionName: 'view/data-type' },
      ],
    })
    const caller = await addPerson(server, owner, { roleId: role.body.data._id })
    const page = await screens.open(`${server.url}/data-types/${customers}`, { as: caller.client })
    await row(page, /Shop 1/).click()
    await field(page, 'Name').waitFor()
    expect(await page.getByText('Credit').count()).toBe(0)
    expect(await page.getByText('Phone').count()).toBe(0)
    for (const name of ['Fields', 'New record', 'New data type', 'Import', 'Export', 'Save'])
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0)
  })
})
