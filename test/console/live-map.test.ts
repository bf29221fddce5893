import { describe, expect, it } from 'vitest'
import { until } from '../support/wait.ts'
import { findBarriers, findBarriersInThemes, hasFocus, pressAtOnce, useBrowser } from './browser.ts'
import { isLive, list, names, send, useMovingFleet } from './moving-fleet.ts'

describe('The live map', () => {
  const { server, owner, van } = useMovingFleet()
  const screens = useBrowser({ map: 'none' })

  it('lists the subjects of the map, filtered and sorted as the address says', async () => {
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
    await page.waitForURL(url => url.search === '?state=idle')
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

  it('shows everything about the selected subject as it changes, by keyboard as well', async () => {
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
    // Steps through the list are one step of the back button, and passed subjects are not read.
    const ways = await page.evaluate(() => history.length)
    const asked: string[] = []
    page.on('request', request => asked.push(request.url()))
    await pressAtOnce(page, 'ArrowUp', 3)
    const bike = page.getByRole('complementary', { name: 'Bike 9' })
    const day = /^(Nothing recorded today|No trips or stops yet|Stops)/
    await bike.getByText(day).first().waitFor()
    // The day of somebody without a trip is read every five seconds, also the one of before.
    const read = asked.filter(url => url.includes('/trips') && !url.includes(van.id))
    expect(new Set(read.map(url => new URL(url).searchParams.get('deviceId'))).size).toBe(1)
    // Escape closes what was opened last, and returns the focus.
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

  it('leads by keys from the search to its results, and from there to the actions', async () => {
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

  it('answers a click in the next frame, and repaints markers only when they look different', async () => {
    const page = await screens.open(server.url, { as: owner, map: 'still' })
    await until('four are listed', async () => (await names(page)).length === 4)
    // When the click is dispatched, its expensive effects have not begun.
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
    // It stands still after the same fix twice: by then it has arrived.
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

  it('draws subjects at their places: a click on the map selects the subject there', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}&follow=true`, {
      as: owner,
      map: 'still',
    })
    const panel = page.getByRole('complementary', { name: 'Van 7' })
    await panel.waitFor()
    // The map is there later than the panel. Closed before, it would show everything instead.
    await page
      .locator('.maplibregl-ctrl-scale')
      .getByText(/^\d+\sm$/)
      .waitFor()
    const map = page.getByRole('region', { name: /^Map of all/ })
    const box = await map.boundingBox()
    if (!box) throw new Error('There is no map')
    // In the free part of the map.
    const middle = { x: (box.width - 324) / 2, y: box.height / 2 }
    await panel.getByRole('button', { name: 'Close' }).click()
    await panel.waitFor({ state: 'detached' })
    await until('a click in the middle chooses the one that was followed there', async () => {
      await map.click({ position: middle })
      return (await panel.count()) === 1
    })
    // Filters without a match leave the map in place.
    await panel.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('nobody')
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await until('it is still there', async () => {
      await map.click({ position: middle })
      return (await panel.count()) === 1
    })
  })

  it('is accessible, and nothing is wider than the screen', async () => {
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
})
