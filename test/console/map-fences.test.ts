import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { until } from '../support/wait.ts'
import { findBarriers, findBarriersInThemes, hasFocus, useBrowser } from './browser.ts'
import { isLive, names, send, useMovingFleet } from './moving-fleet.ts'

describe('Geofences on the live map', () => {
  const { server, owner, van } = useMovingFleet()
  const screens = useBrowser({ map: 'none' })

  /** A circle of a kilometre around the van. */
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

  it('are drawn, changed by their values, and deleted; errors are shown at their fields', async () => {
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

    // By keyboard: into the form and out of it, but not out of it with unsaved input.
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
    // Another page removes the map with everything drawn on it.
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

  it('report live who leaves, and list who is inside', async () => {
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

  it('keep unsaved input when another part of the page cannot be loaded, and the page says so', async () => {
    await deleteFences()
    await createFence('Depot')
    const page = await screens.open('about:blank', {
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

  it('and drawn areas filter the list, by the map or by the address', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner, map: 'still' })
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    await until('four are listed', async () => (await names(page)).length === 4)
    // The map has gone to it: what is drawn before is drawn elsewhere.
    await page
      .locator('.maplibregl-ctrl-scale')
      .getByText(/^\d+\sm$/)
      .waitFor()
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

    // On a phone the list is hidden.
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Clear area' }).click()
    await until('it is everywhere again', () => !new URL(page.url()).searchParams.has('area'))
    await until('the focus is somewhere', () => page.evaluate(() => document.activeElement !== document.body))
  })

  it('and the current view filter the list by keys alone', async () => {
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
    // To the north: the southernmost one leaves the view.
    await page.keyboard.press('ArrowUp')
    await page.getByText('3 in view').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('3 of 4').waitFor()
    expect((await names(page)).join()).not.toContain('Van 7')
    await hasFocus(page, 'Draw an area to select')
  })

  it('are accessible', async () => {
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
