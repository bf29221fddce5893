import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, hasFocus, useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

describe('Unsaved input', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  beforeAll(async () => {
    const van = await createDevice(owner, 'Van 7')
    const points = [{ lat: 52.5, lng: 13.4, timestamp: Date.now() }]
    await createClient(server, van.key).post('/location-history/bulk', { points })
  })

  const question = (page: Page) => page.getByRole('dialog', { name: 'Unsaved changes' })
  const answer = (page: Page, text: string) => question(page).getByRole('button', { name: text }).click()
  const nameOf = (page: Page) => page.getByRole('textbox', { name: 'Name', exact: true })
  const pathOf = (page: Page) => page.url().slice(server.url.length)
  const go = async (page: Page, text: string) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
  }

  it('and a secret that is shown only once are not lost without a question', async () => {
    const page = await screens.open(`${server.url}/teams`, { as: owner })
    const shown = page.getByRole('dialog', { name: 'Only shown once' })
    const [stay, leave] = ['Go back to it', 'Close'].map(name =>
      shown.getByText('can’t be shown again').locator('..').getByRole('button', { name }),
    )
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByRole('button', { name: 'Add device' }).click()
    await nameOf(page).fill('Scanner')
    await page.keyboard.press('Enter')
    const key = page.getByText('The key is only shown once')
    await key.waitFor()
    await page.goBack()
    await stay?.click()
    await shown.waitFor({ state: 'detached' })
    await key.waitFor()
    await until('the address is the one before', () => pathOf(page) === '/devices/new')
    // Its own button confirms that the secret is stored elsewhere.
    await page.getByRole('button', { name: 'Done' }).click()
    await key.waitFor({ state: 'detached' })
    expect(await shown.count()).toBe(0)

    await page.getByRole('link', { name: 'Live map' }).click()
    await page.getByRole('option', { name: /Van 7/ }).click()
    await page.getByRole('button', { name: 'Share' }).click()
    await page.getByRole('button', { name: 'Create link' }).click()
    await page.getByText('The link is only shown once').waitFor()
    await page.goBack()
    await leave?.click()
    await page.getByText('The link is only shown once').waitFor({ state: 'detached' })
    await until('the address is the one before', () => pathOf(page) === '/')
  })

  const WAYS: [string, string, string, (page: Page) => Promise<unknown>][] = [
    ['a link', '/?fence=new', '/teams', page => page.getByRole('link', { name: 'Teams' }).click()],
    ['the back button', '/?fence=new', '/teams', page => page.evaluate(() => history.back())],
    ['the palette', '/?fence=new', '/hubs', page => go(page, 'hub')],
    [
      'a click on another subject',
      '/?fence=new',
      '/?subject=',
      page => page.getByRole('option').first().click(),
    ],
    ['the palette, over a dialog', '/teams/new', '/hubs', page => go(page, 'hub')],
    ['the back button of a dialog', '/vehicles/new', '/teams', page => page.evaluate(() => history.back())],
  ]

  it('is not lost by any way out without a question', async () => {
    const page = await screens.open(`${server.url}/teams`, { as: owner })
    for (const [way, from, to, leave] of WAYS) await isAskedOn(page, way, from, to, leave)
  })

  const isAskedOn = async (
    page: Page,
    way: string,
    from: string,
    to: string,
    leave: (page: Page) => Promise<unknown>,
  ) => {
    // By links of the page, so that the back button leads to the page before.
    await goWithin(page, '/teams')
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    await goWithin(page, from)
    await page.getByRole('option').or(page.getByRole('dialog')).first().waitFor()
    const name = nameOf(page)
    const hasStayed = async () => {
      // The browser puts the address back a moment after the back button.
      await until(`it is still at ${from} in spite of ${way}`, () => pathOf(page) === from)
      expect([way, await name.inputValue()]).toEqual([way, 'Half typed'])
    }
    await name.fill('Half typed')
    await leave(page)
    await question(page).waitFor()
    expect([way, ...(await findBarriers(page))]).toEqual([way])
    await answer(page, 'Keep editing')
    await question(page).waitFor({ state: 'detached' })
    await hasStayed()

    await leave(page)
    await question(page).waitFor()
    await page.keyboard.press('Escape')
    await question(page).waitFor({ state: 'detached' })
    await hasStayed()

    await leave(page)
    await question(page).waitFor()
    await answer(page, 'Discard')
    await until(`it is at ${to} by ${way}`, () => pathOf(page).startsWith(to))
    await name.waitFor({ state: 'detached' })
    expect(await question(page).count()).toBe(0)
  }

  it('causes a question where it would be lost, and nowhere else', async () => {
    const page = await screens.open(`${server.url}/teams`, { as: owner, map: 'still' })
    await page.getByRole('button', { name: 'Add team' }).first().click()
    await nameOf(page).fill('North')
    // The people push the button down when they are read, and a press that it leaves is none.
    await page.locator('[role=dialog] .check').first().waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /North/ }).waitFor()
    await page.getByRole('link', { name: 'Live map' }).click()
    await page.getByRole('heading', { name: 'Live map' }).waitFor()

    await page.goto(`${server.url}/?fence=new`)
    await nameOf(page).fill('Yard')
    // It stays while the list is searched.
    await page.getByRole('searchbox', { name: 'Search' }).first().fill('van')
    await until('the address says what is looked for', () => pathOf(page).includes('search=van'))
    expect(await nameOf(page).inputValue()).toBe('Yard')
    await page.getByRole('button', { name: 'Center of the map' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('complementary', { name: 'Yard' }).waitFor()
    await page.getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    expect(await question(page).count()).toBe(0)
  })

  it('makes the browser ask before the page is closed', async () => {
    const page = await screens.open(`${server.url}/hubs/new`, { as: owner })
    const asked: string[] = []
    page.on('dialog', dialog => {
      asked.push(dialog.type())
      void dialog.accept()
    })
    await nameOf(page).fill('Depot')
    await page.reload()
    await nameOf(page).waitFor()
    expect(asked).toEqual(['beforeunload'])
    await page.reload()
    await nameOf(page).waitFor()
    expect(asked).toEqual(['beforeunload'])
  })

  it('stays when switching the organization fails, and the error is shown', async () => {
    const page = await screens.open(`${server.url}/teams`, { as: owner, mayFail: /503/ })
    await page.route('**/auth/open-organization', route =>
      route.fulfill({
        status: 503,
        json: { status: false, code: 'unavailable', message: 'The database is away.', requestId: 'x' },
      }),
    )
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    await go(page, 'switch to')
    await page
      .getByRole('status')
      .getByText('You are still in this organization. The server is busy. Try again.')
      .waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Close' }).click()
    await page.getByText('You are still in this organization').waitFor({ state: 'detached' })
    await hasFocus(page, 'Teams')
  })
})
