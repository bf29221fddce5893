import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { namedByHubs } from '../../console/pages/map/fences/named-by-hubs.ts'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { pause, until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'

describe('The names of geofences', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let van: TestDevice
  let hubId: string
  let depotId: string

  beforeAll(async () => {
    van = await createDevice(owner, 'Van 7')
    hubId = (await owner.post('/hub', { name: 'North', lat: 52.51, lng: 13.41 })).body.data._id
    for (const [name, radius, hub] of [
      ['Yard', 500, hubId],
      ['Yard', 2_000, null],
      ['Depot', 700, null],
    ]) {
      const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius }
      const { status, body } = await owner.post('/geofence', { name, shape, hubId: hub })
      expect(status).toBe(201)
      depotId = body.data._id
    }
    const points = [53, 52.5].map((lat, n) => ({ lat, lng: 13.4, timestamp: Date.now() - (2 - n) * 60_000 }))
    await createClient(server, van.key).post('/location-history/bulk', { points })
    await until('it is told', async () => {
      const { body } = await owner.get(`/geofence-events?geofenceId=${depotId}`)
      return body.data.length > 0
    })
  })

  /** The hubs push the button aside when they are read, and a press that it leaves is none. */
  const openAreas = async (page: Page) => {
    await page.locator('.list-filters').getByRole('button', { name: /Hub$/ }).waitFor()
    await page.getByRole('button', { name: /Everywhere/ }).click()
  }

  it('are left to a hub of the same name inside, and to no other', () => {
    const hubs = [
      { name: 'North', lat: 52.51, lng: 13.41 },
      { name: 'South', lat: 40, lng: 13.4 },
    ]
    const shape = { type: 'circle' as const, center: { lat: 52.5, lng: 13.4 }, radius: 5_000 }
    const fences = ['North', 'South', 'Yard'].map(name => ({ _id: name, name, shape }))
    expect([...namedByHubs(fences, hubs)]).toEqual(['North'])
  })

  it('get a hint where two are the same, and only there', async () => {
    const page = await screens.open(server.url, { as: owner })
    await openAreas(page)
    const options = page.getByRole('listbox', { name: 'Area' }).getByRole('option')
    await options.filter({ hasText: 'North' }).waitFor()
    const said = await options.evaluateAll(all => all.map(one => (one as HTMLElement).innerText.split('\n')))
    expect(said.slice(0, 2)).toEqual([['Everywhere'], ['Depot']])
    expect(said.slice(2).sort((one, other) => String(one).localeCompare(String(other)))).toEqual([
      ['Yard', 'Circle, 2 km'],
      ['Yard', 'North · Circle, 500 m'],
    ])
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or go to…').fill('yard')
    await page.getByRole('option', { name: /Yard.*Circle, 2 km/ }).waitFor()
    await page.getByRole('option', { name: /Yard.*North · Circle, 500 m/ }).waitFor()
  })

  it('come with the name of a subject that entered, also one that the filters exclude', async () => {
    const page = await screens.open(`${server.url}/?fence=${depotId}&hub=${hubId}`, { as: owner })
    await page.getByText('0 on the map').waitFor()
    const panel = page.getByRole('complementary', { name: 'Depot' })
    await panel.getByText('Van 7 entered').waitFor()
  })

  it('leave the list in place while keys move through it on a phone, and leave the arrow keys to the map', async () => {
    await createClient(server, (await createDevice(owner, 'Van 8')).key).post('/location-history/bulk', {
      points: [{ lat: 52.4, lng: 13.4, timestamp: Date.now() }],
    })
    const page = await screens.open(server.url, {
      as: owner,
      size: { width: 390, height: 844 },
      map: 'still',
    })
    await page.getByRole('radio', { name: 'List' }).click()
    for (const name of [/Van 7/, /Van 8/]) await page.getByRole('option', { name }).waitFor()
    await page.getByRole('listbox').focus()
    for (const name of [/Van 7/, /Van 8/]) {
      await page.keyboard.press('ArrowDown')
      await page.getByRole('option', { name, selected: true }).waitFor()
    }
    await page.getByRole('option', { name: /Van 7/ }).click()
    await page.getByRole('button', { name: 'Follow' }).click()
    await page.waitForURL(/follow=true/)
    // The canvas of the map is there before anything listens to its keys. Then its layers have another size than at first.
    const layer = page.locator('canvas.map-layer').first()
    await until('the map is open', () => layer.evaluate((one: HTMLCanvasElement) => one.width !== 300))
    await page.locator('.maplibregl-canvas').focus()
    await page.keyboard.press('ArrowLeft')
    await page.waitForURL(url => !url.search.includes('follow'))
  })

  it('are drawn on the map beside those of hubs', async () => {
    const page = await screens.open('about:blank', { as: owner, map: 'still' })
    await page.context().addInitScript(() => {
      const { fillText } = CanvasRenderingContext2D.prototype
      const drawn = new Set<string>()
      Object.assign(globalThis, { drawn })
      CanvasRenderingContext2D.prototype.fillText = function (...args) {
        drawn.add(args[0])
        return fillText.apply(this, args)
      }
    })
    await page.goto(`${server.url}/?fence=${depotId}`)
    for (const name of ['Depot', 'North'])
      await until(`${name} is drawn`, () =>
        page.evaluate(
          name =>
            [...(globalThis as unknown as { drawn: Set<string> }).drawn].some(one => one.includes(name)),
          name,
        ),
      )
  })

  it('belong to shapes that a button starts in the middle of the map, and the button keeps the focus', async () => {
    const page = await screens.open(`${server.url}/?fence=new`, { as: owner, map: 'still' })
    const button = page.getByRole('button', { name: 'Center of the map' })
    await button.press('Enter')
    await until('it has a place', async () => (await page.getByLabel('Latitude').inputValue()) !== '')
    await pause(200)
    expect(await button.evaluate(one => one === document.activeElement)).toBe(true)
  })

  it('stay in the form when somebody else deletes the geofence', async () => {
    const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 300 }
    const { _id } = (await owner.post('/geofence', { name: 'Gone soon', shape })).body.data
    const page = await screens.open('about:blank', { as: owner, mayFail: /404/ })
    await page.clock.install()
    await page.goto(`${server.url}/?fence=${_id}&edit=true`)
    const name = page.getByRole('complementary').getByRole('textbox', { name: 'Name' })
    await name.fill('An hour of work')
    expect((await owner.delete(`/geofence/${_id}`)).status).toBe(200)
    // An answer from before the deletion may still be on its way.
    const isRead = page.waitForResponse(
      async answer => /geofences\?/.test(answer.url()) && !(await answer.text()).includes(_id),
    )
    await page.clock.fastForward(61_000)
    await isRead
    await page.clock.runFor(2_000)
    expect(await name.inputValue()).toBe('An hour of work')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    expect(await name.inputValue()).toBe('An hour of work')
  })

  it('come with events that are read one request after the other, however many arrive', async () => {
    const page = await screens.open(`${server.url}/?fence=${depotId}`, { as: owner })
    await page.getByText('Van 7 entered').waitFor()
    let [finished, failed] = [0, 0]
    const isEvents = (url: string) => url.includes('/geofence-events')
    page.on('requestfinished', request => isEvents(request.url()) && finished++)
    page.on('requestfailed', request => isEvents(request.url()) && failed++)
    await page.route('**/geofence-events*', async route => {
      await pause(1_000)
      await route.continue()
    })
    const { key } = van
    for (let n = 0; n < 12; n++) {
      const points = [{ lat: n % 2 ? 52.5 : 53, lng: 13.4, timestamp: Date.now() }]
      await createClient(server, key).post('/location-history/bulk', { points })
      await pause(400)
    }
    await until('it is read at last', () => finished > 1)
    expect(failed).toBe(0)
  })

  it('come with a notice while more are loading', async () => {
    const page = await screens.open('about:blank', { as: owner })
    let goOn = () => {}
    const held = new Promise<void>(resolve => {
      goOn = resolve
    })
    await page.context().route('**/api/v3/geofences?*limit=500*', async route => {
      const isNext = route.request().url().includes('cursor=')
      if (isNext) await held
      const url = route
        .request()
        .url()
        .replace(/&?cursor=more/, '')
      // The test may end before an answer comes.
      const response = await route.fetch({ url }).catch(() => null)
      if (!response) return
      const json = await response.json()
      if (isNext) json.data = []
      else json.pagination.nextCursor = 'more'
      await route.fulfill({ response, json })
    })
    await page.goto(server.url)
    await openAreas(page)
    await page.getByRole('option', { name: 'Depot' }).waitFor()
    const said = page.getByText('More geofences are loading…')
    await said.waitFor()
    goOn()
    await said.waitFor({ state: 'detached' })
  })
})
