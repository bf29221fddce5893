import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import type { Server } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, findBarriersInThemes, hasFocus, pressAtOnce, useBrowser } from './browser.ts'

/** A fix of a device, some seconds ago. */
async function send(
  server: Pick<Server, 'url'>,
  device: TestDevice,
  point: object,
  secondsAgo = 0,
): Promise<void> {
  const timestamp = new Date(Date.now() - secondsAgo * 1_000).toISOString()
  const points = [{ lat: 52.52, lng: 13.4, timestamp, ...point }]
  const answer = await createClient(server, device.key).post('/location-history/bulk', { points })
  expect(answer.status).toBe(200)
}

const list = (page: Page) => page.getByRole('listbox', { name: 'What is on the map' })
const names = (page: Page) => list(page).getByRole('option').allInnerTexts()
const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()

describe('The live map', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'none' })
  let owner: Client
  let van: TestDevice

  beforeAll(async () => {
    owner = await signIn(server)
    await owner.patch('/organization', { timeZone: 'Europe/Berlin', language: 'en' })
    van = await createDevice(owner, 'Van 7')
    await send(server, await createDevice(owner, 'Bike 10'), { lat: 52.6, speed: 0 }, 30)
    await send(server, await createDevice(owner, 'Bike 9'), { lat: 52.7, speed: 0 }, 60)
    await send(server, await createDevice(owner, 'Truck'), { lat: 52.8, speed: 20 }, 3_600)
  })

  // A minute after its newest fix it would be idle.
  beforeEach(() => send(server, van, { speed: 10, heading: 90, battery: 64, accuracy: 8 }))

  it('lists what is on the map, filtered and sorted as the address says', async () => {
    const page = await screens.open(server.url, { as: owner })
    await isLive(page)
    await until('four are listed', async () => (await names(page)).length === 4)
    expect((await names(page)).map(text => text.split('\n')[0])).toEqual([
      'Bike 9',
      'Bike 10',
      'Truck',
      'Van 7',
    ])
    expect((await names(page))[3]).toContain('36 km/h')

    await page.getByRole('radio', { name: 'Idle: 2' }).click()
    await until('two are listed', async () => (await names(page)).length === 2)
    expect(new URL(page.url()).search).toBe('?state=idle')
    await page.reload()
    await page.getByText('2 of 4').waitFor()
    await page.getByRole('radio', { name: 'All' }).click()
    await page.getByRole('button', { name: /Sort by/ }).click()
    await page.getByRole('option', { name: 'Last seen' }).click()
    await until('the most silent is first', async () => (await names(page))[0]?.startsWith('Truck') ?? false)
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('bike')
    await page.getByRole('radio', { name: /^Moving: 0/ }).waitFor()
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('nobody')
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await page.getByText('4 on the map').waitFor()
  })

  it('says everything of the chosen one as it changes, by keyboard as well', async () => {
    const page = await screens.open(server.url, { as: owner })
    await until('four are listed', async () => (await names(page)).length === 4)
    await list(page).focus()
    await page.keyboard.press('End')
    const panel = page.getByRole('complementary', { name: 'Van 7' })
    await panel.getByText('64%').waitFor()
    await panel.getByText('90° east').waitFor()
    await panel.getByText('8 m', { exact: true }).waitFor()
    await send(server, van, { lat: 52.521, lng: 13.402, speed: 20, heading: 0 })
    await panel.getByText('0° north').waitFor()
    await panel.getByText('72 km/h').first().waitFor()
    await panel.getByText('52.52100, 13.40200').waitFor()
    // From one to the next is one way back, and what is passed by is not read.
    const ways = await page.evaluate(() => history.length)
    const asked: string[] = []
    page.on('request', request => asked.push(request.url()))
    await pressAtOnce(page, 'ArrowUp', 3)
    const bike = page.getByRole('complementary', { name: 'Bike 9' })
    const day = /^(Nothing recorded today|No trips or stops yet|Stops)/
    await bike.getByText(day).first().waitFor()
    expect(asked.filter(url => url.includes('/trips'))).toHaveLength(1)
    // Escape closes what was opened last, and leads back to where it was opened from.
    expect(await page.evaluate(() => history.length)).toBe(ways)
    await page.keyboard.press('Escape')
    await bike.waitFor({ state: 'detached' })
    await page.keyboard.press('End')
    await panel.waitFor()
    await panel.getByRole('button', { name: 'Close' }).focus()
    await page.keyboard.press('Enter')
    await panel.waitFor({ state: 'detached' })
    await until('the list has the focus', () =>
      page.evaluate(() => document.activeElement?.role === 'listbox'),
    )
  })

  it('leads by keys from the search into what it found, and from there to what can be done', async () => {
    const page = await screens.open(server.url, { as: owner })
    await until('four are listed', async () => (await names(page)).length === 4)
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('k')
    await page.getByText('3 of 4').waitFor()
    for (const name of ['Bike 9', 'Bike 10', 'Truck']) {
      await page.keyboard.press('ArrowDown')
      await page.getByRole('complementary', { name }).waitFor()
    }
    // An hour ago it was fast.
    const facts = page.getByRole('complementary', { name: 'Truck' }).locator('dl').first()
    expect(await facts.innerText()).toMatch(/^Speed\n–\n/)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await hasFocus(page, 'Follow')
  })

  it('answers a click with the next frame, and paints markers anew only where they look different', async () => {
    const page = await screens.open(server.url, { as: owner, map: 'still' })
    await until('four are listed', async () => (await names(page)).length === 4)
    // When the click has been dispatched, whatever is heavy and follows from it has not begun.
    const chosen = await page.getByRole('option', { name: 'Van 7' }).evaluate(row => {
      ;(row as HTMLElement).click()
      return document.querySelector('aside.panel h2')?.textContent
    })
    expect(chosen).toBe('Van 7')
    const panel = page.getByRole('complementary', { name: 'Van 7' })

    await page.evaluate(() => {
      const counted = globalThis as unknown as { paintings: number }
      counted.paintings = 0
      const { clear } = WebGL2RenderingContext.prototype
      WebGL2RenderingContext.prototype.clear = function (mask) {
        if ((this.canvas as HTMLCanvasElement).classList.contains('map-layer')) counted.paintings++
        clear.call(this, mask)
      }
    })
    const paintings = () => page.evaluate(() => (globalThis as unknown as { paintings: number }).paintings)
    await send(server, van, { lng: 13.401, speed: 11, heading: 90 })
    await until('it is painted where it went', async () => (await paintings()) > 0)
    await panel.getByText('52.52000, 13.40100').waitFor()
    // It stands there when it is told twice; the second time the way there is over.
    await send(server, van, { lng: 13.401, speed: 12, heading: 90 })
    await panel.getByText('43 km/h').first().waitFor()
    await until('it has come to rest', async () => {
      const before = await paintings()
      await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 500)))
      return (await paintings()) === before
    })
    const before = await paintings()
    await send(server, van, { lng: 13.401, speed: 20, heading: 90 })
    await panel.getByText('72 km/h').first().waitFor()
    expect(await paintings()).toBe(before)
  })

  it('draws them where they are: a click on the map chooses what is there', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}&follow=true`, {
      as: owner,
      map: 'still',
    })
    const panel = page.getByRole('complementary', { name: 'Van 7' })
    await panel.waitFor()
    const map = page.getByRole('region', { name: /^Map of all/ })
    const box = await map.boundingBox()
    if (!box) throw new Error('There is no map')
    // Of what the panel leaves free of the map.
    const middle = { x: (box.width - 324) / 2, y: box.height / 2 }
    await panel.getByRole('button', { name: 'Close' }).click()
    await panel.waitFor({ state: 'detached' })
    await until('a click in the middle chooses the one that was followed there', async () => {
      await map.click({ position: middle })
      return (await panel.count()) === 1
    })
    // Filters that leave nobody leave the map where it is.
    await panel.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('nobody')
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await until('it is still there', async () => {
      await map.click({ position: middle })
      return (await panel.count()) === 1
    })
  })

  it('nothing is in the way of anybody, and nothing is wider than the screen', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner, map: 'still' })
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await isLive(page)
    for (const width of [3_840, 1_280, 390]) {
      await page.setViewportSize({ width, height: 800 })
      const find = width > 2_000 ? findBarriers : findBarriersInThemes
      expect([width, ...(await find(page))]).toEqual([width])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
  })

  /** A circle of a kilometre around where the van is. */
  const createFence = async (name: string) => {
    const shape = { type: 'circle', center: { lat: 52.52, lng: 13.4 }, radius: 1_000 }
    return (await owner.post('/geofence', { name, shape })).body.data._id as string
  }
  const deleteFences = async () => {
    for (const { _id } of (await owner.get('/geofences')).body.data) await owner.delete(`/geofence/${_id}`)
  }
  const middleOf = async (page: Page) => {
    const box = await page.getByRole('region', { name: /^Map of all/ }).boundingBox()
    if (!box) throw new Error('There is no map')
    return { x: box.x + box.width / 2 - 160, y: box.y + box.height / 2 }
  }

  it('a geofence is drawn, changed by its values, and deleted; what is wrong is said at its field', async () => {
    await deleteFences()
    const mayFail = /400 \(Bad Request\)/
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner, mayFail, map: 'still' })
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await page.getByRole('button', { name: 'New geofence' }).click()
    const form = page.getByRole('complementary', { name: 'New geofence' })
    const radius = form.getByRole('textbox', { name: 'Radius (m)' })
    await radius.waitFor()
    const { x, y } = await middleOf(page)
    await form.getByRole('button', { name: 'Save' }).click()
    await until('a circle is drawn', async () => {
      await page.mouse.click(x, y)
      await page.mouse.move(x + 60, y, { steps: 3 })
      await page.mouse.click(x + 60, y)
      return (await radius.inputValue()) !== ''
    })
    await form.getByRole('textbox', { name: 'Name' }).fill('Yard')
    await form.locator('.circle-fields').getByText('This is required.').first().waitFor({ state: 'detached' })
    await radius.fill('0')
    await form.getByRole('button', { name: 'Save' }).click()
    await until('it is said at the field', async () => (await radius.getAttribute('aria-invalid')) === 'true')
    await radius.fill('500')
    await form.getByRole('button', { name: 'Save' }).click()
    const panel = page.getByRole('complementary', { name: 'Yard', exact: true })
    await panel.getByText('Circle, 500 m').waitFor()
    await panel.getByText('No events yet.').waitFor()

    // Without a mouse it is typed.
    await panel.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('radio', { name: 'Polygon' }).click()
    const corners = page.getByRole('textbox', { name: 'Corners' })
    await corners.fill('52.5, 13.3\nsomewhere\n52.6, 13.5')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Line 2 must be a latitude and a longitude').waitFor()
    await corners.fill('52.5, 13.3\n52.6, 13.5\n52.5, 13.5\n52.6, 13.3')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/^The polygon crosses itself/).waitFor()
    await corners.fill('52,5; 13,3\n52.5,13.5\n52,6, 13,5\n52.6 13.3')
    await page.getByRole('button', { name: 'Save' }).click()
    await panel.getByText('Polygon, 4 corners').waitFor()

    // By keyboard: into the form, out of it, and not out of it where something was typed.
    const change = page.getByRole('complementary', { name: 'Edit Yard' })
    const name = change.getByRole('textbox', { name: 'Name' })
    await panel.getByRole('button', { name: 'Edit' }).press('Enter')
    await until('the form has the focus', () => name.evaluate(one => one === document.activeElement))
    await page.keyboard.press('Escape')
    await hasFocus(page, 'Edit')
    await panel.getByRole('button', { name: 'Edit' }).press('Enter')
    await name.fill('Another yard')
    await page.keyboard.press('Escape')
    await change.getByText('You have unsaved changes.').waitFor()
    await page.keyboard.press('Escape')
    await change.getByText('You have unsaved changes.').waitFor({ state: 'detached' })
    expect(await name.inputValue()).toBe('Another yard')
    // Another page takes the map along with what is drawn on it.
    await page.getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    await page.goBack()
    await change.waitFor()
    await page.keyboard.press('Escape')

    await panel.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alert').getByRole('button', { name: 'Delete' }).click()
    await panel.waitFor({ state: 'detached' })
    await until('it is gone', async () => (await owner.get('/geofences')).body.data.length === 0)
  })

  it('tells who goes out of a geofence as it happens, and lists who is inside', async () => {
    await deleteFences()
    await createFence('Depot')
    const page = await screens.open(`${server.url}/geofences`, { as: owner })
    await page.getByRole('row', { name: /Depot/ }).click()
    const panel = page.getByRole('complementary', { name: 'Depot' })
    await isLive(page)
    await panel.getByRole('button', { name: 'Show in list' }).click()
    await until('the van is inside', async () => (await names(page))[0]?.startsWith('Van 7') ?? false)
    expect(await names(page)).toHaveLength(1)
    await send(server, van, { speed: 10 })
    await send(server, van, { lat: 52.54, speed: 10 })
    await panel.getByText('Van 7 left').first().waitFor()
    await page.getByRole('button', { name: 'Clear all filters' }).waitFor()
    await page.getByRole('button', { name: /Area/ }).click()
    await page.getByRole('option', { name: 'Everywhere' }).click()
    await until('everybody is listed', async () => (await names(page)).length === 4)
    await panel.getByRole('link', { name: 'Playback: Van 7 left' }).first().click()
    await page.getByRole('region', { name: 'Van 7' }).waitFor()
  })

  it('keeps what is half typed when something else of the page cannot be loaded, and says so', async () => {
    await deleteFences()
    await createFence('Depot')
    const page = await screens.open(`${server.url}/sign-in`, {
      as: owner,
      mayFail: /ERR_FAILED/,
      map: 'still',
    })
    await page.route(/assets\/fences-[^/]+\.js/, route => route.abort())
    await page.goto(`${server.url}/?fence=new`)
    const name = page.getByRole('textbox', { name: 'Name' })
    await name.fill('Half typed')
    await page.getByText('Part of this page couldn’t be loaded').waitFor()
    expect(await name.inputValue()).toBe('Half typed')
  })

  it('lists who is in an area that is drawn on the map, as its address does', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner, map: 'still' })
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await until('four are listed', async () => (await names(page)).length === 4)
    const begin = page.getByRole('button', { name: 'Draw an area to select' })
    await begin.press('Enter')
    await page.getByText(/^Click the corners of the area/).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).press('Enter')
    await until('the button has the focus again', () => begin.evaluate(one => one === document.activeElement))
    await begin.click()
    await page.getByText(/^Click the corners of the area/).waitFor()
    const { x, y } = await middleOf(page)
    await until('it is drawn', async () => {
      for (const [right, down] of [
        [-80, -80],
        [80, -80],
        [80, 80],
        [-80, 80],
      ] as const) {
        await page.mouse.move(x + right, y + down, { steps: 2 })
        await page.mouse.click(x + right, y + down)
      }
      await page.keyboard.press('Enter')
      return new URL(page.url()).searchParams.has('area')
    })
    await page.getByText('1 of 4').waitFor()
    await page.reload()
    await page.getByText('1 of 4').waitFor()
    expect((await names(page))[0]).toContain('Van 7')

    // On a phone the list is out of sight.
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Clear area' }).click()
    await until('it is everywhere again', () => !new URL(page.url()).searchParams.has('area'))
    await until('the focus is somewhere', () => page.evaluate(() => document.activeElement !== document.body))
  })

  it('lists by keys alone who is in the part of the map that is in view', async () => {
    const page = await screens.open(server.url, { as: owner, map: 'still' })
    await until('four are listed', async () => (await names(page)).length === 4)
    const begin = page.getByRole('button', { name: 'Draw an area to select' })
    const take = page.getByRole('button', { name: 'Select the current view' })
    await begin.press('Enter')
    await hasFocus(page, 'Select the current view')
    await page.getByRole('status').getByText('4 in view').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await take.waitFor({ state: 'detached' })
    await hasFocus(page, 'Draw an area to select')
    await begin.press('Enter')
    await hasFocus(page, 'Select the current view')
    // To the north, the southernmost goes out of view.
    await page.keyboard.press('ArrowUp')
    await page.getByText('3 in view').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('3 of 4').waitFor()
    expect((await names(page)).join()).not.toContain('Van 7')
    await hasFocus(page, 'Draw an area to select')
  })

  it('nothing of geofences is in the way of anybody', async () => {
    await deleteFences()
    const fence = await createFence('Depot')
    const page = await screens.open(`${server.url}/?fence=${fence}`, { as: owner, map: 'still' })
    const lookAround = async () => {
      for (const width of [1_280, 390]) {
        await page.setViewportSize({ width, height: 800 })
        expect([width, ...(await findBarriersInThemes(page))]).toEqual([width])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      }
    }
    await page.getByRole('complementary', { name: 'Depot' }).getByText('Inside now').waitFor()
    await lookAround()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Radius (m)' }).waitFor()
    await lookAround()
  })
})
