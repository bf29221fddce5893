import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { OWNER } from '../support/server.ts'
import { useBrowser } from './browser.ts'

/** What no page may fail at: what a browser kept of an older version, addresses cut short, numbers that no device measures. */
describe('The console with what does not fit', () => {
  const { server } = useServer()
  const screens = useBrowser()

  const keep = (page: Page, key: string, value: string) =>
    page.evaluate(([key, value]) => localStorage.setItem(key, value), [key, value] as const)
  const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()

  it('a session that fits nothing is none: one signs in', async () => {
    const claims = (text: string) => `a.${Buffer.from(text).toString('base64url')}.c`
    const expiresAt = Date.now() + 3_600_000
    const { token } = await signIn(server)
    const damaged: unknown[] = [
      { expiresAt: 9e15 },
      { token: 'a\nb', expiresAt },
      { token: `${token}\n`, expiresAt },
      { token: 'a.é.c', expiresAt },
      { token: claims('null'), expiresAt },
      { token: claims('{"sub":1,"org":{}}'), expiresAt },
      { token: { toString: 1 }, expiresAt },
      { token, expiresAt: 'tomorrow' },
      [token, expiresAt],
      'text',
    ]
    const page = await screens.open(`${server.url}/sign-in`, { mayFail: /401/ })
    for (const session of damaged) {
      await keep(page, 'fieldline.session', JSON.stringify(session))
      await page.goto(`${server.url}/links`)
      await page.getByLabel('E-mail').waitFor()
    }
    await keep(page, 'fieldline.session', '{"token":')
    await page.goto(`${server.url}/links`)
    await page.getByLabel('E-mail').fill(OWNER.email)
    await page.getByLabel('Password').fill(OWNER.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
  })

  it('preferences that nobody can choose are those that nobody has chosen', async () => {
    const page = await screens.open(`${server.url}/sign-in`)
    for (const damaged of [
      '{"language":{"toString":1},"theme":"__proto__","units":7}',
      '[]',
      'null',
      '5',
      '{',
    ]) {
      await keep(page, 'fieldline.preferences', damaged)
      await page.reload()
      await page.getByLabel('E-mail').waitFor()
      expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light')
    }
  })

  it('the palette opens with whatever it finds of what was chosen lately, and lists eight at most', async () => {
    const as = await signIn(server)
    const page = await screens.open(`${server.url}/links`, { as })
    const { organizationId, _id } = (await as.get('/user')).body.data
    const named = Array.from({ length: 20_000 }, (_, at) => ({
      id: `x${at}`,
      name: `Old ${at}`,
      to: '/hubs',
    }))
    const damaged = [
      null,
      5,
      'abc',
      {},
      [null],
      [{ id: 1, name: {} }],
      [{ id: 'x', name: 'y', to: {} }],
      named,
    ]
    for (const chosen of damaged) {
      await keep(page, 'fieldline.recent', JSON.stringify({ whose: `${organizationId}/${_id}`, chosen }))
      await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('menuitem', { name: 'Hubs' }).waitFor()
      expect(await page.getByRole('menuitem', { name: 'Old' }).count()).toBe(chosen === named ? 8 : 0)
      await page.keyboard.press('Escape')
    }
  })

  it('a browser that keeps nothing holds the session as long as the page', async () => {
    const page = await screens.open(`${server.url}/sign-in`)
    await page.context().addInitScript(() => {
      Object.defineProperty(window, 'localStorage', { get: () => undefined })
    })
    await page.reload()
    await page.getByLabel('E-mail').fill(OWNER.email)
    await page.getByLabel('Password').fill(OWNER.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await isLive(page)
  })

  it('a page that fails leads out of the session', async () => {
    const as: Client = await signIn(server)
    const page = await screens.open(`${server.url}/sign-in`, { mayFail: /./ })
    await page.route('**/api/v3/user', route => route.fulfill({ json: { data: {} } }))
    await keep(
      page,
      'fieldline.session',
      JSON.stringify({ token: as.token, expiresAt: Date.now() + 3_600_000 }),
    )
    await page.goto(server.url)
    await page.getByRole('heading', { name: 'Something in this page failed' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('E-mail').waitFor()
    expect((await as.get('/user')).status).toBe(401)
  })
})
