import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addPerson } from '../support/people.ts'
import { OWNER, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, findBarriersInThemes, hasFocus, startLastingServer, useBrowser } from './browser.ts'
import { whileSending } from './while-sending.ts'

const POLLED = { timeout: 60_000 }

describe('Signing in to the console', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'none' })

  beforeAll(async () => {
    const owner = await signIn(server)
    const other = { organizationName: 'Southwind', hubName: 'Depot', hubLat: 48.1, hubLng: 11.5 }
    const made = await owner.post('/organization', other)
    expect(made.status).toBe(201)
    // Back, so that the next sign-in leads to this organization.
    const client = createClient(server, made.body.token)
    const { organizationId } = made.body.organizations.find(
      (one: { organizationName: string }) => one.organizationName === 'My organization',
    )
    expect((await client.post('/auth/switch-organization', { organizationId })).status).toBe(200)
  })

  const enter = async (page: Page, who = OWNER) => {
    await page.getByLabel('E-mail').fill(who.email)
    await page.getByLabel('Password').fill(who.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const openAs = async (path: string, more: object = {}): Promise<[Page, Client]> => {
    const as = await signIn(server)
    return [await screens.open(`${server.url}${path}`, { as, ...more }), as]
  }
  const MAY_BE_REFUSED = { mayFail: /401/ }
  const chooseInAccount = async (page: Page, section: string, name: string) => {
    await page.getByRole('button', { name: /^(Account of|Konto von)/ }).click()
    await page.getByRole('group', { name: section }).getByRole('menuitemradio', { name }).click()
    await page.keyboard.press('Escape')
  }
  const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()

  it('leads through a wrong and the right password to the address of the link', async () => {
    const page = await screens.open(`${server.url}/links`, { mayFail: /401/ })
    await enter(page, { ...OWNER, password: 'a wrong password' })
    await page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor()
    await enter(page)
    await hasFocus(page, 'Tracking links')
    expect(new URL(page.url()).pathname).toBe('/links')
  })

  it('leads back to the same page after a session has ended elsewhere', async () => {
    const [page, client] = await openAs('/?state=idle&sort=speed', MAY_BE_REFUSED)
    await isLive(page)
    await client.post('/auth/logout')
    await page.getByText('Sign in to continue where you left off.').waitFor()
    await enter(page)
    await isLive(page)
    expect(new URL(page.url()).search).toBe('?state=idle&sort=speed')
  })

  it('keeps unsaved input for the same account, and for no other, when the session ends elsewhere', async () => {
    const page = await screens.open(`${server.url}/teams`, { mayFail: /401/ })
    await enter(page)
    const form = page.getByRole('dialog', { name: 'Add team' })
    const name = form.getByRole('textbox', { name: 'Name' })
    /** Signs out elsewhere; then nothing of the page is visible or reachable. */
    const end = async () => {
      // An open socket is told of it. While one opens, only the next request learns it.
      await page.getByRole('status', { includeHidden: true }).getByText('Live').waitFor({ state: 'attached' })
      await signOut()
      await page.getByText('Sign in to continue where you left off.').waitFor()
      expect(await page.getByRole('textbox').count()).toBe(2)
      expect(await form.or(page.getByRole('link')).count()).toBe(0)
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+k')
      expect(await findBarriers(page)).toEqual([])
    }
    const signOut = async () => {
      const { token } = await page.evaluate(() => JSON.parse(localStorage.getItem('fieldline.session') ?? ''))
      await createClient(server, token).post('/auth/logout')
    }
    await page.getByRole('button', { name: 'Add team' }).click()
    const team = `Night shift ${Date.now()}`
    await name.fill(team)
    await end()
    await enter(page)
    await form.waitFor()
    expect(await name.inputValue()).toBe(team)
    await until('the focus is in it', () => form.evaluate(one => one.contains(document.activeElement)))

    // The session may end during a save.
    const endFirst = (route: Route) => signOut().then(() => route.continue())
    await page.route('**/api/v3/team', endFirst, { times: 1 })
    await form.getByRole('button', { name: 'Save' }).click()
    await enter(page)
    await form.waitFor()
    expect(await form.getByRole('alert').count()).toBe(0)
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: team }).waitFor()

    // A tab that signs in again continues as well; another account sees none of it.
    const other = await page.context().newPage()
    await page.getByRole('button', { name: 'Add team' }).click()
    await name.fill('Day shift')
    await end()
    await other.goto(server.url)
    await enter(other)
    await form.waitFor()
    expect(await name.inputValue()).toBe('Day shift')
    await end()
    await enter(page, await addPerson(server, await signIn(server)))
    await hasFocus(page, 'Live map')
    await page.getByRole('button', { name: 'Account of Person' }).waitFor()
    await page.getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    expect(await page.locator('[role=dialog]').count()).toBe(0)
  })

  it('switches the organization of one tab, also its live socket, and leaves the others alone', async () => {
    const [page, client] = await openAs('/?state=idle', MAY_BE_REFUSED)
    await isLive(page)
    const other = await page.context().newPage()
    await other.goto(server.url)
    await page.getByRole('button', { name: /My organization/ }).click()
    await page.getByRole('menuitemradio', { name: /Southwind/ }).click()
    await page.getByRole('button', { name: /Southwind/ }).waitFor()
    await isLive(page)
    await isLive(other)
    expect(await other.getByRole('button', { name: /My organization/ }).count()).toBe(1)
    expect((await client.get('/user')).status).toBe(200)
    expect(new URL(page.url()).search).toBe('')
  })

  const type = async (page: Page, text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or go to…' }).waitFor()
    await page.keyboard.type(text)
  }
  const results = (page: Page) => page.getByRole('option').allInnerTexts()
  /** Enter acts on the entry in front, so the test waits for the right one. */
  const chooseFirst = async (page: Page, name: string) => {
    await page.locator('[role=option][data-focused]').getByText(name, { exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('combobox', { name: 'Search or go to…' }).waitFor({ state: 'detached' })
  }

  it('opens everything by a few letters: records on the server, pages, and actions', async () => {
    // A request during the switch may carry the token that has just ended.
    const [page, client] = await openAs('/links', MAY_BE_REFUSED)
    const device = await createDevice(client, `Tracker ${Date.now()}`)
    const { name } = (await client.get(`/device/${device.id}`)).body.data
    // A sign-in leads to the last organization of the account.
    const organizations = (await client.get('/auth/my-organizations')).body.data
    const isHere = (one: { isCurrent: boolean }) => one.isCurrent
    const here = organizations.find(isHere).organizationName
    const there = here === 'Southwind' ? 'My organization' : 'Southwind'
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()

    await type(page, name.toLowerCase())
    await chooseFirst(page, name)
    await page.getByRole('main').getByRole('heading', { name, exact: true }).waitFor()
    await page.waitForURL(url => url.pathname === `/devices/${device.id}`)
    await type(page, 'hub')
    await chooseFirst(page, 'Hubs')
    await page.getByRole('heading', { name: 'Hubs' }).waitFor()
    await type(page, 'add dev')
    await chooseFirst(page, 'Add device')
    await page.getByRole('dialog', { name: 'Add device' }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()

    await page.getByRole('button', { name: 'Search Ctrl K' }).click()
    await page.getByRole('group', { name: 'Recent' }).waitFor()
    await expect
      .poll(async () => (await results(page)).slice(0, 3).map(text => text.split('\n')[0]), POLLED)
      .toEqual(['Add device', 'Hubs', name])
    await page.keyboard.type('no such thing')
    await page.getByRole('status').getByText('No matches').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await until('the focus is where it was', async () => (await focused()) === 'SearchCtrl K')

    await type(page, 'da theme')
    await chooseFirst(page, 'Theme: Dark')
    await page.locator('html[data-theme="dark"]').waitFor()
    await type(page, 'deu')
    await chooseFirst(page, 'Language: Deutsch')
    await page.getByRole('heading', { name: 'Geräte' }).waitFor()
    await page.getByRole('button', { name: 'Suchen Ctrl K' }).click()
    await page.keyboard.type('engl')
    await page.getByRole('option', { name: 'Sprache: English' }).click()

    await type(page, there)
    await chooseFirst(page, `Switch to ${there}`)
    await page.getByRole('button', { name: there }).waitFor()
    await isLive(page)
    // Names of one organization are not shown in another.
    await page.getByRole('button', { name: 'Search Ctrl K' }).click()
    await page.getByRole('option', { name: 'Hubs' }).waitFor()
    expect((await results(page)).join()).not.toContain(name)
    await page.keyboard.press('Escape')
    await type(page, here)
    await chooseFirst(page, `Switch to ${here}`)
    await page.getByRole('button', { name: here }).waitFor()
    await isLive(page)
    await type(page, 'sign')
    await chooseFirst(page, 'Sign out')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate(() => localStorage.getItem('fieldline.recent'))).toBeNull()
  })

  it('keeps the token out of addresses and cookies, and from other origins', async () => {
    const [page] = await openAs('/')
    await isLive(page)
    expect(await page.context().cookies()).toEqual([])
    expect(page.url()).not.toContain('eyJ')
    const read = () => localStorage.getItem('fieldline.session')
    expect(await page.evaluate(read)).toContain('eyJ')
    // The same server under another name is another origin.
    const elsewhere = await screens.open(server.url.replace('127.0.0.1', 'localhost'), { mayFail: /./ })
    expect(await elsewhere.evaluate(read)).toBeNull()
  })

  it('keeps the chosen theme and language', async () => {
    const [page] = await openAs('/links', { map: 'still' })
    const ground = () =>
      page.evaluate(() => getComputedStyle(document.body.parentElement as Element).backgroundColor)
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
    const light = await ground()
    await page.emulateMedia({ colorScheme: 'dark' })
    await until('it is dark as the system is', async () => (await ground()) !== light)
    await page.emulateMedia({ colorScheme: 'light' })
    await until('it is light as the system is', async () => (await ground()) === light)
    await chooseInAccount(page, 'Theme', 'Dark')
    await until('it is dark', async () => (await ground()) !== light)
    await chooseInAccount(page, 'Language', 'Deutsch')
    await page.getByRole('heading', { name: 'Tracking-Links' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Tracking-Links' }).waitFor()
    expect(await ground()).not.toBe(light)
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de')
    // Parts of libraries, menus and the map, use it too, whatever the browser's language.
    await page.goto(server.url)
    await page.getByRole('region', { name: 'Karte', exact: true }).waitFor()
    await page.getByRole('button', { name: /^Konto von/ }).click()
    await page.getByRole('button', { name: 'Schließen' }).first().waitFor({ state: 'attached' })
    expect(await page.getByRole('button', { name: 'Dismiss' }).count()).toBe(0)
  })

  const send = async (to: Pick<Server, 'url'>, device: TestDevice, point: object) => {
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString(), ...point }]
    const answer = await createClient(to, device.key).post('/location-history/bulk', { points })
    expect(answer.status).toBe(200)
  }

  it('shows since when a killed server is offline, catches up with its cursor, and misses nothing', async () => {
    const { server: lasting, restart, remove } = await startLastingServer()
    try {
      const owner = await signIn(lasting())
      const van = await createDevice(owner, 'Van 7')
      const mayFail = /WebSocket|ERR_|[Ff]ailed to (load|fetch)/
      const page = await screens.open('about:blank', { as: owner, mayFail, map: 'still' })
      const panel = page.getByRole('complementary', { name: 'Van 7' })
      const drive = () => send(lasting(), van, { speed: 10 })
      await whileSending(drive, async () => {
        await page.goto(`${lasting().url}/?subject=${van.id}`)
        await panel.getByText('36 km/h').first().waitFor()
      })
      const shape = { type: 'circle', center: { lat: 52.52, lng: 13.4 }, radius: 1_000 }
      const fence = (await owner.post('/geofence', { name: 'Depot', shape })).body.data._id
      const watching = await screens.open(`${lasting().url}/?fence=${fence}`, { as: owner, mayFail })
      await watching.getByText('No events yet.').waitFor()
      const drawing = await screens.open('about:blank', { as: owner, mayFail })
      await drawing.clock.install()
      await drawing.goto(`${lasting().url}/?fence=new`)
      await drawing.getByRole('textbox', { name: 'Name' }).fill('Half typed')
      await isLive(drawing)
      // A minute after its fix it would be idle, and three pages have opened since.
      await send(lasting(), van, { speed: 11 })
      await panel.getByText('40 km/h').first().waitFor()
      await page.evaluate(() => {
        const { uniform3fv } = WebGL2RenderingContext.prototype
        WebGL2RenderingContext.prototype.uniform3fv = function (place, values, ...more) {
          const colors = [...values]
          if (colors.length === 9)
            Object.assign(globalThis, {
              isGrey: `${colors}` === `${colors.map((_, at) => colors[6 + (at % 3)])}`,
            })
          uniform3fv.call(this, place, values, ...more)
        }
      })
      const isGrey = (grey: boolean) =>
        until(`the markers are ${grey ? 'grey' : 'coloured'}`, () =>
          page.evaluate(wanted => (globalThis as { isGrey?: boolean }).isGrey === wanted, grey),
        )
      await lasting().kill9()
      // A second look sends the request again, also after a failure: the shown data stays.
      let failures = 0
      drawing.on('requestfailed', request => {
        if (new URL(request.url()).pathname === '/api/v3/user') failures++
      })
      await drawing.clock.fastForward(60_000)
      await until('it asks', async () => {
        await drawing.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
        return failures > 0
      })
      await page
        .getByRole('status')
        .getByText(/^Offline since \d\d:\d\d/)
        .waitFor()
      await panel.getByText('40 km/h').first().waitFor()
      const bar = page.getByRole('main').getByText('Showing the last known state.')
      await bar.waitFor()
      await isGrey(true)
      expect(await findBarriers(page)).toEqual([])
      // There are seconds between the two times.
      await until('it was asked once more than what gives up', async () => {
        await drawing.clock.fastForward(5_000)
        return failures > 4
      })
      await restart()
      await send(lasting(), van, { speed: 20 })
      await isLive(page)
      await panel.getByText('72 km/h').first().waitFor()
      await isGrey(false)
      expect(await bar.count()).toBe(0)
      await send(lasting(), van, { lat: 52.54, speed: 20 })
      await watching.getByText('Van 7 left').waitFor()
      expect(await drawing.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Half typed')
      await isLive(drawing)
    } finally {
      await remove()
    }
  })

  it('does not lose input by a key or by a click beside it', async () => {
    const page = await screens.open(`${server.url}/hubs/new`, { as: await signIn(server) })
    const address = page.getByRole('combobox', { name: 'Address' })
    await address.fill('Harbour 5')
    for (const leave of [() => page.keyboard.press('Escape'), () => page.mouse.click(5, 5)]) {
      await leave()
      await page.getByText('You have unsaved changes.').waitFor()
      await hasFocus(page, 'Keep editing')
      expect(await findBarriers(page)).toEqual([])
      await page.keyboard.press('Enter')
      await page.getByText('You have unsaved changes.').waitFor({ state: 'detached' })
      expect(await address.inputValue()).toBe('Harbour 5')
    }
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // Without input there is no question.
    await page.getByRole('button', { name: 'Add hub' }).click()
    await address.waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await hasFocus(page, 'Add hub')
  })

  it('shows a page for a wrong link', async () => {
    const [page] = await openAs('/nowhere', { mayFail: /404/ })
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByRole('link', { name: 'Go to the live map' }).click()
    await page.getByRole('heading', { name: 'Live map' }).waitFor()
  })

  it('is accessible', async () => {
    const page = await screens.open(`${server.url}/sign-in`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    const [inside] = await openAs('/', { map: 'still' })
    await isLive(inside)
    expect(await findBarriersInThemes(inside)).toEqual([])
    await inside.getByRole('button', { name: /^Account of/ }).click()
    await inside.getByRole('menu').waitFor()
    expect(await findBarriersInThemes(inside)).toEqual([])
    await inside.keyboard.press('Escape')
    await inside.setViewportSize({ width: 390, height: 844 })
    await type(inside, 'de')
    await inside.getByRole('option', { name: 'Devices' }).waitFor()
    expect(await findBarriersInThemes(inside)).toEqual([])
    expect(await inside.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })
})
