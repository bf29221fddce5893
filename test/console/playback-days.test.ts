import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The day before yesterday: over in every time zone of a test machine. */
const MIDNIGHT = Math.floor(Date.now() / DAY_MS - 2) * DAY_MS
const DAY = new Date(MIDNIGHT).toISOString().slice(0, 10)

describe('The day of a playback', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let van: TestDevice

  const send = async (device: TestDevice, points: object[]) => {
    for (let at = 0; at < points.length; at += 5_000) {
      const body = { points: points.slice(at, at + 5_000) }
      expect((await createClient(server, device.key).post('/location-history/bulk', body)).status).toBe(200)
    }
  }
  const fix = (time: number, lat: number, lng: number, rest: object = {}) => ({
    timestamp: new Date(time).toISOString(),
    lat,
    lng,
    ...rest,
  })
  const slider = (page: Page) => page.getByRole('slider', { name: 'Time' })
  const shownTime = (page: Page) => slider(page).getAttribute('aria-valuetext')

  /** With the clock of a browser in which it is `now`. */
  async function openAt(now: number, query: string): Promise<Page> {
    const page = await screens.open('about:blank', { as: owner })
    await page.clock.install({ time: now })
    // The page follows the server's clock once a response reveals it.
    await page.route('**/api/**', async route => {
      // The test may end before an answer comes.
      const response = await route.fetch().catch(() => null)
      if (response) await route.fulfill({ response, headers: { ...response.headers(), date: '' } })
    })
    await page.goto(`${server.url}/playback?${query}`)
    await slider(page).waitFor()
    return page
  }

  beforeAll(async () => {
    await owner.patch('/organization', {
      timeZone: 'Africa/Abidjan',
      language: 'en',
      settings: { maxAccuracy: 500 },
    })
    van = await createDevice(owner, 'Van 7')
  })

  it('says that every fix of a device is an anomaly, and shows them', async () => {
    const phone = await createDevice(owner, 'Coarse phone')
    const points = [...Array(12).keys()].map(n =>
      fix(MIDNIGHT + (8 + n / 60) * HOUR_MS, 48.1 + n / 500, 11.5, { accuracy: 4_000 }),
    )
    await send(phone, points)
    const page = await screens.open(`${server.url}/?subject=${phone.id}`, { as: owner })
    const panel = page.getByRole('complementary', { name: 'Coarse phone' })
    await panel.getByText('Every position it has sent is an anomaly').waitFor()
    await panel.getByRole('link', { name: 'Show them' }).click()
    await page.waitForURL(`**/playback?subject=device:${phone.id}&day=${DAY}&anomalies=true`)
    await page.getByRole('status').getByText('12 shown as red dots').waitFor()
    expect(await page.getByText('are anomalies').count()).toBe(0)
    await page.getByRole('button', { name: 'Anomalies' }).click()
    await page.getByRole('heading', { name: /^All 12 positions on .* are anomalies$/ }).waitFor()
    // A file contains the anomalies although they are not shown: there is nothing else.
    await page.getByRole('button', { name: 'Download' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: 'CSV', exact: true }).click()
    const file = await (await download).path()
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(points.length + 1)
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Show on the map' }).click()
    await page.getByRole('heading', { name: /are anomalies$/ }).waitFor({ state: 'detached' })
    // On the day before there was nothing, right or wrong.
    await page.getByRole('button', { name: 'Previous day' }).click()
    await page.getByRole('heading', { name: /^Nothing recorded on/ }).waitFor()
  })

  it('says the same for a person, and retries a failed request', async () => {
    const { userId, client } = await addPerson(server, owner)
    const points = [...Array(3).keys()].map(n => fix(MIDNIGHT + n * HOUR_MS, 48.1, 11.5, { accuracy: 4_000 }))
    expect((await client.post('/location-history/bulk', { points })).status).toBe(200)
    const page = await screens.open(`${server.url}/?subject=${userId}`, {
      as: owner,
      // A subject that is not on the map is looked up among the devices first.
      mayFail: /api\/v3\/device\/|includeAnomalies/,
    })
    await page.getByText('Every position it has sent is an anomaly').waitFor()
    let isRefused = true
    await page.route(/location-histories\?.*maxPoints.*includeAnomalies/, route =>
      isRefused ? route.fulfill({ status: 500, json: { message: 'No.', errors: [] } }) : route.continue(),
    )
    await page.getByRole('link', { name: 'Show them' }).click()
    await page.waitForURL(`**/playback?subject=user:${userId}&day=${DAY}&anomalies=true`)
    const again = page.getByRole('button', { name: 'Try again' })
    // While it is refused: the page also tries by itself, and then there is no button.
    await again.click()
    isRefused = false
    await page.getByRole('status').getByText('3 shown as red dots').waitFor()
  })

  it('is not shown to a role without positions, and the page says so', async () => {
    const role = await owner.post('/role', {
      name: 'Clerk',
      permissionDetails: [{ permissionName: 'view/device' }, { permissionName: 'view/vehicle' }],
    })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    const page = await screens.open(`${server.url}/playback?subject=device:${van.id}`, { as: client })
    await page.getByText('Your role can’t see positions.').waitFor()
    expect(await page.getByRole('combobox').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
  })

  it('is empty for an address without subjects', async () => {
    // Without positions there is nothing to choose from.
    await send(await createDevice(owner, 'Van 8'), [fix(MIDNIGHT, 0, 0.5)])
    const page = await screens.open(`${server.url}/playback?subject=device:nobody&subject=van`, { as: owner })
    await page.getByRole('heading', { name: 'Whose day do you want to see?' }).waitFor()
  })

  describe('second by second', () => {
    beforeAll(async () => {
      // Parked until 3, then half an hour of driving with two minutes of ten at a light.
      let lng = 0
      const seconds = Array.from({ length: 3.5 * 3_600 }, (_, second) => {
        const speed = second >= 3 * 3_600 && second % 600 < 480 ? 15 : 0
        lng += speed / 111_320
        const tremble = speed === 0 ? 0 : ((second * 7_919) % 100) * 3e-7
        const accuracy = second % 300 === 150 ? 900 : 5
        return fix(MIDNIGHT + second * SECOND_MS, tremble, lng + 1, { speed, accuracy })
      })
      await send(van, seconds)
    })

    it('shows the state at each second, though the page has fewer points', async () => {
      const url = `${server.url}/playback?subject=device:${van.id}&day=${DAY}`
      const page = await screens.open(`${url}&at=${new Date(MIDNIGHT + 90 * MINUTE_MS).toISOString()}`, {
        as: owner,
      })
      await page.getByText(/^Showing the 10,000 most significant points/).waitFor()
      const speed = page.getByRole('region', { name: 'Van 7' }).getByRole('heading')
      await until('it is parked', async () => (await speed.innerText()).endsWith('0 km/h'))
      expect(await page.locator('.chart-gaps span').count()).toBe(1)
      const goTo = (minutes: number) =>
        slider(page).evaluate(
          (input: HTMLInputElement, value) => {
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, value)
            input.dispatchEvent(new Event('input', { bubbles: true }))
          },
          String(MIDNIGHT + minutes * MINUTE_MS),
        )
      for (const [minutes, said] of [
        [189, '0 km/h'],
        [195, '54 km/h'],
        [199, '0 km/h'],
      ] as const) {
        await goTo(minutes)
        expect(await shownTime(page)).toBe(`03:${minutes - 180 < 10 ? '0' : ''}${minutes - 180}:00`)
        await until(
          `it says ${said}`,
          async () => (await speed.innerText()).split('\n').at(-1)?.trim() === said,
        )
      }
      await page.getByRole('button', { name: 'Anomalies' }).click()
      await page.getByText('42 shown as red dots').waitFor()
    })

    it('is the same in an address with a time, whenever that is opened', async () => {
      const page = await openAt(MIDNIGHT + 23 * HOUR_MS, `subject=device:${van.id}`)
      const named = (name: string) => new URL(page.url()).searchParams.get(name)
      expect(named('day')).toBeNull()
      await slider(page).press('PageUp')
      await until('the address says when', () => named('at') !== null)
      expect(named('day')).toBe(DAY)
      // An address with only a time, too.
      const at = new Date(MIDNIGHT + HOUR_MS).toISOString()
      const later = await openAt(MIDNIGHT + 30 * HOUR_MS, `subject=device:${van.id}&at=${at}`)
      await until('it is there', async () => (await shownTime(later)) === '01:00:00')
    })

    it('returns to its place with the back button, and its buttons keep the focus', async () => {
      const name = `Van ${Date.now()}`
      const other = await createDevice(owner, name)
      await send(other, [fix(MIDNIGHT + HOUR_MS, 0, 1), fix(MIDNIGHT + 2 * HOUR_MS, 0, 1.1)])
      const page = await screens.open(`${server.url}/playback?subject=device:${van.id}&day=${DAY}`, {
        as: owner,
      })
      await slider(page).press('PageUp')
      await page.waitForURL(/at=/)
      const before = (await shownTime(page)) as string
      await page.getByRole('combobox').fill(name)
      await page.getByRole('option', { name: new RegExp(name) }).click()
      await page.waitForURL(/subject=.*subject=/)
      await slider(page).press('End')
      await until('the address says the end', () => /at=.*T03/.test(page.url()))
      await page.goBack()
      await until('it is where it was', async () => (await shownTime(page)) === before)
      await page.goForward()
      await until('it is at the end again', async () => (await shownTime(page)) !== before)
      // The last step leaves nothing to press.
      const dock = page.getByRole('region', { name: 'Playback', exact: true })
      const closer = dock.getByRole('button', { name: 'Zoom in' })
      await until('no step is left', async () => {
        if (await closer.isDisabled()) return true
        await closer.press('Enter')
        return false
      })
      await until('another button has the focus', () =>
        dock.evaluate(one => one.contains(document.activeElement)),
      )
      await page.goto(`${server.url}/playback?subject=device:${van.id}`)
      const yesterday = page.getByRole('button', { name: 'Previous day' })
      await yesterday.press('Enter')
      await page.waitForURL(/day=/)
      const next = page.getByRole('button', { name: 'Next day' })
      await until('another day follows', () => next.isEnabled())
      await next.press('Enter')
      await until('it is the last one', () => next.isDisabled())
      await until('the button beside it has the focus', () =>
        yesterday.evaluate(one => one === document.activeElement),
      )
    })

    it('stays after midnight, and the page says that a new day has begun', async () => {
      // Its clock goes on while the page loads, on a machine that may pause.
      const page = await openAt(MIDNIGHT + DAY_MS - 10 * MINUTE_MS, `subject=device:${van.id}`)
      const hint = page.getByText('A new day has begun:')
      await slider(page).press('PageUp')
      const time = await shownTime(page)
      expect(await hint.count()).toBe(0)
      await page.clock.fastForward(11 * MINUTE_MS)
      await hint.waitFor()
      expect(await shownTime(page)).toBe(time)
      await hint.getByRole('button').click()
      await page.getByRole('heading', { name: /^Nothing recorded on/ }).waitFor()
      expect(await hint.count()).toBe(0)
      expect(new URL(page.url()).searchParams.has('day')).toBe(false)
    })
  })
})
