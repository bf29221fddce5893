import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { hasFocus, useBrowser } from './browser.ts'

describe('The focus after deleting a record', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  beforeAll(async () => {
    for (const letter of 'ABCDE') await owner.post('/team', { name: `Team ${letter}` })
  })
  const row = (page: Page, name: string | RegExp) => page.getByRole('row', { name })
  const isAt = (page: Page, name: string) =>
    until(`the focus is on the row of ${name}`, () =>
      page.evaluate(name => {
        const { activeElement } = document
        return activeElement?.tagName === 'TR' && activeElement.textContent?.startsWith(name) === true
      }, name),
    )
  const deleteTeam = async (page: Page, name: string) => {
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('alert').getByRole('button', { name: 'Delete' }).press('Enter')
    await row(page, name).waitFor({ state: 'detached' })
  }

  it('goes to the next row, after the last record to the one before, and in an empty table to the heading', async () => {
    const page = await screens.open(`${server.url}/teams`, { as: owner })
    await row(page, 'Team C').press('Enter')
    await deleteTeam(page, 'Team C')
    await isAt(page, 'Team D')
    await page.keyboard.press('ArrowDown')
    await isAt(page, 'Team E')
    await page.keyboard.press('Enter')
    await deleteTeam(page, 'Team E')
    await isAt(page, 'Team D')
    await row(page, 'Team A').click()
    await deleteTeam(page, 'Team A')
    await isAt(page, 'Team B')

    // Also after the record was opened by a link, and is closed or deleted.
    const [last] = (await owner.get('/teams?search=Team%20D')).body.data
    await page.goto(`${server.url}/teams/${last._id}`)
    await page.getByRole('dialog').waitFor()
    await page.getByText('Team B').waitFor()
    await page.keyboard.press('Escape')
    await isAt(page, 'Team D')
    await page.reload()
    await row(page, 'Team D').press('Enter')
    await deleteTeam(page, 'Team D')
    await isAt(page, 'Team B')
    await page.keyboard.press('Enter')
    await deleteTeam(page, 'Team B')
    await hasFocus(page, 'Teams')
  })

  it('goes on after a link is revoked, and after a geofence is deleted on the map', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    for (const letter of 'ABC') {
      const { id } = await createDevice(owner, `Van ${letter}`)
      const link = { subjectId: id, subjectType: 'device', trailMinutes: 60, expiresAt }
      await owner.post('/tracking-link', link)
    }
    const page = await screens.open(`${server.url}/links`, { as: owner })
    await page.getByRole('button', { name: 'Revoke: Van B' }).press('Enter')
    const names = await page.locator('tbody tr td:first-child').allTextContents()
    await page.getByRole('alert').getByRole('button', { name: 'Revoke' }).press('Enter')
    await row(page, 'Van B').waitFor({ state: 'detached' })
    await isAt(page, names[names.indexOf('Van B') + 1] as string)

    const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 500 }
    await owner.post('/geofence', { name: 'Depot', shape })
    await page.goto(`${server.url}/geofences`)
    await row(page, 'Depot').press('Enter')
    await page.getByRole('button', { name: 'Edit' }).press('Enter')
    await page.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('alert').getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('complementary').waitFor({ state: 'detached' })
    await hasFocus(page, 'Live map')
  })
})

describe('A subject that an address names and that is gone', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  // A failed request fails the test: the browser reports it.
  it.each(['device', 'user'])('is said to be gone, without a failed request: a %s', async kind => {
    const page = await screens.open(`${server.url}/?subject=${await addAndDelete(kind)}`, { as: owner })
    await page.getByText('it was deleted, or your role').waitFor()
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })

  async function addAndDelete(kind: string): Promise<string> {
    const id = kind === 'device' ? (await createDevice(owner)).id : (await addPerson(server, owner)).userId
    expect((await owner.delete(`/${kind}/${id}`)).status).toBe(200)
    return id
  }
})
