import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { until } from '../support/wait.ts'
import { copiedBy, findBarriers, findBarriersInThemes, hasFocus, useBrowser } from './browser.ts'

describe('The tables of the console', () => {
  const { server, database } = useServer()
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

  it('create, change and delete records, with the server’s errors at the fields', async () => {
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
    await page.getByRole('group', { name: 'Members' }).getByText('Owner', { exact: true }).click()
    await save(page)
    await row(page, /North 1/).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Delete North? Its members are kept.').waitFor()
    // Enter takes the answer that changes nothing, and returns the focus to the button.
    await hasFocus(page, 'Cancel')
    await page.keyboard.press('Enter')
    await hasFocus(page, 'Delete')
    await page.keyboard.press('Enter')
    await page.getByText('Delete North? Its members are kept.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Nothing here yet').waitFor()
    expect((await owner.get('/teams')).body.data).toEqual([])
  })

  it('have the whole of a vehicle, in the units of the reader, and the leaders of a team', async () => {
    const plan = { constraints: { maxDistance: 250_000, maxDuration: 28_800, skills: ['lift'] } }
    const made = await owner.post('/vehicle', { name: 'Truck 3', speed: 10, ...plan })
    const { _id } = made.body.data
    const page = await screens.open(`${server.url}/vehicles/${_id}`, { as: owner })
    expect(await field(page, 'Average speed (km/h)').inputValue()).toBe('36')
    expect(await field(page, 'Route at most (km)').inputValue()).toBe('250')
    await field(page, 'Payload (kg)').fill('1200,5')
    await field(page, 'Mon').fill('8-12, 13:30–17')
    await page.getByRole('button', { name: 'Monday’s hours until Friday' }).click()
    await field(page, 'Sat').fill('morning')
    await save(page)
    await page.getByText('Write hours as 08:00–17:00').waitFor()
    await field(page, 'Sat').fill('')
    await save(page)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const shifts = ['mon', 'tue', 'wed', 'thu', 'fri'].flatMap(weekday => [
      { weekday, from: '08:00', to: '12:00' },
      { weekday, from: '13:30', to: '17:00' },
    ])
    expect((await owner.get(`/vehicle/${_id}`)).body.data).toMatchObject({
      ...plan,
      speed: 10,
      capacity: { weight: 1200.5, volume: null, units: null },
      workingHours: shifts,
    })

    await page.goto(`${server.url}/teams/new`)
    await field(page, 'Name').fill('South')
    await page.getByRole('group', { name: 'Leaders' }).getByText('Owner', { exact: true }).click()
    await save(page)
    await row(page, /South 1/).waitFor()
    const team = (await owner.get('/teams?search=South')).body.data[0]
    expect(team.leaderIds).toEqual(team.memberIds)
    expect(team.leaderIds).toHaveLength(1)
    await owner.delete(`/team/${team._id}`)
    await owner.delete(`/vehicle/${_id}`)
  })

  it('keep a button in place while an empty list is loaded', async () => {
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

  it('give a device a new key, and list its rejected points by reason', async () => {
    const device = await createDevice(owner, 'Tracker 1')
    const at = (lat: number) => ({ lat, lng: 13, timestamp: new Date().toISOString() })
    const statusOf = async (secret: string, points: object[] = [at(52)]) =>
      (await createClient(server, secret).post('/location-history/bulk', { points })).status
    expect(await statusOf(device.key, [at(95), at(52)])).toBe(200)
    const page = await screens.open(`${server.url}/devices?search=tracker`, { as: owner })
    await row(page, /Tracker 1/).click()
    await page.waitForURL(({ pathname }) => pathname === `/devices/${device.id}`)
    await page.getByRole('status').getByText('Live').waitFor()
    await page.getByRole('region', { name: 'Settings' }).getByRole('button', { name: 'New key' }).click()
    await page.getByText('Create a new key for Tracker 1? The device can’t send until').waitFor()
    // The question alone changes nothing.
    expect(await statusOf(device.key, [])).not.toBe(401)
    await page.getByRole('alert').getByRole('button', { name: 'New key' }).click()
    const setup = page.getByRole('dialog', { name: 'Set up Tracker 1' })
    // Earlier positions do not prove that the new key works.
    await setup.getByText('Waiting for the first position…').waitFor()
    const key = await copiedBy(setup, 'Copy Password')
    expect(key).not.toBe(device.key)
    expect(await statusOf(device.key)).toBe(401)
    // A secret is closed neither by a click beside it nor by a key.
    await page.mouse.click(5, 5)
    await page.keyboard.press('Escape')
    await setup.getByText('Waiting for the first position…').waitFor()
    await until('what it sends with the new key has arrived', async () => {
      expect(await statusOf(key)).toBe(200)
      return (await setup.getByText(/^First position received at/).count()) > 0
    })
    await page.keyboard.press('Escape')
    await setup.waitFor({ state: 'detached' })
    await page.getByRole('main').getByRole('link', { name: 'Rejected points' }).click()
    await page.getByRole('radio', { name: 'Invalid coordinates 1' }).click()
    await row(page, /Invalid coordinates/).waitFor()
    await page.waitForURL(({ search }) => search === `?device=${device.id}&reason=bad-coordinates`)
  })

  it('load pages as they are scrolled, and find records by name', async () => {
    for (let index = 0; index < 60; index++) await createDevice(owner, `Bulk ${index}`)
    const page = await screens.open(`${server.url}/devices`, { as: owner })
    await row(page, /Bulk 0/).waitFor()
    await row(page, /Bulk 0/).focus()
    // More than a page of the API has, and than is rendered at once.
    await until('the arrow keys have led there', async () => {
      await page.keyboard.press('ArrowDown')
      return (await row(page, /Tracker 1/).count()) > 0
    })
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
    // Scrolled away by hand, the focused row is no longer rendered: the next key continues from it.
    await page.mouse.move(500, 400)
    let top = 0
    await until('the first row is not drawn, and the table stands still', async () => {
      const before = top
      top = await table.evaluate(one => one.parentElement?.scrollTop ?? 0)
      if (top === 0) await page.mouse.wheel(0, 4_000)
      return top > 0 && top === before && (await row(page, /Bulk 0/).count()) === 0
    })
    await page.keyboard.press('ArrowDown')
    await hasRow(3)
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('bulk 59')
    await row(page, /Bulk 59/).waitFor()
    await row(page, /Bulk 5 /).waitFor({ state: 'detached' })
  })

  it('choose a related record by the server’s search, among more than a list returns at once', async () => {
    const word = `zebra${Date.now()}`
    const { organizationId, _id: ownId } = (await owner.get('/user')).body.data
    const db = await openTestDatabase(database)
    await db.system.query(
      `WITH made AS (
         INSERT INTO hubs (id, organization_id, name, lat, lng)
         SELECT gen_random_uuid(), $1, 'Hub ' || n || ' of many', 52, 13 FROM generate_series(1, 510) n RETURNING id
       )
       INSERT INTO user_hubs (organization_id, user_id, hub_id) SELECT $1, $2, id FROM made`,
      [organizationId, ownId],
    )
    await db.close()
    const last = { name: `Yard of ${word}`, lat: 52, lng: 13 }
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
    // The responses come after the typing, also those to its first letters.
    const asked: Route[] = []
    await page.route(/search=z/, route => void asked.push(route))
    await page.keyboard.type(word)
    await page.getByText('No matches').waitFor()
    await until('all of it is asked for', () => asked.some(route => route.request().url().includes(word)))
    for (const route of asked) await route.continue().catch(() => undefined)
    await page.locator('[role=option][data-focused]').getByText(last.name).waitFor()
    // The announcement follows half a second later, so that it does not interrupt the typing.
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

  it('are accessible', async () => {
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
})
