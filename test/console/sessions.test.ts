import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, roleId } from '../support/people.ts'
import { OWNER } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'

describe('The session of a person', () => {
  const { server, database } = useServer()
  const screens = useBrowser({ map: 'none' })
  const MAY_BE_REFUSED = { mayFail: /40[13]|503/ }
  const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()
  const openTab = async (beside: Page, path: string) => {
    const tab = await beside.context().newPage()
    await tab.goto(`${server.url}${path}`)
    return tab
  }

  it('ends at once in every tab after signing out, and as soon as possible on the server', async () => {
    const client = await signIn(server)
    const page = await screens.open(server.url, { as: client, ...MAY_BE_REFUSED })
    await isLive(page)
    const other = await openTab(page, '/links')
    await other.getByRole('heading', { name: 'Tracking links' }).waitFor()
    const held: Route[] = []
    await page.route('**/auth/logout', route => void held.push(route))
    await page.getByRole('button', { name: /^Account of/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.getByText('Sign in to continue').count()).toBe(0)
    await other.getByRole('button', { name: 'Sign in' }).waitFor()
    expect((await client.get('/user')).status).toBe(200)
    // A busy server gets the request again.
    await until('it is asked', () => held.length === 1)
    await held[0]?.fulfill({ status: 503 })
    await until('it is asked again', () => held.length === 2)
    await held[1]?.continue()
    await until('the server has heard of it', async () => (await client.get('/user')).status === 401)
  })

  it('ends on a page whose live socket cannot be opened', async () => {
    const client = await signIn(server)
    const { hostname, port } = new URL(server.url)
    const proxy = createServer((asked, answer) => {
      const { method, url: path, headers } = asked
      const forward = request({ hostname, port, method, path, headers }, answered => {
        answer.writeHead(answered.statusCode ?? 502, answered.headers)
        answered.pipe(answer)
      })
      forward.on('error', () => answer.destroy())
      asked.pipe(forward)
    })
    proxy.on('upgrade', (_, socket) => socket.destroy())
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port: ownPort } = proxy.address() as AddressInfo
      const page = await screens.open(`http://127.0.0.1:${ownPort}`, { as: client, mayFail: /401|WebSocket/ })
      await page.getByRole('status').getByText('Offline').waitFor()
      expect((await client.post('/auth/logout')).status).toBe(200)
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
    } finally {
      proxy.closeAllConnections()
      proxy.close()
    }
  })

  it('shows only what a changed role may see, at once, and says that the role has changed', async () => {
    const owner = await signIn(server)
    const van = await createDevice(owner, 'Van 12')
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    const sent = await createClient(server, van.key).post('/location-history/bulk', { points })
    expect(sent.status).toBe(200)
    const shape = { type: 'circle', center: { lat: 52.52, lng: 13.4 }, radius: 1_000 }
    expect((await owner.post('/geofence', { name: 'Depot', shape })).status).toBe(201)
    const { client, userId } = await addPerson(server, owner)
    const become = async (role: string) => {
      const { status } = await owner.patch(`/user/${userId}`, { roleId: await roleId(owner, role) })
      expect(status).toBe(200)
    }
    const page = await screens.open(server.url, { as: client, ...MAY_BE_REFUSED })
    const link = (name: string) => page.getByRole('link', { name, exact: true })
    const said = page.getByRole('status').getByText('Your role has changed')
    await page.getByRole('option', { name: /Van 12/ }).waitFor()
    await link('Geofences').waitFor()
    await page.getByRole('button', { name: /Everywhere/ }).waitFor()
    expect(await said.count()).toBe(0)

    await become('Field user')
    await said.waitFor()
    await link('Geofences').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /Everywhere/ }).waitFor({ state: 'detached' })
    await page.getByText('Your role can’t add devices.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await said.locator('..').getByRole('button', { name: 'Close' }).click()
    await said.waitFor({ state: 'detached' })

    // Without a socket, the next refused request reveals it.
    await become('Planner')
    await page.reload()
    await link('Teams').click()
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    // It is opened in a thread, which no route of the page's own sockets reaches.
    await page.addInitScript(() => {
      globalThis.Worker = class extends EventTarget {
        postMessage() {}
        terminate() {}
      } as never
    })
    await page.reload()
    await page.getByRole('button', { name: 'Add team' }).first().click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('North')
    // A page that has waited for its socket for half a minute asks by itself, and then there is nothing to save.
    let letAsk = () => {}
    const held = new Promise<void>(resolve => {
      letAsk = resolve
    })
    await page.route('**/api/v3/user', route => held.then(() => route.continue()))
    await become('Field user')
    const refused = page.waitForResponse(answer => answer.status() === 403)
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await refused
    letAsk()
    await said.waitFor()
    await link('Geofences').waitFor({ state: 'detached' })
  })

  it('is renewed while a page is open, in every tab, and the live map goes on over the same socket', async context => {
    if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
    const client = await signIn(server)
    const page = await screens.open(server.url, { as: client, ...MAY_BE_REFUSED })
    await isLive(page)
    const db = await openTestDatabase(database)
    const claims = JSON.parse(Buffer.from(client.token.split('.')[1] as string, 'base64url').toString())
    await db.system.query(`UPDATE sessions SET expires_at = now() + interval '3 hours' WHERE id = $1`, [
      claims.jti,
    ])
    await db.close()
    const readStored = () => page.evaluate(() => JSON.parse(localStorage.getItem('fieldline.session') ?? ''))
    const other = await openTab(page, '/links')
    await other.getByRole('heading', { name: 'Tracking links' }).waitFor()
    // Without the other tab's help the first one would renew it within minutes: its session ends soon, as far as it knows.
    let sockets = 0
    page.on('websocket', () => sockets++)
    await page.evaluate(() => {
      const session = JSON.parse(localStorage.getItem('fieldline.session') ?? '')
      localStorage.setItem(
        'fieldline.session',
        JSON.stringify({ ...session, expiresAt: Date.now() + 60_000 }),
      )
    })
    // It is renewed at a random time: before the socket is open, that would end the token with which it opens.
    let letRenew = () => {}
    const held = new Promise<void>(resolve => {
      letRenew = resolve
    })
    await page.route('**/auth/renew', route => held.then(() => route.continue()))
    await page.reload()
    await isLive(page)
    letRenew()
    await until('it is renewed', async () => (await readStored()).token !== client.token)
    const { token } = await readStored()
    expect((await client.get('/user')).status).toBe(401)
    expect((await createClient(server, token).get('/user')).status).toBe(200)
    for (const tab of [page, other]) {
      await tab.getByRole('link', { name: 'Teams', exact: true }).click()
      await tab.getByRole('heading', { name: 'Teams' }).waitFor()
      await tab.getByRole('button', { name: 'Add team' }).first().waitFor()
    }
    await isLive(page)
    expect(sockets).toBe(1)
  })

  it('returns to the same map after a new sign-in, with an unfinished drawing', async () => {
    const page = await screens.open(`${server.url}/sign-in?next=/?fence=new`, {
      ...MAY_BE_REFUSED,
      map: 'still',
    })
    const enter = async () => {
      await page.getByLabel('E-mail').fill(OWNER.email)
      await page.getByLabel('Password').fill(OWNER.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await enter()
    const form = page.getByRole('complementary', { name: 'New geofence' })
    const field = (name: string) => form.getByRole('textbox', { name })
    await field('Name').fill('Yard')
    await isLive(page)
    const closer = page.getByRole('button', { name: 'Zoom in' })
    const scale = page.locator('.maplibregl-ctrl-scale')
    await until('it is looked at closely', async () => {
      await closer.click()
      return /^\d+\s?m$/.test(await scale.innerText())
    })
    /** The place in the world of a click on the same point of the screen. */
    const draw = async () => {
      const box = await page.getByRole('region', { name: /^Map of all/ }).boundingBox()
      if (!box) throw new Error('There is no map')
      const [x, y] = [box.x + box.width / 3, box.y + box.height / 3]
      await form.getByRole('radio', { name: 'Polygon' }).click()
      await form.getByRole('radio', { name: 'Circle' }).click()
      await until('a circle is drawn', async () => {
        await page.mouse.click(x, y)
        await page.mouse.move(x + 60, y, { steps: 3 })
        await page.mouse.click(x + 60, y)
        return (await field('Radius (m)').inputValue()) !== ''
      })
      const read = async (name: string) => Number(await field(name).inputValue())
      return { lat: await read('Latitude'), lng: await read('Longitude'), scale: await scale.innerText() }
    }
    const before = await draw()
    const { token } = await page.evaluate(() => JSON.parse(localStorage.getItem('fieldline.session') ?? ''))
    await createClient(server, token).post('/auth/logout')
    await page.getByText('Sign in to continue where you left off.').waitFor()
    await enter()
    await field('Name').waitFor()
    await isLive(page)
    // The map has a scale before anything can be drawn on it.
    await form.getByRole('button', { name: 'Center of the map' }).waitFor()
    const after = await draw()
    expect(after.scale).toBe(before.scale)
    expect(after.lat).toBeCloseTo(before.lat, 4)
    expect(after.lng).toBeCloseTo(before.lng, 4)

    // The corners of an unfinished shape return too.
    await form.getByRole('radio', { name: 'Polygon' }).click()
    const box = await page.getByRole('region', { name: /^Map of all/ }).boundingBox()
    if (!box) throw new Error('There is no map')
    for (const [x, y] of [
      [100, 200],
      [180, 200],
      [180, 280],
    ] as const)
      await page.mouse.click(box.x + x, box.y + y)
    const again = await page.evaluate(() => JSON.parse(localStorage.getItem('fieldline.session') ?? ''))
    await createClient(server, again.token).post('/auth/logout')
    await page.getByText('Sign in to continue where you left off.').waitFor()
    await enter()
    await field('Corners').waitFor()
    await isLive(page)
    const canvas = page.locator('canvas.maplibregl-canvas')
    await until('Enter closes what was begun', async () => {
      await canvas.focus()
      await page.keyboard.press('Enter')
      return (await field('Corners').inputValue()).split('\n').length === 3
    })
  })

  describe('in two organizations', () => {
    beforeAll(async () => {
      await addOrganization(server, await signIn(server), { organizationName: 'Southwind' })
    })
    const names = ['My organization', 'Southwind'] as const
    const menu = (page: Page) => page.getByRole('button', { name: /^Organization / })
    const choose = async (page: Page, to: string) => {
      await menu(page).click()
      await page.getByRole('menuitemradio', { name: to }).click()
    }
    const isIn = (page: Page, name: string) =>
      page.getByRole('button', { name: `Organization ${name}` }).waitFor()
    const change = async (page: Page, to: string) => {
      await choose(page, to)
      await isIn(page, to)
    }
    const enter = async (page: Page) => {
      await page.getByLabel('E-mail').fill(OWNER.email)
      await page.getByLabel('Password').fill(OWNER.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await menu(page).waitFor()
    }
    /** The names of the current organization and of the other one. */
    const namesAt = async (page: Page) => {
      const label = await menu(page).innerText()
      const [here, there] = label.includes(names[0]) ? names : ([names[1], names[0]] as const)
      return { here, there }
    }
    it('asks before unsaved input is lost by switching the organization or signing out', async () => {
      const page = await screens.open(`${server.url}/sign-in?next=/?fence=new`, MAY_BE_REFUSED)
      await enter(page)
      const { here, there } = await namesAt(page)
      const name = page.getByRole('textbox', { name: 'Name', exact: true })
      const answer = (text: string) => page.getByRole('alert').getByRole('button', { name: text })
      const command = async (text: string) => {
        await page.keyboard.press('Control+k')
        await page.getByRole('combobox', { name: 'Search or go to…' }).waitFor()
        await page.keyboard.type(text)
        await page.locator('[role=option][data-focused]').getByText(text, { exact: true }).waitFor()
        await page.keyboard.press('Enter')
      }
      await name.fill('Half typed')
      await choose(page, here)
      await choose(page, there)
      await page.getByRole('dialog', { name: `Switch to ${there}` }).waitFor()
      expect(await findBarriers(page)).toEqual([])
      await answer('Keep editing').click()
      await until('the menu has the focus again', () =>
        menu(page).evaluate(one => one === document.activeElement),
      )
      await name.focus()
      await command('Sign out')
      await page.getByRole('dialog', { name: 'Sign out' }).waitFor()
      await page.keyboard.press('Escape')
      await until('the field has the focus again', () => name.evaluate(one => one === document.activeElement))
      expect(await name.inputValue()).toBe('Half typed')
      await isIn(page, here)

      await command('Sign out')
      await answer('Discard').click()
      await enter(page)
      expect(await name.count()).toBe(0)
      // Over a dialog too.
      await page.goto(`${server.url}/teams/new`)
      await name.fill('North')
      await command(`Switch to ${there}`)
      await answer('Keep editing').click()
      await command(`Switch to ${there}`)
      await answer('Discard').click()
      await isIn(page, there)
      await change(page, here)
    })
  })
})
