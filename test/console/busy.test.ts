import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

describe('A busy server', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const open = () => screens.open('about:blank', { as: owner, mayFail: /status of (429|503)/ })
  /** Refuses the first request, and collects the times of all. */
  const refuseOnce = async (page: Page, path: RegExp, status: number, retryAfter: () => string) => {
    const asked: number[] = []
    await page.route(path, route => {
      asked.push(Date.now())
      if (asked.length > 1) return route.continue()
      const body = JSON.stringify({ message: 'There are too many requests.', errors: [] })
      const headers = { 'retry-after': retryAfter(), 'content-type': 'application/json' }
      return route.fulfill({ status, headers, body })
    })
    return asked
  }
  const RETRYING = 'Retrying automatically within'
  const said = (page: Page) => page.getByRole('alert').getByText(RETRYING)
  /** It is said for three seconds: the page itself takes note, however late the test looks. */
  const noteSaid = (page: Page) =>
    page.addInitScript(text => {
      const noted = globalThis as unknown as { wasSaid: boolean }
      noted.wasSaid = false
      new MutationObserver(() => {
        const alerts = [...document.querySelectorAll('[role=alert]')]
        noted.wasSaid ||= alerts.some(({ textContent }) => textContent?.includes(text))
      }).observe(document, { childList: true, characterData: true, subtree: true })
    }, RETRYING)
  const wasSaid = (page: Page) => page.evaluate(() => (globalThis as unknown as { wasSaid: boolean }).wasSaid)
  const waited = (asked: number[]) => (asked[1] ?? 0) - (asked[0] ?? 0)

  it('gets the next request at the time that it names and not before, for the first load and for a table', async () => {
    await createDevice(owner, 'Van 1')
    const page = await open()
    await noteSaid(page)
    const first = await refuseOnce(page, /\/api\/v3\/user$/, 429, () => '3')
    await page.goto(`${server.url}/devices`)
    await page.getByRole('row', { name: /Van 1/ }).waitFor()
    expect(await wasSaid(page)).toBe(true)
    expect(waited(first)).toBeGreaterThanOrEqual(3_000)

    const at = () => new Date(Date.now() + 4_000).toUTCString()
    const list = await refuseOnce(page, /\/api\/v3\/devices\?.*sort=name/, 503, at)
    await page.reload()
    await page.getByRole('row', { name: /Van 1/ }).waitFor()
    expect(await wasSaid(page)).toBe(true)
    expect(waited(list)).toBeGreaterThanOrEqual(2_500)
  })

  it('delays a page by a minute at most', async () => {
    const page = await open()
    const asked = await refuseOnce(page, /\/api\/v3\/user$/, 503, () => '3600')
    await page.clock.install()
    await page.goto(server.url)
    await page.getByText(/automatically within (6\d|7[012]) s/).waitFor()
    await page.clock.fastForward(73_000)
    await until('it is asked again', () => asked.length === 2)
    await page.getByRole('heading', { name: 'Live map' }).waitFor()
  })

  it('gets one retry for the next page of a list, not an endless row of them', async () => {
    for (let n = 0; n < 60; n++) await createDevice(owner, `Tracker ${n}`)
    const page = await open()
    const asked = await refuseOnce(page, /\/api\/v3\/devices\?.*cursor=/, 429, () => '2')
    await page.goto(`${server.url}/devices`)
    await page
      .getByRole('row', { name: /Tracker 0/ })
      .first()
      .focus()
    await until('all are there', async () => {
      await page.keyboard.press('End')
      return (await page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex'))) === '62'
    })
    expect(waited(asked)).toBeGreaterThanOrEqual(2_000)
  })

  it('gets no action a second time by itself', async () => {
    const page = await open()
    const asked = await refuseOnce(page, /\/api\/v3\/team$/, 429, () => '1')
    await page.goto(`${server.url}/teams/new`)
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('North')
    // The people push the button down when they are read, and a press that it leaves is none.
    await page.locator('[role=dialog] .check').first().waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('There are too many requests.').waitFor()
    await new Promise(resolve => setTimeout(resolve, 2_000))
    expect(await said(page).count()).toBe(0)
    expect(asked).toHaveLength(1)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /North/ }).waitFor()
  })
})
