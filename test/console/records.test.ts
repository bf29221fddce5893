import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { until } from '../support/wait.ts'
import { findBarriers, findBarriersInThemes, hasFocus, useBrowser } from './browser.ts'

describe('The tables of the console', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'none' })
  let owner: Client

  beforeAll(async () => {
    owner = await signIn(server)
  })

  const choose = async (page: Page, field: string, name: string) => {
    await page.getByRole('dialog').getByRole('button', { name: field }).click()
    await page.getByRole('option', { name }).click()
  }
  const field = (page: Page, name: string) => page.getByRole('dialog').getByLabel(name, { exact: true })
  const save = (page: Page) => page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  const row = (page: Page, name: string | RegExp) => page.getByRole('row', { name })

  it('make, change and delete records, with what the server says at the field', async () => {
    const page = await screens.open(`${server.url}/hubs`, { as: owner, mayFail: /400/ })
    await page.getByText('Nothing here yet').waitFor()
    await page.getByRole('button', { name: 'Add hub' }).click()
    await field(page, 'Name').fill('Depot')
    await field(page, 'Latitude').fill('95')
    await field(page, 'Longitude').fill('13,4')
    await save(page)
    await page.getByText('Must be at most 90.').waitFor()
    await field(page, 'Latitude').fill('52.5')
    await save(page)
    await row(page, /Depot/).waitFor()
    expect((await owner.get('/hubs')).body.data).toMatchObject([{ name: 'Depot', lat: 52.5, lng: 13.4 }])

    await page.getByRole('link', { name: 'Vehicles' }).click()
    await page.getByRole('button', { name: 'Add vehicle' }).click()
    await field(page, 'Name').fill('Van 7')
    await field(page, 'Tags').fill(`cold, ${'tall'.repeat(50)}`)
    await choose(page, 'Hub', 'Depot')
    await choose(page, 'Driver', 'Owner')
    await save(page)
    await page.getByText(/^2: Use at most \d+ characters/).waitFor()
    await page.locator('input:focus').fill('cold, tall')
    await save(page)
    await row(page, /Van 7.*Owner.*Depot.*cold, tall/).waitFor()
    await row(page, /Van 7/).click()
    await field(page, 'Plate').fill('B-FL 7')
    await save(page)
    await row(page, /Van 7 B-FL 7 Owner/).waitFor()

    await page.getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('button', { name: 'Add team' }).click()
    await field(page, 'Name').fill('North')
    await page.getByRole('dialog').getByText('Owner', { exact: true }).click()
    await save(page)
    await row(page, /North 1/).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Delete North? Its members are kept.').waitFor()
    // Enter answers what changes nothing, and leads back to the button that asked.
    await hasFocus(page, 'Cancel')
    await page.keyboard.press('Enter')
    await hasFocus(page, 'Delete')
    await page.keyboard.press('Enter')
    await page.getByText('Delete North? Its members are kept.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Nothing here yet').waitFor()
    expect((await owner.get('/teams')).body.data).toEqual([])
  })

  it('a button that is held down while the list answers is pressed, though nothing is in the list', async () => {
    const page = await screens.open('about:blank', { as: owner })
    const asked: Route[] = []
    await page.route('**/api/v3/teams?**', route => void asked.push(route))
    await page.goto(`${server.url}/teams`)
    await page.getByRole('button', { name: 'Add team' }).hover()
    await page.mouse.down()
    await until('the list is asked for', () => asked.length > 0)
    for (const route of asked) await route.continue()
    await page.getByText('Nothing here yet').waitFor()
    await page.mouse.up()
    await page.getByRole('dialog', { name: 'Add team' }).waitFor()
  })

  it('a device gets a new key, and what it sent in vain is listed by reason', async () => {
    const device = await createDevice(owner, 'Tracker 1')
    const at = (lat: number) => ({ lat, lng: 13, timestamp: new Date().toISOString() })
    const statusOf = async (secret: string, points: object[] = [at(52)]) =>
      (await createClient(server, secret).post('/location-history/bulk', { points })).status
    expect(await statusOf(device.key, [at(95), at(52)])).toBe(200)
    const page = await screens.open(`${server.url}/devices?search=tracker`, { as: owner })
    await row(page, /Tracker 1/).click()
    expect(new URL(page.url()).pathname).toBe(`/devices/${device.id}`)
    await page.getByRole('status').getByText('Live').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'New key' }).click()
    await page.getByText('Create a new key for Tracker 1? The device can’t send until').waitFor()
    // Asked, nothing has happened yet.
    expect(await statusOf(device.key, [])).not.toBe(401)
    await page.getByRole('alert').getByRole('button', { name: 'New key' }).click()
    const setup = page.getByRole('dialog', { name: 'Set up Tracker 1' })
    // What it has sent before is no sign that the new key is in it.
    await setup.getByText('Waiting for the first position…').waitFor()
    await setup.getByRole('button', { name: 'Copy Password' }).click()
    const key = await page.evaluate(() => navigator.clipboard.readText())
    expect(key).not.toBe(device.key)
    expect(await statusOf(device.key)).toBe(401)
    // Shown this once, it goes neither with a click beside it nor with a key.
    await page.mouse.click(5, 5)
    await page.keyboard.press('Escape')
    await setup.getByText('Waiting for the first position…').waitFor()
    await until('what it sends with the new key has arrived', async () => {
      expect(await statusOf(key)).toBe(200)
      return (await setup.getByText(/^First position received at/).count()) > 0
    })
    await page.keyboard.press('Escape')
    await setup.waitFor({ state: 'detached' })
    await row(page, /Tracker 1/).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rejected points' }).click()
    await page.getByRole('radio', { name: 'Invalid coordinates 1' }).click()
    await row(page, /Invalid coordinates/).waitFor()
    expect(new URL(page.url()).search).toBe(`?device=${device.id}&reason=bad-coordinates`)
  })

  it('read as far as somebody scrolls, and are found by name', async () => {
    for (let index = 0; index < 60; index++) await createDevice(owner, `Bulk ${index}`)
    const page = await screens.open(`${server.url}/devices`, { as: owner })
    await row(page, /Bulk 0/).waitFor()
    await row(page, /Bulk 0/).focus()
    // More than a page of the interface has, and than is drawn at once.
    for (let step = 0; step < 61 && (await row(page, /Tracker 1/).count()) === 0; step++) {
      await page.keyboard.press('ArrowDown')
    }
    await row(page, /Tracker 1/).waitFor()
    const table = page.getByRole('table', { name: 'Devices' })
    const all = (await owner.get('/devices?limit=500')).body.data.length
    await until('it says how many there are', async () => {
      await page.keyboard.press('End')
      return (await table.getAttribute('aria-rowcount')) === String(all + 1)
    })
    await page.keyboard.press('End')
    const hasRow = (index: number) =>
      until(`row ${index} has the focus`, () =>
        page.evaluate(
          wanted => document.activeElement?.getAttribute('aria-rowindex') === wanted,
          String(index),
        ),
      )
    await hasRow(all + 1)
    await page.keyboard.press('Home')
    await hasRow(2)
    await page.keyboard.press('PageDown')
    await page.keyboard.press('PageUp')
    await hasRow(2)
    // Scrolled away by hand, the row with the focus is not drawn any more: the next key goes on from there.
    await page.mouse.move(500, 400)
    await until('the first row is not drawn', async () => {
      await page.mouse.wheel(0, 4_000)
      return (await row(page, /Bulk 0/).count()) === 0
    })
    await page.keyboard.press('ArrowDown')
    await hasRow(3)
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('bulk 59')
    await row(page, /Bulk 59/).waitFor()
    await row(page, /Bulk 5 /).waitFor({ state: 'detached' })
  })

  it('choose another record among more than a list answers at once, by what the server finds', async () => {
    const word = `zebra${Date.now()}`
    const made = Array.from({ length: 510 }, (_, index) => ({
      name: index === 0 ? `Yard of ${word}` : `Hub ${Date.now()} ${index}`,
      lat: 52,
      lng: 13,
    }))
    while (made.length > 1) {
      const answers = await Promise.all(made.splice(1, 30).map(hub => owner.post('/hub', hub)))
      expect(answers.map(({ status }) => status)).not.toContain(400)
    }
    const last = made[0] as { name: string }
    expect((await owner.post('/hub', last)).status).toBe(201)
    const page = await screens.open(`${server.url}/vehicles/new`, { as: owner })
    const plate = `Z-${Date.now()}`
    await field(page, 'Name').fill('Van 99')
    await field(page, 'Plate').fill(plate)
    await page.getByRole('dialog').getByRole('button', { name: 'Hub' }).click()
    await page
      .getByRole('option', { name: /^Hub \d+ / })
      .first()
      .waitFor()
    expect(await page.getByRole('option', { name: last.name }).count()).toBe(0)
    // The answers come when nobody types any more, also those to the first letters of it.
    const asked: Route[] = []
    await page.route(/search=z/, route => void asked.push(route))
    await page.keyboard.type(word)
    await page.getByText('No matches').waitFor()
    await until('all of it is asked for', () => asked.some(route => route.request().url().includes(word)))
    for (const route of asked) await route.continue().catch(() => undefined)
    await page.locator('[role=option][data-focused]').getByText(last.name).waitFor()
    // What is said of it follows half a second later, so that it does not talk into the typing.
    await until('the found one is said', () =>
      page.evaluate(() => {
        const id = document.activeElement?.getAttribute('aria-activedescendant')
        return Boolean(id && document.getElementById(id))
      }),
    )
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `${last.name} Hub` })
      .waitFor()
    await save(page)
    await row(page, new RegExp(`Van 99 ${plate}.*${last.name}`)).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `${last.name} Hub` })
      .waitFor()
  })

  it('nothing is in the way of anybody', async () => {
    const page = await screens.open(`${server.url}/devices`, { as: owner })
    for (const [link, button] of [
      ['Devices', 'Add device'],
      ['Vehicles', 'Add vehicle'],
      ['Teams', 'Add team'],
      ['Hubs', 'Add hub'],
    ] as const) {
      await page.getByRole('link', { name: link }).click()
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('dialog').waitFor()
      expect([link, ...(await findBarriersInThemes(page))]).toEqual([link])
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
      expect([link, ...(await findBarriersInThemes(page))]).toEqual([link])
    }
    await page.getByRole('link', { name: 'Rejected points' }).click()
    await page.getByRole('heading', { name: 'Rejected points' }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  describe('with names as long as they may be', () => {
    const LONG = 'W'.repeat(100)
    let crowd: Client

    beforeAll(async () => {
      crowd = (await addOrganization(server, await signIn(server), { hubName: LONG })).client
      const device = await createDevice(crowd, LONG)
      const timestamp = new Date().toISOString()
      const points = [52.5, 95].map(lat => ({ lat, lng: 13.4, timestamp }))
      await createClient(server, device.key).post('/location-history/bulk', { points })
      const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 500 }
      const link = { subjectId: device.id, subjectType: 'device', trailMinutes: 60 }
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      for (const [path, body] of [
        ['/hub', { name: `${LONG.slice(1)}2`, lat: 52, lng: 13 }],
        ['/vehicle', { name: LONG, plate: 'W'.repeat(30), tags: [LONG] }],
        ['/team', { name: LONG }],
        ['/geofence', { name: LONG, shape }],
        ['/tracking-link', { ...link, expiresAt }],
      ] as const)
        expect([path, (await crowd.post(path, body)).status]).toEqual([path, 201])
    })

    /** The organization's language counts before the browser's. */
    const speak = async (language: string) =>
      expect((await crowd.patch('/organization', { language })).status).toBe(200)

    it('every page fits a phone, in German too: nothing is cut off, nothing is left out of its bar', async () => {
      const size = { width: 390, height: 844 }
      await speak('de')
      const page = await screens.open(`${server.url}/hubs`, { as: crowd, size, locale: 'de-DE' })
      await row(page, /WWW/).first().waitFor()
      await page.getByRole('button', { name: 'Mehr' }).click()
      await page.getByRole('menuitem', { name: 'Hubs' }).waitFor()
      const paths = await page.evaluate(() =>
        [...document.querySelectorAll('nav a[href], [role=menu] a[href]')].map(
          link => new URL((link as HTMLAnchorElement).href).pathname,
        ),
      )
      expect(new Set(paths)).toEqual(
        new Set(
          ['', 'playback', 'devices', 'vehicles', 'teams', 'hubs', 'geofences', 'links', 'rejections'].map(
            name => `/${name}`,
          ),
        ),
      )
      const { _id } = (await crowd.get('/devices')).body.data[0]
      for (const path of [...new Set(paths), `/?subject=${_id}`, `/playback?subject=device:${_id}`]) {
        await page.goto(server.url + path)
        await page.locator('h1').first().waitFor()
        if (path !== '/' && path !== '/playback')
          await page
            .getByText(path === '/rejections' ? /Ungültige/ : /WWW/)
            .locator('visible=true')
            .first()
            .waitFor()
        expect([path, ...(await findCutOff(page))]).toEqual([path])
      }
      await page.getByRole('radio', { name: '60' }).waitFor()
      await page.setViewportSize({ width: 768, height: 1_024 })
      expect(await findCutOff(page)).toEqual([])
    })

    it('the filters of the map stand beside each other, and a panel has two lines of a name', async () => {
      const { _id } = (await crowd.get('/devices')).body.data[0]
      for (const locale of ['en-GB', 'de-DE']) {
        const size = { width: 1_280, height: 720 }
        await speak(locale.slice(0, 2))
        const page = await screens.open(`${server.url}/?subject=${_id}`, { as: crowd, size, locale })
        const filters = page.locator('.list-filters > .field')
        await until('all four are there', async () => (await filters.count()) === 4)
        const boxes = await filters.evaluateAll(fields =>
          fields
            .flatMap(field => [field, ...field.querySelectorAll('button')])
            .map(one => {
              const { left, right, top, bottom } = one.getBoundingClientRect()
              return { left, right, top, bottom, of: one.closest('.field')?.getBoundingClientRect().toJSON() }
            }),
        )
        for (const { left, right, of } of boxes) {
          expect(left).toBeGreaterThanOrEqual(of.left - 0.5)
          expect(right).toBeLessThanOrEqual(of.right + 0.5)
        }
        const fields = boxes.filter((_, index) => index % 2 === 0)
        const overlap = fields.flatMap((a, index) =>
          fields
            .slice(index + 1)
            .filter(b => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top),
        )
        expect(overlap).toEqual([])
        const title = page.locator('.panel h2')
        await title.waitFor()
        expect((await title.boundingBox())?.height).toBeLessThan(60)
        expect(await findCutOff(page)).toEqual([])
      }
    })

    it('says what is not there, why, and leads on', async () => {
      await speak('en')
      const [device] = (await crowd.get('/devices?search=W')).body.data
      const silent = await createDevice(crowd, `Silent ${Date.now()}`)
      const hub = (await crowd.get('/hubs')).body.data.find(({ name }: { name: string }) =>
        name.endsWith('2'),
      )
      const nowhere = crypto.randomUUID()
      const page = await screens.open(`${server.url}/devices/${nowhere}`, { as: crowd, mayFail: /404/ })
      await page.getByRole('dialog').getByText('it was deleted, or your role').waitFor()
      await page.getByRole('button', { name: 'Back to Devices' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })

      await page.goto(`${server.url}/playback?subject=device:${nowhere}`)
      await page.getByRole('button', { name: 'Remove Unknown' }).waitFor()

      await page.goto(`${server.url}/?subject=${nowhere}`)
      await page
        .getByRole('complementary', { name: 'Not found' })
        .getByText('it was deleted, or your role')
        .waitFor()

      await page.goto(`${server.url}/?subject=${silent.id}`)
      const panel = page.getByRole('complementary', { name: /^Silent/ })
      await panel.getByText('No position received yet.').waitFor()
      await panel.getByRole('link', { name: 'Rejected points' }).waitFor()
      await panel.getByRole('button', { name: 'Set up' }).click()
      await page.getByRole('dialog', { name: /^Set up Silent/ }).waitFor()

      await page.goto(`${server.url}/?hub=${hub._id}&subject=${device._id}`)
      await page.getByRole('complementary').getByText('Hidden by the filters.').waitFor()
      expect(await findBarriers(page)).toEqual([])
      await page.locator('.list').getByRole('button', { name: 'Clear all filters' }).click()
      await page.getByRole('option', { name: /WWW/ }).waitFor()
      await page.getByRole('complementary').getByRole('button', { name: 'Follow' }).waitFor()

      // What has no words says at a glance what it is for.
      for (const name of ['Zoom in', 'Geofences on the map', 'Moving: 0']) {
        const button = page.getByRole(name === 'Moving: 0' ? 'radio' : 'button', { name })
        await button.hover()
        await until(`${name} is said`, () =>
          button.evaluate(one => {
            const { content, visibility } = getComputedStyle(one, '::after')
            return visibility === 'visible' && content === `"${one.ariaLabel}"`
          }),
        )
      }
    })
  })
})

/** What stands beside the window: the page itself, and whatever somebody presses or types into. */
async function findCutOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const reached = [...document.querySelectorAll('a[href], button, input, h1, h2')].filter(element => {
      const { left, right, width } = element.getBoundingClientRect()
      const isSeen = width > 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      return (
        isSeen && !element.closest('.skip, [aria-hidden=true]') && (left < -0.5 || right > clientWidth + 0.5)
      )
    })
    return [
      ...(scrollWidth > clientWidth ? [`the page: ${scrollWidth}`] : []),
      ...reached.map(element => `${element.tagName} ${element.textContent || element.ariaLabel}`),
    ]
  })
}
