import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

/** Input that must not break a page: storage of an older version, truncated addresses, impossible numbers. */
describe('The console with damaged data', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  const keep = (page: Page, key: string, value: string) =>
    page.evaluate(([key, value]) => localStorage.setItem(key, value), [key, value] as const)
  /** Has the page read what the browser keeps, as after another tab has written it, and as when it is loaded. */
  const rewritten = (page: Page, key: string) =>
    page.evaluate(async key => {
      dispatchEvent(new StorageEvent('storage', { key }))
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
    }, key)
  const enter = async (page: Page, { email, password }: Person) => {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()

  it('a damaged session counts as none and leads to the sign-in', async () => {
    const claims = (text: string) => `a.${Buffer.from(text).toString('base64url')}.c`
    const expiresAt = Date.now() + 8 * 3_600_000
    const person = await addPerson(server, owner)
    const { token } = person.client
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
    const page = await screens.open(`${server.url}/links`, { mayFail: /401/ })
    await page.getByLabel('E-mail').waitFor()
    for (const session of damaged) {
      await keep(page, 'fieldline.session', JSON.stringify(session))
      await rewritten(page, 'fieldline.session')
      expect([session, await page.getByLabel('E-mail').count()]).toEqual([session, 1])
    }
    await page.reload()
    await page.getByLabel('E-mail').waitFor()
    await keep(page, 'fieldline.session', '{"token":')
    await page.goto(`${server.url}/links`)
    await enter(page, person)
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
  })

  it('invalid preferences count as the defaults', async () => {
    const page = await screens.open(`${server.url}/sign-in`)
    for (const damaged of [
      '[]',
      'null',
      '5',
      '{',
      '{"language":{"toString":1},"theme":"__proto__","units":7}',
    ]) {
      await keep(page, 'fieldline.preferences', damaged)
      await rewritten(page, 'fieldline.preferences')
      expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light')
    }
    await page.reload()
    await page.getByLabel('E-mail').waitFor()
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light')
  })

  it('the palette opens with damaged recent choices, and lists eight at most', async () => {
    const page = await screens.open(`${server.url}/links`, { as: owner })
    const { organizationId, _id } = (await owner.get('/user')).body.data
    const named = Array.from({ length: 2_000 }, (_, at) => ({
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
      await page.getByRole('option', { name: 'Hubs' }).waitFor()
      expect(await page.getByRole('option', { name: 'Old' }).count()).toBe(chosen === named ? 8 : 0)
      await page.keyboard.press('Escape')
    }
  })

  it('a browser without storage keeps the session as long as the page is open', async () => {
    const page = await screens.open(`${server.url}/sign-in`)
    await page.context().addInitScript(() => {
      Object.defineProperty(window, 'localStorage', { get: () => undefined })
    })
    await page.reload()
    await enter(page, await addPerson(server, owner))
    await isLive(page)
  })

  it('a page that fails offers to sign out', async () => {
    const { client } = await addPerson(server, owner)
    const page = await screens.open(`${server.url}/sign-in`, { mayFail: /./ })
    await page.route('**/api/v3/user', route => route.fulfill({ json: { data: {} } }))
    await keep(
      page,
      'fieldline.session',
      JSON.stringify({ token: client.token, expiresAt: Date.now() + 8 * 3_600_000 }),
    )
    await page.goto(server.url)
    await page.getByRole('heading', { name: 'Something went wrong on this page' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('E-mail').waitFor()
    await until('the server has heard of it', async () => (await client.get('/user')).status === 401)
  })

  it('a map with a missing part says so, and works after a reload', async () => {
    const page = await screens.open(`${server.url}/links`, { as: owner, mayFail: /overlay-/, map: 'still' })
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
    await page.route('**/assets/overlay-*', route => route.abort())
    await page.reload()
    await page.getByRole('link', { name: 'Live map' }).click()
    await page.getByText('Part of this page couldn’t be loaded').waitFor()
    await page.unroute('**/assets/overlay-*')
    await page.getByRole('link', { name: 'Reload' }).click()
    await page.locator('.maplibregl-canvas').waitFor()
  })

  it('an invalid day in the address means today', async () => {
    const page = await screens.open(`${server.url}/playback`, { as: owner })
    const day = () => page.locator('.day-picker').getByRole('group').innerText()
    const today = await day()
    for (const none of ['2026-02-30', '2025-02-29', '2026-04-31', '2026-13-01', '1969-12-31', '9999-12-31']) {
      await goWithin(page, `/playback?day=${none}`)
      expect(await day()).toBe(today)
    }
    await goWithin(page, '/playback?day=2024-02-29')
    await until('a day that exists is shown', async () => (await day()) !== today)
  })

  it('the sign-in leads only to pages of this origin, however the address is written', async () => {
    // The way in has no live socket: one that is just being opened is closed again.
    const page = await screens.open(`${server.url}/links`, {
      as: owner,
      mayFail: /WebSocket is closed before/,
    })
    const elsewhere = ['//a.example', '/\\a.example', '/\t/a.example', '/\n/a.example', '/\r/a.example']
    for (const next of [...elsewhere, 'https://a.example/', 'javascript:alert(1)', 'http://[']) {
      await goWithin(page, '/links')
      await goWithin(page, `/sign-in?next=${encodeURIComponent(next)}`)
      await page.getByRole('heading', { name: /^(Live map|Something went wrong on this page)$/ }).waitFor()
      expect(new URL(page.url()).origin).toBe(server.url)
      expect(await page.getByRole('heading', { name: 'Something went wrong' }).count()).toBe(0)
    }
    await page.goto(`${server.url}/sign-in?next=/.//a.example`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    expect(page.url()).toBe(`${server.url}/a.example`)
    await page.goto(`${server.url}/sign-in?next=${encodeURIComponent('/hubs?search=north')}`)
    await page.getByRole('heading', { name: 'Hubs' }).waitFor()
    expect(page.url()).toBe(`${server.url}/hubs?search=north`)
  })

  it('no number of a device widens a page, and impossible numbers are not shown', async () => {
    const { id, key } = await createDevice(owner, 'Van 7')
    const many = 3e38
    const point = { lat: 48, lng: 11, timestamp: Date.now(), speed: many, accuracy: many, altitude: many }
    const sent = await createClient(server, key).post('/location-history/bulk', { points: [point] })
    expect(sent.status).toBe(200)
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const link = await owner.post('/tracking-link', { subjectType: 'device', subjectId: id, expiresAt })
    const size = { width: 390, height: 800 }
    const page = await screens.open(`${server.url}/?subject=${id}`, { as: owner, size })
    const tooWide = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('html, main, .panel, .panel-state, .card')]
          .filter(one => one.scrollWidth > one.clientWidth + 1)
          .map(one => one.className || one.tagName),
      )
    const panel = page.getByRole('complementary', { name: 'Van 7' })
    await panel.getByText('Accuracy').waitFor()
    expect(await tooWide()).toEqual([])
    expect(await panel.innerText()).not.toMatch(/\d{3},\d{3},\d{3}/)
    await page.goto(`${server.url}/playback?subject=device:${id}`)
    await page.getByRole('slider').waitFor()
    expect(await tooWide()).toEqual([])
    await page.goto(`${server.url}${new URL(link.body.data.url).pathname}`)
    await page.getByRole('heading', { name: 'Van 7' }).waitFor()
    await page.locator('.sentence').filter({ hasText: /./ }).waitFor()
    expect(await tooWide()).toEqual([])
  })

  describe('with the maximum of 2,000 geofences', () => {
    const ALL = 2_000
    const PAGE = 500
    /** The pages that the server returns; a repeated request is held back. */
    const answerFences = async (page: Page, beforeLast: Promise<void>) =>
      page.route('**/api/v3/geofences?*', async route => {
        const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
        const data = Array.from({ length: PAGE }, (_, index) => {
          const at = from + index
          const center = { lat: 48 + Math.floor(at / 50) / 50, lng: 11 + (at % 50) / 50 }
          return {
            _id: `00000000-0000-7000-8000-${String(at).padStart(12, '0')}`,
            name: `Yard ${String(at).padStart(4, '0')}`,
            hubId: null,
            shape: { type: 'circle', center, radius: 500 },
          }
        })
        const isLast = from + PAGE >= ALL
        if (isLast) await beforeLast
        const nextCursor = isLast ? null : String(from + PAGE)
        await route.fulfill({
          json: { status: true, message: '', data, pagination: { limit: PAGE, nextCursor } },
        })
      })

    it('shows the loaded geofences before all of them are loaded', async () => {
      let answer = () => {}
      const page = await screens.open('about:blank', { as: owner })
      await answerFences(page, new Promise(done => (answer = () => done())))
      await page.goto(`${server.url}/?fence=00000000-0000-7000-8000-000000000007`)
      await page.getByRole('complementary', { name: 'Yard 0007' }).waitFor()
      // A geofence that may still be loaded must not be reported as missing.
      await page.goto(`${server.url}/?fence=00000000-0000-7000-8000-000000001999`)
      await page.getByRole('button', { name: / Area$/ }).waitFor()
      expect(await page.getByRole('complementary').count()).toBe(0)
      answer()
      await page.getByRole('complementary', { name: 'Yard 1999' }).waitFor()
    })

    it('finds an area by a few letters, in a list of bounded length', async () => {
      const page = await screens.open('about:blank', { as: owner })
      await answerFences(page, Promise.resolve())
      await page.goto(server.url)
      const area = page.getByRole('button', { name: / Area$/ })
      await isLive(page)
      await area.click()
      await page.getByRole('option', { name: 'Yard 0001' }).waitFor()
      expect(await page.getByRole('option', { name: 'Yard' }).count()).toBe(100)
      await page.keyboard.type('1987')
      await page.getByRole('option', { name: 'Yard 1987' }).waitFor()
      await page.getByRole('option', { name: 'Yard 0001' }).waitFor({ state: 'detached' })
      // Enter chooses the highlighted one, which is highlighted a moment after it is found.
      await page.locator('[role=option][data-focused]').getByText('Yard 1987').waitFor()
      await page.keyboard.press('Enter')
      await area.getByText('Yard 1987').waitFor()
      expect(new URL(page.url()).searchParams.get('area')).toBe('fence:00000000-0000-7000-8000-000000001987')
    })
  })
})
