import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('Organizations in the console', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  const open = (as = owner, mayFail = /nothing/) =>
    screens.open(`${server.url}/settings/organization`, { as, mayFail })
  const dialog = (page: Page) => page.getByRole('dialog')
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  it('save what was changed, and nothing else', async () => {
    await owner.patch('/organization', { settings: { maxAccuracy: 50 } })
    const page = await open(owner, /400/)
    await page.getByRole('button', { name: /Time zone/ }).click()
    await page.keyboard.type('berl')
    await page.getByRole('option', { name: /Europe\/Berlin/ }).click()
    await page.getByLabel('Minutes until something silent').fill('0')
    await button(page, 'Save').click()
    await page.getByText(/Must be more than 0/).waitFor()
    // A word for a number is refused at its field, and lifts no limit.
    await page.getByLabel('Minutes until something silent').fill('7,5')
    await page.getByLabel('Greatest inaccuracy in metres').fill('near')
    await button(page, 'Save').click()
    await page.getByText(/Must be a number/).waitFor()
    expect((await owner.get('/organization')).body.data.settings.maxAccuracy).toBe(50)
    await page.getByLabel('Greatest inaccuracy in metres').fill('50')
    await button(page, 'Save').click()
    await until('it is saved', async () => {
      const { timeZone, settings } = (await owner.get('/organization')).body.data
      return (
        timeZone === 'Europe/Berlin' && settings.offlineAfterMinutes === 7.5 && settings.maxAccuracy === 50
      )
    })
    await page.getByText('Saved.').waitFor()
    await until('there is nothing to save', () => button(page, 'Save').isDisabled())
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('create one with the hub that it needs, and switch back', async () => {
    const person = await addPerson(server, owner, { role: 'Admin' })
    // The new organization ends the session, and a request on its way may carry the token that has just ended.
    const page = await open(person.client, /401/)
    await button(page, 'Create organization').click()
    await dialog(page).getByText('so the new one needs a first hub').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await dialog(page).getByLabel('Name of the organization').fill('Second')
    await dialog(page).getByRole('button', { name: 'Create organization' }).click()
    await dialog(page).getByText('This is required.').first().waitFor()
    await dialog(page).getByLabel('Name of the hub').fill('Yard')
    await dialog(page).getByLabel('Latitude').fill('48,1')
    await dialog(page).getByLabel('Longitude').fill('11.5')
    await dialog(page).getByRole('button', { name: 'Create organization' }).click()
    await button(page, 'Organization Second: switch to another').waitFor()
    // The new one has a hub that may be taken over.
    await page.goto(`${server.url}/settings/organization`)
    await button(page, 'Create organization').click()
    await dialog(page).getByText('Leave it empty to take over the hubs').waitFor()
    await page.keyboard.press('Escape')
    await button(page, 'Switch to Another one').click()
    await button(page, 'Organization Another one: switch to another').waitFor()
  })

  it('are deleted by their owner alone, who types the name', async () => {
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const asAdmin = await open(admin.client)
    await asAdmin.getByRole('button', { name: /Time zone/ }).waitFor()
    expect(await button(asAdmin, 'Delete this organization').count()).toBe(0)
    // The new organization ends the session of this page, whose last requests may still be on their way.
    await asAdmin.close()
    const { client } = await addOrganization(server, admin.client, { organizationName: 'Brief' })
    const samples = async () => (await client.get('/organization/sample-data')).body.data.status
    await until('its samples are there', async () => (await samples()) === 'there')
    // The session has ended with the organization.
    const page = await open(client, /401.*auth\/logout/)
    // These push the button down when they are read, and a press that it leaves is none.
    await button(page, 'Switch to Another one').waitFor()
    await button(page, 'Delete sample data').waitFor()
    await button(page, 'Delete this organization').click()
    expect(await dialog(page).getByRole('button', { name: 'Delete this organization' }).isDisabled()).toBe(
      true,
    )
    await dialog(page).getByLabel('Type Brief to confirm').fill('Brief')
    await dialog(page).getByRole('button', { name: 'Delete this organization' }).click()
    await page.getByRole('heading', { name: 'Fieldline' }).waitFor()
    expect((await createClient(server, client.token).get('/user')).status).toBe(401)
  })
})
