import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { until } from '../support/wait.ts'
import { copiedBy, copyBy, findBarriers, hasFocus, PLAIN_HOST, useBrowser } from './browser.ts'

describe('The first run', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'none' })

  it('guides from an empty map to the first position', async () => {
    const owner = (await addOrganization(server, await signIn(server))).client
    const page = await screens.open(server.url, { as: owner, map: 'still' })
    const welcome = page.getByRole('heading', { name: 'Nothing on the map yet' })
    await welcome.waitFor()
    // It is hidden while somebody draws.
    await page.getByRole('button', { name: 'New geofence' }).click()
    await welcome.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page
      .getByText(
        `npm run simulate -- --url ${server.url} --mqtt ${server.url.replace('http', 'ws')}/mqtt --email owner@`,
      )
      .waitFor()
    await page.getByLabel('Device name').fill('Van 12')
    await page.getByRole('button', { name: 'Add device' }).click()
    const dialog = page.getByRole('dialog', { name: 'Set up Van 12' })
    await dialog.getByText('Waiting for the first position…').waitFor()
    expect(await findBarriers(page)).toEqual([])

    // The copied values are those that the app needs: the key of the device, and the address.
    const key = await copiedBy(dialog, 'Copy Password')
    await page.keyboard.press('Escape')
    await hasFocus(page, 'Done')
    const url = await copiedBy(dialog, 'Copy URL')
    // Under 127.0.0.1 a phone would look for the server on itself.
    await dialog.getByText(/^Phones can’t reach 127\.0\.0\.1/).waitFor()
    expect(await dialog.getByRole('img', { name: 'Or scan with your phone' }).count()).toBe(0)
    const point = { _type: 'location', lat: 52.52, lon: 13.4, tst: Math.floor(Date.now() / 1_000) }
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`x:${key}`)}` },
      body: JSON.stringify(point),
    })
    expect(answer.status).toBe(200)

    await dialog.getByText(/^First position received at/).waitFor()
    await dialog.getByRole('button', { name: 'Show on map' }).click()
    await page.getByRole('complementary', { name: 'Van 12' }).waitFor()
    expect(new URL(page.url()).searchParams.get('subject')).toMatch(/^[\da-f-]{36}$/)
  })

  it('continues after a reload with the device, also when its key is lost', async () => {
    const owner = (await addOrganization(server, await signIn(server))).client
    const page = await screens.open(server.url, { as: owner })
    await page.getByLabel('Device name').fill('Van 12')
    await page.getByRole('button', { name: 'Add device' }).click()
    const dialog = page.getByRole('dialog', { name: 'Set up Van 12' })
    await dialog.getByText('Waiting for the first position…').waitFor()
    await page.reload()
    await page.getByText('Van 12 hasn’t sent anything yet.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Continue setup' }).click()
    await dialog.getByText('DEVICE_KEY', { exact: true }).waitFor()

    await dialog.getByRole('button', { name: 'New key' }).click()
    await hasFocus(page, 'Cancel')
    await dialog.getByRole('button', { name: 'New key' }).click()
    await dialog.getByText('DEVICE_KEY', { exact: true }).waitFor({ state: 'detached' })
    const key = await copiedBy(dialog, 'Copy Password')
    const point = { lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }
    const { status } = await createClient(server, key).post('/location-history/bulk', { points: [point] })
    expect(status).toBe(200)
    await dialog.getByText(/^First position received at/).waitFor()
  })

  it('shows no water before the land is loaded, and moves to the first subjects', async () => {
    const owner = (await addOrganization(server, await signIn(server))).client
    const van = createClient(server, (await createDevice(owner, 'Van 7')).key)
    const point = { lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }
    expect((await van.post('/location-history/bulk', { points: [point] })).status).toBe(200)
    const page = await screens.open('about:blank', { as: owner, map: 'drawn' })
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    await page.route(/countries-110m/, async route => {
      await held
      await route.continue()
    })
    await page.goto(`${server.url}/?search=nobody`)
    await page.getByRole('button', { name: 'Clear all filters' }).waitFor()
    const box = await page.getByRole('region', { name: /^Map of all/ }).boundingBox()
    if (!box) throw new Error('There is no map')
    // Libya is near the middle; to its west lies the Atlantic.
    const [land, sea] = [
      { x: box.x + box.width / 2 + 45, y: 350 },
      { x: box.x + 140, y: 350 },
    ]
    const blank = await page.context().newPage()
    const isPainted = async (place: { x: number; y: number }, name: string) => {
      const color = await page.evaluate(
        one => getComputedStyle(document.documentElement).getPropertyValue(one),
        name,
      )
      await blank.goto(`data:text/html,<body style="background:${encodeURIComponent(color)}">`)
      const clip = { ...place, width: 1, height: 1 }
      return (await page.screenshot({ clip })).equals(await blank.screenshot({ clip }))
    }
    for (const place of [land, sea]) expect(await isPainted(place, '--map-blank')).toBe(true)
    release()
    await until('there is land', () => isPainted(land, '--map-land'), 60_000)
    await until('there is water', () => isPainted(sea, '--map-water'))
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    // One of them lies on no line of the grid.
    const beside = { x: sea.x + 9, y: sea.y + 9 }
    await until(
      'it has gone to who is there',
      async () => (await isPainted(sea, '--map-land')) || isPainted(beside, '--map-land'),
    )
  })

  it('shows all subjects beside an open panel, and answers a click before the map is drawn', async () => {
    const owner = (await addOrganization(server, await signIn(server))).client
    for (const [name, lat] of [
      ['North', 52.8],
      ['South', 52.5],
    ] as const) {
      const { key } = await createDevice(owner, name)
      const points = [{ lat, lng: 13.4, timestamp: new Date().toISOString() }]
      await createClient(server, key).post('/location-history/bulk', { points })
    }
    const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 1_000 }
    const fence = (await owner.post('/geofence', { name: 'Depot', shape })).body.data._id as string
    const page = await screens.open('about:blank', { as: owner, map: 'still' })
    const map = page.getByRole('region', { name: /^Map of all/ })
    await until('the northern one is in the middle of what is left of the map', async () => {
      await page.goto(`${server.url}/?fence=${fence}`)
      const panel = page.getByRole('complementary', { name: 'Depot' })
      await panel.waitFor()
      await page.getByText('2 on the map').waitFor()
      // Before its layers have the size of the map, the button and a click there do nothing.
      const layer = page.locator('canvas.map-layer').first()
      await until('the map is open', () => layer.evaluate((one: HTMLCanvasElement) => one.width > 300))
      await page.getByRole('button', { name: 'Show everything' }).click()
      const [all, covered] = [await map.boundingBox(), await panel.boundingBox()]
      if (!all || !covered) return false
      const free = covered.x - all.x
      await map.click({ position: { x: free / 2, y: Math.min(80, free / 6) } })
      return (await page.getByRole('complementary', { name: 'North' }).count()) === 1
    })
    // Its drawing waits for the frame that shows the selection.
    const early = await page.evaluate(async () => {
      /** The frames in which the map was drawn. All callbacks of a frame see the same time. */
      const drawnIn: number[] = []
      const time = () => Number(document.timeline.currentTime)
      const { clear } = WebGL2RenderingContext.prototype
      WebGL2RenderingContext.prototype.clear = function (mask) {
        drawnIn.push(time())
        clear.call(this, mask)
      }
      const frame = () => new Promise<number>(done => requestAnimationFrame(() => done(time())))
      // What the click before has postponed is drawn first.
      do {
        drawnIn.length = 0
        for (let waited = 0; waited < 3; waited++) await frame()
      } while (drawnIn.length > 0)
      for (const wanted of ['[aria-label="Zoom in"]', '[role=option][aria-selected=false]'])
        document.querySelector<HTMLElement>(wanted)?.click()
      const first = await frame()
      while (drawnIn.length === 0) await frame()
      return drawnIn.filter(at => at <= first).length
    })
    expect(early).toBe(0)
    await page.getByRole('complementary', { name: 'South' }).waitFor()
    // The click of a screen reader: the focus moves to the panel of the subject.
    await hasFocus(page, 'South')
    // On a phone the panel is a sheet, and no control of the map lies below it.
    await page.setViewportSize({ width: 390, height: 844 })
    const buttons = await page.locator('.map-buttons button').all()
    expect(buttons.length).toBeGreaterThan(3)
    for (const button of buttons) await button.click({ trial: true })
  })

  it('keeps the focus on the page, and says what waits for the server', async () => {
    const owner = (await addOrganization(server, await signIn(server))).client
    const van = createClient(server, (await createDevice(owner, 'Van 7')).key)
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    expect((await van.post('/location-history/bulk', { points })).status).toBe(200)
    const look = { as: owner, mayFail: /ERR_/ }
    const page = await screens.open(`${server.url}/teams/new`, look)
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('North')
    await page.keyboard.press('Enter')
    const row = page.getByRole('row', { name: /North/ })
    await row.waitFor()
    await hasFocus(page, 'Teams')
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or go to…').waitFor()
    await page.keyboard.press('Escape')
    await hasFocus(page, 'Teams')
    await row.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alert').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Nothing here yet').waitFor()
    await hasFocus(page, 'Teams')

    const away = /\/(health|assets\/hubs-.+\.js)$/
    await page.route(away, route => route.abort())
    await page.getByRole('link', { name: 'Hubs' }).press('Enter')
    await page.getByText('This opens as soon as it is back').waitFor()
    await page.unroute(away)
    await page.getByRole('heading', { name: 'Hubs' }).waitFor()

    // Into the panel of a subject or an area: from everywhere, and from the list.
    const shape = { type: 'circle', center: { lat: 52.52, lng: 13.4 }, radius: 100 }
    expect((await owner.post('/geofence', { name: 'Yard 3', shape })).status).toBe(201)
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or go to…').fill('yard')
    await page.getByRole('group', { name: 'Geofences' }).getByRole('option', { name: 'Yard 3' }).click()
    await hasFocus(page, 'Yard 3')
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or go to…').fill('van')
    await page.getByRole('dialog').getByRole('option', { name: 'Van 7' }).click()
    await hasFocus(page, 'Van 7')
    await page.keyboard.press('Escape')
    await page.getByRole('listbox').press('ArrowDown')
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await page.keyboard.press('Enter')
    await hasFocus(page, 'Van 7')
    await page.getByRole('link', { name: 'Play back today' }).press('Enter')
    await hasFocus(page, 'Playback')
  })

  it('opens every page while the server is away, once the map was live for a while', async () => {
    const owner = (await addOrganization(server, await signIn(server))).client
    const van = createClient(server, (await createDevice(owner, 'Van 7')).key)
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    expect((await van.post('/location-history/bulk', { points })).status).toBe(200)
    const look = { as: owner, savesData: false, mayFail: /ERR_|WebSocket/, map: 'still' } as const
    const page = await screens.open(server.url, look)
    await page.evaluate(() => performance.setResourceTimingBufferSize(10_000))
    const loadedAt = (name: RegExp) =>
      page.evaluate(
        wanted =>
          (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
            .filter(one => new RegExp(wanted).test(one.name))
            .map(({ startTime, responseEnd }) => ({ startTime, responseEnd }))[0],
        name.source,
      )
    const pages = [
      'playback-page',
      'devices',
      'vehicles',
      'teams',
      'hubs',
      'geofences',
      'api-keys',
      'rejections',
    ]
    const parts = [...pages, 'links', 'fence-editor', 'setup-dialog']
    // The texts of a page may lie in a file of the same name.
    const files = readdirSync('dist/console/assets').filter(file =>
      parts.some(part => new RegExp(`^${part}-[\\w-]{8}\\.js$`).test(file)),
    )
    expect(files.length).toBeGreaterThanOrEqual(parts.length)
    for (const file of files)
      await until(`${file} is loaded`, async () => ((await loadedAt(new RegExp(file)))?.responseEnd ?? 0) > 0)
    // A file is loaded before the files that it imports are.
    const imports = files.map(file => `import('/assets/${file}')`)
    await page.evaluate(`Promise.all([${imports}]).then(() => true)`)
    // Nothing visible had to wait for it.
    const [map, ahead] = await Promise.all([loadedAt(/countries-110m/), loadedAt(/playback-page/)])
    expect(ahead?.startTime).toBeGreaterThan(map?.responseEnd as number)
    await page.route('**', route => route.abort())
    for (const name of ['Playback', 'Devices', 'Vehicles', 'Teams', 'Hubs', 'Tracking links']) {
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
    }
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or go to…').waitFor()
  })

  it('copies a key over plain HTTP in a local network, without the clipboard API', async () => {
    const owner = await signIn(server)
    const device = await createDevice(owner, 'Phone 1')
    const url = server.url.replace('127.0.0.1', PLAIN_HOST)
    const page = await screens.open(`${url}/devices/${device.id}`, { as: owner, mayFail: /Opener-Policy/ })
    await page.getByRole('region', { name: 'Settings' }).getByRole('button', { name: 'New key' }).click()
    await page.getByRole('alert').getByRole('button', { name: 'New key' }).click()
    const setup = page.getByRole('dialog', { name: 'Set up Phone 1' })
    // Under this name a phone may find the server too.
    await setup.getByRole('img', { name: 'Or scan with your phone' }).waitFor()
    expect(await setup.getByText('Phones can’t reach').count()).toBe(0)
    expect(await page.evaluate(() => 'clipboard' in navigator)).toBe(false)
    await copyBy(setup, 'Copy Password')
    await setup.getByRole('button', { name: 'Close' }).click()
    await setup.waitFor({ state: 'detached' })
    await page.getByRole('main').getByRole('link', { name: 'Devices' }).click()
    const search = page.getByRole('searchbox', { name: 'Search by name' })
    await until('nothing else takes the focus', async () => {
      await search.focus()
      return search.evaluate(
        one => new Promise(resolve => setTimeout(() => resolve(one === document.activeElement), 100)),
      )
    })
    await page.keyboard.press('Control+v')
    await until('it is pasted', async () => (await search.inputValue()) !== '')
    const point = { lat: 52, lng: 13, timestamp: new Date().toISOString() }
    const client = createClient(server, await search.inputValue())
    expect((await client.post('/location-history/bulk', { points: [point] })).status).toBe(200)
  })

  it('shows the error of a field in the language of the page, else in English and marked as that', async () => {
    const owner = await signIn(server)
    await owner.post('/team', { name: 'Nord' })
    const page = await screens.open(`${server.url}/hubs/new`, { as: owner, mayFail: /40[09]/ })
    await page.evaluate(() => localStorage.setItem('fieldline.preferences', '{"language":"de"}'))
    await page.reload()
    const save = page.getByRole('dialog').getByRole('button', { name: 'Speichern' })
    await save.click()
    await page.getByText('Bitte ausfüllen.').first().waitFor()
    await page.locator('[name=name]').fill('Hof')
    await page.locator('[name=lat]').fill('95')
    await page.locator('[name=lng]').fill('13,4')
    await save.click()
    await page.getByText('Darf höchstens 90 sein.').waitFor()
    expect(await page.locator('[role=dialog] [lang=en]').count()).toBe(0)
    await page.goto(`${server.url}/teams/new`)
    await page.locator('[name=name]').fill('Nord')
    // The people push the button down when they are read, and a press that it leaves is none.
    await page.locator('[role=dialog] .check').first().waitFor()
    await save.click()
    await page
      .getByRole('alert')
      .getByText('Nord gibt es bereits. Bitte einen anderen Namen wählen.')
      .waitFor()
    const body = JSON.stringify({ status: false, message: 'Nobody has said this in German.' })
    const answer = { status: 409, contentType: 'application/json', body }
    await page.route('**/api/v3/team', route => route.fulfill(answer))
    await page.locator('[name=name]').fill('Ost')
    await save.click()
    await page.locator('[role=alert] [lang=en]').getByText('Nobody has said this in German.').waitFor()
  })

  it('tells a role without positions so, and leads to the pages that it may see', async () => {
    const owner = (await addOrganization(server, await signIn(server))).client
    const van = await createDevice(owner, 'Van 12')
    const point = { lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }
    expect(
      (await createClient(server, van.key).post('/location-history/bulk', { points: [point] })).status,
    ).toBe(200)
    const permissionDetails = ['device', 'organization', 'user'].map(resource => ({
      permissionName: `view/${resource}`,
    }))
    const { body } = await owner.post('/role', { name: 'Workshop', permissionDetails })
    const { client } = await addPerson(server, owner, { roleId: body.data._id })
    const said = 'Your role can’t see live positions.'

    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: client })
    const panel = page.getByRole('complementary', { name: 'Van 12' })
    await panel.getByText(said).waitFor()
    await page.getByRole('banner').getByRole('status').getByText(said).waitFor()
    await page.getByRole('region', { name: 'What is on the map' }).getByText(said).waitFor()
    expect(page.workers().filter(worker => worker.url().includes('socket-thread'))).toEqual([])
    expect(await findBarriers(page)).toEqual([])
    await panel.getByRole('link', { name: 'Device' }).click()

    const title = page.getByRole('main').getByRole('heading', { name: 'Van 12', exact: true })
    await title.waitFor()
    expect(await page.getByRole('main').getByRole('link', { name: 'Show on map' }).count()).toBe(0)
    await page.getByRole('main').getByRole('link', { name: 'Devices' }).click()
    await title.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or go to…' }).fill('van')
    await page.getByRole('group', { name: 'Devices' }).getByRole('option', { name: 'Van 12' }).click()
    await title.waitFor()
    expect(new URL(page.url()).pathname).toBe(`/devices/${van.id}`)
  })
})
