import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

const VEHICLES = 60

describe('Lists of records', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  const hasFocus = (page: Page, row: RegExp) =>
    until(`the focus is on ${row}`, async () =>
      row.test((await page.evaluate(() => document.activeElement?.textContent)) ?? ''),
    )

  beforeAll(async () => {
    // They come in the background, and would change the rows.
    await until(
      'the sample vehicles are there',
      async () => (await owner.get('/vehicles?search=sample')).body.data.length > 0,
    )
    const { data: hub } = (await owner.post('/hub', { name: 'Depot '.repeat(16), lat: 52, lng: 13 })).body
    for (let n = 1; n <= VEHICLES; n++) {
      const vehicle = { name: `Van ${n} with a long name`, plate: `B-FL ${n}`, tags: ['cold '.repeat(16)] }
      expect((await owner.post('/vehicle', { ...vehicle, hubId: hub._id })).status).toBe(201)
    }
  })

  it('fit all of their columns at every width: long values end in an ellipsis', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    const table = page.getByRole('table', { name: 'Vehicles' })
    await page
      .getByRole('cell', { name: /^Depot/ })
      .first()
      .waitFor()
    for (const width of [390, 768, 820, 1_120, 1_440]) {
      await page.setViewportSize({ width, height: 700 })
      const [has, needs] = await table.evaluate(one => {
        const box = one.parentElement as HTMLElement
        return [box.clientWidth, box.scrollWidth]
      })
      expect([width, needs]).toEqual([width, has])
    }
    const name = page.getByRole('cell', { name: /^Van 1 with/ })
    expect(await name.evaluate(one => one.scrollWidth <= one.clientWidth)).toBe(true)
  })

  it('request all names of a screen at once', async () => {
    const page = await screens.open('about:blank', { as: owner })
    const asked: string[] = []
    await page.context().route('**/api/v3/hubs?*', async route => {
      const url = new URL(route.request().url())
      // As with more than a list returns at once.
      if (url.searchParams.get('limit') === '500')
        return route.fulfill({
          json: { status: true, data: [], pagination: { nextCursor: null, limit: 500 } },
        })
      asked.push(url.searchParams.get('_id') ?? '')
      await route.continue()
    })
    const hubs: string[] = []
    for (const name of ['East', 'North', 'South'])
      hubs.push((await owner.post('/hub', { name: `Depot ${name}`, lat: 52, lng: 13 })).body.data._id)
    for (const [n, hubId] of hubs.entries()) await owner.post('/vehicle', { name: `Lorry ${n}`, hubId })
    await page.goto(`${server.url}/vehicles?search=lorry`)
    for (const name of ['East', 'North', 'South'])
      await page.getByRole('row', { name: new RegExp(`Depot ${name}`) }).waitFor()
    expect(asked.map(ids => ids.split(',').sort())).toEqual([hubs.toSorted()])
    for (const [n] of hubs.entries()) {
      const { body } = await owner.get(`/vehicles?search=Lorry+${n}`)
      await owner.delete(`/vehicle/${body.data[0]._id}`)
    }
  })

  it('are one tab stop, at the last focused row', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    await page.getByRole('row', { name: /Van 1 / }).waitFor()
    await page.getByRole('columnheader', { name: 'Plate' }).getByRole('button').focus()
    await page.keyboard.press('Tab')
    await hasFocus(page, /^Sample cargo bike/)
    await page.keyboard.press('ArrowDown')
    // The name alone: the row names a hub as soon as that is read.
    const second = await page.evaluate(() => document.activeElement?.querySelector('a')?.textContent ?? '')
    expect(second).not.toBe('')
    await page.keyboard.press('Shift+Tab')
    await hasFocus(page, /^Plate/)
    await page.keyboard.press('Tab')
    await hasFocus(page, new RegExp(`^${second}`))
    // A list that was scrolled elsewhere stays there.
    await page.keyboard.press('Shift+Tab')
    await page.mouse.move(500, 400)
    await until('it is not drawn', async () => {
      await page.mouse.wheel(0, 2_000)
      return (await page.getByRole('row', { name: new RegExp(second.slice(0, 12)) }).count()) === 0
    })
    await page.keyboard.press('Tab')
    await hasFocus(page, /^Van /)
  })

  it('return the focus to the button that created a record, also after a secret was shown', async () => {
    await createDevice(owner)
    const page = await screens.open(`${server.url}/devices`, { as: owner })
    await page.getByRole('button', { name: 'Add device' }).press('Enter')
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Scanner')
    await page.keyboard.press('Enter')
    await page.getByText('The key is only shown once').waitFor()
    await page.getByRole('button', { name: 'Done' }).press('Enter')
    await hasFocus(page, /^Add device$/)
  })

  it('show the number of records, and End leads to the very last one', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    const { total } = (await owner.get('/vehicles?limit=1')).body.pagination
    expect(total).toBeGreaterThanOrEqual(VEHICLES)
    await page.getByRole('status').getByText(`${total} entries`).waitFor()
    const table = page.getByRole('table', { name: 'Vehicles' })
    // One more page than is loaded, with its heading.
    expect(await table.getAttribute('aria-rowcount')).toBe(String(total + 1))
    await page.getByRole('row', { name: /Van 1 / }).focus()
    await page.keyboard.press('End')
    await hasFocus(page, /^Van 9 /)
    await page.keyboard.press('Home')
    await hasFocus(page, /^Sample cargo bike/)
    await page.getByRole('main').getByRole('searchbox').fill('van 7 ')
    await page.getByRole('status').getByText('1 entry').waitFor()
  })

  it('are searched for every letter, however slow the browser is', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    const field = page.getByRole('main').getByRole('searchbox')
    await field.focus()
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    await page.keyboard.type('Lieferwagen 31', { delay: 30 })
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 1 })
    await page.getByText('No matches').waitFor()
    expect(await field.inputValue()).toBe('Lieferwagen 31')
  })

  it('limit the search text as the API does, and so does the palette', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    const long = 'x'.repeat(300)
    await page.getByRole('main').getByRole('searchbox').focus()
    await page.keyboard.insertText(long)
    await page.getByText('No matches').waitFor()
    expect(new URL(page.url()).searchParams.get('search')).toHaveLength(200)
    await page.keyboard.press('Control+k')
    const asked = page.waitForRequest(/devices\?.*search=/)
    await page.keyboard.insertText(long)
    expect(new URL((await asked).url()).searchParams.get('search')).toHaveLength(200)
    await page.getByRole('dialog').getByText('No matches').waitFor()
  })

  it('stop loading for End when the focus goes elsewhere', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    await page.getByRole('row', { name: /Van 1 / }).waitFor()
    for (const leave of [
      () => page.getByRole('main').getByRole('searchbox').focus(),
      () => page.keyboard.press('Escape'),
    ]) {
      let answer = () => {}
      const held = new Promise<void>(resolve => {
        answer = resolve
      })
      await page.route(/vehicles\?.*cursor=/, async route => {
        await held
        await route.continue()
      })
      await page.reload()
      await page.getByRole('row', { name: /Van 1 / }).focus()
      await page.keyboard.press('End')
      await page
        .getByRole('status')
        .getByText(/^Loading/)
        .waitFor()
      await leave()
      await page
        .getByRole('status')
        .getByText(/^Loading/)
        .waitFor({ state: 'detached' })
      const before = await page.evaluate(() => document.activeElement?.outerHTML)
      answer()
      await until('the rest is there', async () => {
        await page
          .getByRole('table')
          .locator('..')
          .evaluate(one => one.scrollTo(0, one.scrollHeight))
        return (await page.getByRole('row', { name: /Van 9 / }).count()) > 0
      })
      if (
        await page
          .getByRole('searchbox')
          .evaluateAll(all => all.includes(document.activeElement as HTMLElement))
      )
        expect(await page.evaluate(() => document.activeElement?.outerHTML)).toBe(before)
      expect(await page.evaluate(() => document.activeElement?.textContent)).not.toMatch(/Van 9 /)
      await page.unroute(/vehicles\?.*cursor=/)
    }
  })

  it('are sorted by columns with a button in the heading, and the address keeps the order', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    const first = (name: RegExp) =>
      until(`the first is ${name}`, async () =>
        name.test((await page.getByRole('row').nth(1).textContent()) ?? ''),
      )
    const heading = (name: string) => page.getByRole('columnheader', { name })
    await first(/^Sample cargo bike/)
    await heading('Name').getByRole('button').click()
    await first(/^Van 9 /)
    expect(await heading('Name').getAttribute('aria-sort')).toBe('descending')
    await heading('Plate').getByRole('button').press('Enter')
    await first(/^Sample cargo bike–/)
    expect(await heading('Plate').getAttribute('aria-sort')).toBe('ascending')
    await heading('Plate').getByRole('button').press('Enter')
    await first(/SAM 102/)
    expect(new URL(page.url()).search).toBe('?sort=-plate')
    await page.reload()
    await first(/SAM 102/)
    expect(await findBarriers(page)).toEqual([])
    for (const wrong of ['nothing', 'na-me', 'name-', '--name']) {
      await goWithin(page, `/vehicles?sort=${wrong}`)
      await first(/^Sample cargo bike/)
    }
  })

  it('have a link to each record, which opens in another tab', async () => {
    const page = await screens.open(`${server.url}/vehicles?search=van+12+`, { as: owner })
    const link = page.getByRole('link', { name: 'Van 12 with' })
    const opened = page.context().waitForEvent('page')
    await link.click({ modifiers: ['ControlOrMeta'] })
    await (await opened).close()
    expect(await page.getByRole('dialog').count()).toBe(0)
    const address = (await link.getAttribute('href')) as string
    await link.click()
    const dialog = page.getByRole('dialog', { name: /Van 12 with/ })
    await dialog.waitFor()
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/vehicles')
    await page.goto(server.url + address)
    await dialog.waitFor()
  })

  it('of teams keep the changes by others since a team was opened', async () => {
    const { _id: ownId } = (await owner.patch('/user', { name: 'Ada' })).body.data
    const { userId } = await addPerson(server, owner)
    const team = (await owner.post('/team', { name: 'North', memberIds: [ownId] })).body.data
    const page = await screens.open(`${server.url}/teams/${team._id}`, { as: owner })
    const own = page.getByRole('group', { name: 'Members' }).getByText('Ada', { exact: true })
    await own.waitFor()
    const now = { name: 'South', memberIds: [ownId, userId], leaderIds: [ownId, userId] }
    expect((await owner.put(`/team/${team._id}`, now)).status).toBe(200)
    await own.click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /South 1/ }).waitFor()
    expect((await owner.get(`/team/${team._id}`)).body.data).toMatchObject({
      ...{ name: 'South', memberIds: [userId], leaderIds: [userId] },
    })
  })

  it('of rejected points show all devices or one, and one reason', async () => {
    for (const name of ['Loader', 'Trailer']) {
      const device = await createDevice(owner, name)
      const points = [{ lat: name === 'Loader' ? 91 : 0, lng: 0, timestamp: Date.now() }]
      await createClient(server, device.key).post('/location-history/bulk', { points })
    }
    const page = await screens.open(`${server.url}/rejections`, { as: owner })
    const row = (name: RegExp) => page.getByRole('row', { name })
    await row(/Trailer No fix/).waitFor()
    await page.getByRole('radio', { name: 'Invalid coordinates 1' }).click()
    await row(/Trailer/).waitFor({ state: 'detached' })
    await row(/Loader Invalid coordinates/)
      .getByRole('link')
      .click()
    await row(/Loader/).waitFor({ state: 'detached' })
    await row(/Invalid coordinates/).waitFor()
    await page.goto(page.url().replace(/&reason=.*|$/, '&reason=too-old'))
    await page.getByText('Nothing was rejected recently for this reason: Too old').waitFor()
    await page.getByRole('button', { name: 'Show all reasons' }).click()
    await row(/Invalid coordinates/).waitFor()
    await page.getByRole('button', { name: /Device/ }).click()
    await page.getByRole('option', { name: 'All devices' }).click()
    await row(/Trailer No fix/).waitFor()
  })

  it('say that a missing record may belong to another organization, for people in several', async () => {
    const { client } = await addPerson(server, owner, { role: 'Admin' })
    const said = 'It may belong to another of your organizations'
    for (const [as, isSaid] of [
      [owner, 1],
      [client, 0],
    ] as const) {
      const page = await screens.open(`${server.url}/teams/${crypto.randomUUID()}`, { as, mayFail: /404/ })
      await page.getByText('it was deleted, or your role').waitFor()
      expect(await page.getByText(said).count()).toBe(isSaid)
    }
  })

  it('say that a failed save has to be repeated, and keep the input', async () => {
    const page = await screens.open(`${server.url}/teams/new`, { as: owner, mayFail: /ERR_/ })
    const name = page.getByRole('dialog').getByRole('textbox', { name: 'Name' })
    await name.fill('East')
    // The people push the button down when they are read, and a press that it leaves is none.
    await page.locator('[role=dialog] .check').first().waitFor()
    await page.route(/\/api\/v3\/team$/, route => route.abort())
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('try again once it is back').waitFor()
    expect(await name.inputValue()).toBe('East')
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /East/ }).waitFor()
  })

  it('are printed on white, with every loaded row and without buttons', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner, theme: 'dark' })
    const rows = page.getByRole('row', { name: /Van/ })
    await rows.first().waitFor()
    expect(await rows.count()).toBeLessThan(50)
    await page.emulateMedia({ media: 'print' })
    await until('all rows are on the paper', async () => (await rows.count()) >= 50)
    expect(await page.getByRole('navigation').isVisible()).toBe(false)
    expect(await page.getByRole('button', { name: 'Add vehicle' }).isVisible()).toBe(false)
    const [ink, box] = await page.evaluate(() => [
      getComputedStyle(document.querySelector('td') as HTMLElement).color,
      getComputedStyle(document.querySelector('.table-box') as HTMLElement).overflow,
    ])
    expect([ink, box]).toEqual(['rgb(22, 25, 29)', 'visible'])
    await page.emulateMedia({ media: 'screen' })
    await until('rows are drawn as they are seen', async () => (await rows.count()) < 50)
  })
})
