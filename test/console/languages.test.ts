import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

const { server, owner } = useOrganization()
const screens = useBrowser({ map: 'none' })

it('the language is the browser’s until the organization’s is set', async () => {
  const page = await screens.open(`${server.url}/links`, { as: owner, locale: 'de-DE' })
  await page.getByRole('heading', { name: 'Tracking-Links' }).waitFor()
  expect((await owner.patch('/organization', { language: 'en' })).status).toBe(200)
  await page.reload()
  await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
  const unset = await owner.patch('/organization', { language: null })
  expect([unset.status, unset.body.data.language]).toEqual([200, 'en'])
  await page.reload()
  await page.getByRole('heading', { name: 'Tracking-Links' }).waitFor()
})

it('the page keeps its language until another one is loaded, also when that fails', async () => {
  const page = await screens.open(`${server.url}/links`, {
    as: owner,
    locale: 'en-150',
    mayFail: /de-|health/,
  })
  const isGerman = page.getByRole('heading', { name: 'Tracking-Links' })
  const choose = async () => {
    let failed = false
    page.once('requestfailed', () => {
      failed = true
    })
    await page.getByRole('button', { name: /^Account of/ }).click()
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
    await until('it was asked for in vain', () => failed)
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
  }
  await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
  await page.route('**/health', route => route.abort())
  await choose()
  await page.unroute('**/health')
  await isGerman.waitFor()

  await page.evaluate(() => localStorage.removeItem('fieldline.preferences'))
  await page.route('**/assets/de-*', route => route.abort())
  await page.reload()
  await choose()
  await page.getByText('Part of this page couldn’t be loaded').waitFor()
  await page.unroute('**/assets/de-*')
  await page.getByRole('link', { name: 'Reload' }).click()
  await isGerman.waitFor()
})

it('no German word is cut off, on a tablet and on a phone', async () => {
  await owner.patch('/organization', { language: 'de' })
  const van = await createDevice(owner, 'Van 7')
  const point = { timestamp: new Date().toISOString(), lat: 52.5, lng: 13.4, speed: 10 }
  const points = [point, { ...point, lat: 100 }]
  await createClient(server, van.key).post('/location-history/bulk', { points })
  const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click()
  const pages: [string, ((page: Page) => Promise<void>)?][] = [
    ['/', page => page.keyboard.press('Control+k')],
    ['/', press(/^Konto von/)],
    [`/?subject=${van.id}`],
    [`/?subject=${van.id}`, press('Teilen')],
    ['/?fence=new'],
    [`/playback?subject=device:${van.id}`, press('Herunterladen')],
    [`/devices/${van.id}`, press('Löschen')],
    ['/rejections'],
    ['/links'],
  ]
  const page = await screens.open(server.url, { as: owner })
  await page.getByRole('heading', { level: 1 }).waitFor()
  const cut: unknown[] = []
  for (const [path, open] of pages) {
    // What was opened is closed.
    await page.keyboard.press('Escape')
    await page.locator('[role=dialog], [role=menu]').waitFor({ state: 'detached' })
    await goWithin(page, path)
    await open?.(page)
    for (const width of [820, 390]) {
      await page.setViewportSize({ width, height: 844 })
      for (const words of await findCutWords(page)) cut.push([path, width, words])
    }
  }
  expect(cut).toEqual([])
})

/** Words that overflow or are hidden, and that no title shows either. */
const findCutWords = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const cut: string[] = []
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const parent = text.parentElement as HTMLElement
      if (!text.nodeValue?.trim() || parent.closest('.unseen, .skip, [title]')) continue
      if (!parent.checkVisibility({ visibilityProperty: true })) continue
      const range = document.createRange()
      range.selectNodeContents(text)
      const { left, right } = range.getBoundingClientRect()
      for (let box: HTMLElement | null = parent; box; box = box.parentElement) {
        // Elements for screen readers alone.
        if (box.offsetWidth <= 1) break
        const { overflowX } = getComputedStyle(box)
        if (!['hidden', 'clip'].includes(overflowX) && !box.matches('button, a, td, th')) continue
        const edges = box.getBoundingClientRect()
        if (left < edges.left - 1 || right > edges.right + 1) cut.push(text.nodeValue)
      }
    }
    return cut
  })
