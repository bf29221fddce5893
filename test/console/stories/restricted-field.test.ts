import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { newEmail, PASSWORD } from '../../support/people.ts'
import { useOrganization } from '../../support/shared-server.ts'
import { until } from '../../support/wait.ts'
import { copiedBy, findBarriers, useBrowser } from '../browser.ts'

describe('A story: a field is hidden from a role, checked as its user, and found in the audit log', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none', savesData: false })
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (page: Page) => page.getByRole('dialog')
  const row = (page: Page, name: RegExp) => page.getByRole('row', { name })

  it('is told by browsers alone', async () => {
    // A customer with a note that not everybody is to read.
    const page = await screens.open(`${server.url}/data-types/new`, { as: owner })
    await dialog(page).getByLabel('Name', { exact: true }).fill('Customer')
    for (const label of ['Company', 'Notes']) {
      await button(page, 'Add a field').click()
      await page.getByRole('group', { name: 'New field' }).getByLabel('Label', { exact: true }).fill(label)
    }
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: 'Customer' }).waitFor()
    await button(page, 'New record').click()
    await dialog(page).getByLabel('Company', { exact: true }).fill('Deli Dolores')
    await dialog(page).getByLabel('Notes', { exact: true }).fill('Pays late')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await row(page, /Deli Dolores Pays late/).waitFor()

    // A role that sees customers, without the notes.
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('link', { name: 'Roles' }).click()
    await button(page, 'Create role').click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('Caller')
    await dialog(page).getByText('See data sources').click()
    await dialog(page).getByText('See data types', { exact: true }).click()
    await dialog(page).locator('summary').click()
    await dialog(page).getByRole('button', { name: 'Data types and fields' }).click()
    await page.getByRole('option', { name: /^Only these/ }).click()
    await dialog(page)
      .getByRole('group', { name: 'Hidden fields of Customer' })
      .getByText('Notes', { exact: true })
      .click()
    await button(page, 'See it as this role sees it').click()
    await dialog(page).getByText('without Notes').waitFor()
    await button(page, 'Done').click()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })

    // Somebody joins with this role, and the notes are not there: no column, no filter, no field.
    await page.getByRole('link', { name: 'Users' }).click()
    await button(page, 'Invite user').click()
    await dialog(page).getByLabel('E-mail').fill(newEmail('eve'))
    await dialog(page).getByLabel('Name', { exact: true }).fill('Eve')
    await dialog(page).getByRole('button', { name: 'Role' }).click()
    await page.getByRole('option', { name: 'Caller', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    const link = await copiedBy(dialog(page), 'Copy Invitation link')
    await button(page, 'Done').click()
    const eve = await screens.open(link)
    await eve.getByLabel('Password').fill(PASSWORD)
    await button(eve, 'Join').click()
    await eve.getByRole('link', { name: 'Data', exact: true }).click()
    await row(eve, /Deli Dolores/).waitFor()
    await eve.getByRole('columnheader', { name: 'Company' }).waitFor()
    expect(await eve.getByText(/Notes|Pays late/).count()).toBe(0)
    await row(eve, /Deli Dolores/).click()
    await dialog(eve).getByLabel('Company', { exact: true }).waitFor()
    expect(await eve.getByText(/Notes|Pays late/).count()).toBe(0)
    expect(await findBarriers(eve)).toEqual([])

    // The audit log says who hid what, and takes it along as a file.
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByRole('button', { name: 'About' }).click()
    await page.getByRole('option', { name: 'Roles' }).click()
    const others = page.getByRole('row').filter({ hasNotText: 'Roles: ' })
    await until('of the others only the headings are left', async () => (await others.count()) === 1)
    await row(page, /Roles: Created/).click()
    await dialog(page).getByText('restrictedFields').waitFor()
    await dialog(page).getByText(/notes/).first().waitFor()
    expect(await findBarriers(page)).toEqual([])
    await button(page, 'Done').click()
    const download = page.waitForEvent('download')
    await button(page, 'Export CSV').click()
    expect(await readFile(await (await download).path(), 'utf8')).toContain('Caller')
  })
})
