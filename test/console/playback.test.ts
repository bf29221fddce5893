import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { pause, until } from '../support/wait.ts'
import { findBarriers, findBarriersInThemes, useBrowser } from './browser.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** India never puts its clocks forward. */
const OFFSET_MS = 5.5 * HOUR_MS
/** The day before yesterday there: over in every time zone of a test machine. */
const DAY = new Date(Date.now() + OFFSET_MS - 2 * DAY_MS).toISOString().slice(0, 10)
const MIDNIGHT = Date.parse(`${DAY}T00:00:00Z`) - OFFSET_MS
/** The points that a simplified track keeps. */
const MAX_POINTS = 10_000

const hours = (h: number, m = 0) => MIDNIGHT + h * HOUR_MS + m * MINUTE_MS
const fix = (time: number, lat: number, lng: number, rest: object = {}) => ({
  timestamp: new Date(time).toISOString(),
  lat,
  lng,
  ...rest,
})

describe('Playback', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'none' })
  let owner: Client
  let van: TestDevice
  let bike: TestDevice
  let ferry: TestDevice

  const send = async (device: TestDevice, points: object[]) => {
    for (let at = 0; at < points.length; at += 5_000) {
      const body = { points: points.slice(at, at + 5_000) }
      expect((await createClient(server, device.key).post('/location-history/bulk', body)).status).toBe(200)
    }
  }

  beforeAll(async () => {
    owner = await signIn(server)
    await owner.patch('/organization', { timeZone: 'Asia/Kolkata', language: 'en' })
    van = await createDevice(owner, 'Van 7')
    bike = await createDevice(owner, 'Bike 9')
    // It stands until 9:00, drives east until 9:20, and stands again until 10:00.
    const day = [...Array(41).keys()].map(n => {
      const lng = 77 + Math.min(Math.max(n - 10, 0), 10) * 0.01
      return fix(hours(8, 40) + n * 2 * MINUTE_MS, 28.6, lng, {
        speed: n > 10 && n < 20 ? 10 : 0,
        heading: 90,
      })
    })
    // Two legs with nothing in between: two minutes east, and three hours later two minutes west.
    ferry = await createDevice(owner, 'Ferry 2')
    const leg = (from: number, lng: number, step: number) =>
      [...Array(13).keys()].map(n => fix(from + n * 10_000, 28.5, lng + n * step))
    await send(ferry, [...leg(hours(10, 2), 77, 0.001), ...leg(hours(13, 2), 77.2, -0.001)])
    const jump = fix(hours(9, 9), 35, 77.04)
    const before = fix(MIDNIGHT - MINUTE_MS, 28.6, 76)
    const after = fix(MIDNIGHT + DAY_MS, 28.6, 79)
    await send(van, [before, ...day, jump, after])
    // One point a second, more than a simplified track keeps; and nothing on the day itself.
    await send(
      bike,
      [...Array(MAX_POINTS + 500).keys()].map(n =>
        fix(MIDNIGHT - DAY_MS + HOUR_MS + n * 1_000, 28.7 + Math.sin(n / 50) / 100, 77 + n / 1e5),
      ),
    )
  })

  const slider = (page: Page) => page.getByRole('slider', { name: 'Time' })
  const shownTime = (page: Page) => slider(page).getAttribute('aria-valuetext')
  const parts = (page: Page) => page.getByRole('list', { name: 'Trips and stops' }).getByRole('button')
  const ofVan = () => `${server.url}/playback?subject=device:${van.id}&day=${DAY}`

  it('begins where the fleet is, and its field opens its list wherever it is pressed', async () => {
    const page = await screens.open(`${server.url}/playback`, { as: owner, map: 'still' })
    const scale = page.locator('.maplibregl-ctrl-scale')
    // The whole world has a scale of thousands of kilometres.
    await until('the fleet is in view', async () => /^\d{1,3}\s(km|m)$/.test(await scale.innerText()))
    const field = page.getByRole('combobox', { name: 'Add to playback' })
    for (const position of [
      { x: 15, y: 16 },
      { x: 120, y: 16 },
    ]) {
      await field.click({ position })
      await page.getByRole('option', { name: /^Van 7/ }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('listbox').waitFor({ state: 'detached' })
    }
    await field.click()
    await page.getByRole('option', { name: /^Van 7/ }).click()
    await page.waitForURL(url => url.search.includes(van.id))
  })

  it('plays back a day in the organization’s time zone: trips and stops, by keyboard, as the address says', async () => {
    const page = await screens.open(ofVan(), { as: owner, map: 'still' })
    await until('its parts are listed', async () => (await parts(page).count()) === 3)
    expect((await parts(page).allInnerTexts()).map(text => text.replaceAll('\n', ' '))).toEqual([
      'Stop 08:40 – 09:00 20 min',
      'Trip 09:00 – 09:20 9.8 km · 20 min · max. 36 km/h',
      'Stop 09:20 – 10:00 40 min',
    ])
    await slider(page).focus()
    expect(await shownTime(page)).toBe('08:40:00')
    for (const key of ['PageDown', 'PageUp', 'Shift+ArrowRight', 'ArrowLeft']) await page.keyboard.press(key)
    expect(await shownTime(page)).toBe('08:50:50')
    // The browser's own shortcuts still work.
    for (const key of ['Control+Equal', 'Control+n']) await page.keyboard.press(key)
    expect(await shownTime(page)).toBe('08:50:50')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await until('the clock runs', async () => ((await shownTime(page)) ?? '') > '08:51:00')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Play' }).waitFor()

    // A press on a trip leads to its beginning, also after a reload.
    await parts(page).nth(1).click()
    expect(await shownTime(page)).toBe('09:00:00')
    const nine = new Date(hours(9)).toISOString()
    await until('the address says when', () => new URL(page.url()).searchParams.get('at') === nine)
    await page.reload()
    await until('it goes on there', async () => (await shownTime(page).catch(() => '')) === '09:00:00')
    const trip = page.getByRole('button', { name: /^Trip/ })
    expect(await trip.getAttribute('aria-current')).toBe('true')
    await slider(page).focus()
    await page.keyboard.press('PageUp')
    await page.getByRole('region', { name: 'Van 7' }).getByText('36 km/h', { exact: true }).waitFor()
    await page.getByRole('radio', { name: '60×' }).click()
    await until('the address says how fast', () => new URL(page.url()).searchParams.get('rate') === '60')
  })

  it('zooms into a part of the day: by a drag over the chart, by keys, and as the address says', async () => {
    const page = await screens.open(`${ofVan()}&at=${new Date(hours(9, 20)).toISOString()}`, { as: owner })
    await until('its parts are listed', async () => (await parts(page).count()) === 3)
    const bound = async (name: 'min' | 'max') => Number(await slider(page).getAttribute(name))
    expect([await bound('min'), await bound('max')]).toEqual([hours(8, 40), hours(10, 5)])
    const chart = page.getByRole('img', { name: 'Speed over the day' }).locator('.u-over')
    // Content above it may still load, and a drag that began elsewhere does not count.
    let box = { x: 0, y: 0, width: 0, height: 0 }
    await until('the chart stands still', async () => {
      const before = box
      await pause(200)
      box = (await chart.boundingBox()) ?? box
      return box.width > 0 && (['x', 'y', 'width', 'height'] as const).every(key => box[key] === before[key])
    })
    const xOf = (time: number) => box.x + (box.width * (time - hours(8, 40))) / (hours(10, 5) - hours(8, 40))
    const whole = page.getByRole('button', { name: 'Whole day' })
    expect(await whole.isDisabled()).toBe(true)

    await page.mouse.move(xOf(hours(9)), box.y + 40)
    await page.mouse.down()
    await page.mouse.move(xOf(hours(9, 10)), box.y + 40, { steps: 4 })
    await page.mouse.move(xOf(hours(9, 20)), box.y + 40, { steps: 4 })
    await page.mouse.up()
    // To the pixel, which is some seconds wide.
    const isAbout = (time: number, wanted: number) => Math.abs(time - wanted) < MINUTE_MS
    const shows = (from: number, to: number) => async () =>
      isAbout(await bound('min'), from) && isAbout(await bound('max'), to)
    await until('the part is shown', shows(hours(9), hours(9, 20)))
    await until('the address says so', async () => {
      const from = new URL(page.url()).searchParams.get('from') ?? ''
      return Date.parse(from) === (await bound('min'))
    })
    await page.reload()
    await until('its parts are listed again', async () => (await parts(page).count()) === 3)
    await until('the part is shown again', shows(hours(9), hours(9, 20)))

    // From the time of the player: the end of the part, and then one page further.
    await slider(page).focus()
    await page.keyboard.press('End')
    await page.keyboard.press('+')
    await until('half of it is shown', shows(hours(9, 10), hours(9, 20)))
    await page.keyboard.press('PageUp')
    await until('the time leads to the next page', shows(hours(9, 30), hours(9, 40)))
    await page.keyboard.press('-')
    await until('as much again is shown', shows(hours(9, 30), hours(9, 50)))
    await page.keyboard.press('0')
    await until('all of it is shown', shows(hours(8, 40), hours(10, 5)))
    await page.waitForURL(url => !url.searchParams.has('from'))
    await page.getByRole('button', { name: 'Zoom in on the timeline' }).click()
    await until('less is shown', async () => !(await whole.isDisabled()))
    await page.mouse.dblclick(box.x + box.width / 2, box.y + 40)
    await until('a double click leads back', shows(hours(8, 40), hours(10, 5)))
  })

  it('begins at the first fix, skips and marks gaps, and jumps from trip to trip', async () => {
    const page = await screens.open(ofVan().replace(van.id, ferry.id), { as: owner })
    await until('its parts are listed', async () => (await parts(page).count()) === 2)
    await slider(page).focus()
    expect(await shownTime(page)).toBe('10:02:00')
    expect(new URL(page.url()).searchParams.has('at')).toBe(false)
    await page.getByRole('radio', { name: '60×' }).click()
    await slider(page).focus()
    await page.keyboard.press('Space')
    await page.getByText('Skipped 2 h 58 min without positions, continuing at 13:02').waitFor()
    await until('it goes on there', async () => ((await shownTime(page)) ?? '') >= '13:02:00')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor()

    // Before the first fix, between the legs, and after the last.
    expect(await page.locator('.chart-gaps span').count()).toBe(3)
    await slider(page).focus()
    await page.keyboard.press('Home')
    for (const time of ['10:02:00', '13:02:00', '13:02:00']) {
      await page.keyboard.press('n')
      expect(await shownTime(page)).toBe(time)
    }
    const next = page.getByRole('button', { name: 'Next trip' })
    await until('there is none any more', () => next.isDisabled())
    await page.keyboard.press('Home')
    await next.click()
    expect(await shownTime(page)).toBe('10:02:00')
  })

  it('keeps the map and the time controls in view on a phone, however far the page is scrolled', async () => {
    const page = await screens.open(ofVan(), { as: owner, size: { width: 390, height: 664 }, map: 'still' })
    await until('its parts are listed', async () => (await parts(page).count()) === 3)
    /** Whether a touch at its middle hits it. */
    const isReached = (selector: string) =>
      page.evaluate(one => {
        const box = document.querySelector(one)?.getBoundingClientRect()
        if (!box) return false
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
        return document.elementFromPoint(x, y)?.closest(one) !== null
      }, selector)
    const areReached = async () => {
      for (const one of ['.time-slider', '.play', '.playback .map']) expect(await isReached(one)).toBe(true)
    }
    await areReached()
    const before = await shownTime(page)
    await slider(page).click()
    expect(await shownTime(page)).not.toBe(before)
    await parts(page).last().click()
    expect(await shownTime(page)).toBe('09:20:00')
    await areReached()
  })

  it('accepts and writes a day in the organization’s format, whatever the browser’s language', async () => {
    const page = await screens.open(ofVan(), { as: owner, locale: 'en-US' })
    const dayOf = () => new URL(page.url()).searchParams.get('day')
    const [year, month, date] = DAY.split('-')
    const segments = page.getByRole('group', { name: 'Day', exact: true }).getByRole('spinbutton')
    await segments.first().waitFor()
    expect(await segments.allInnerTexts()).toEqual([month, date, year])
    await page.evaluate(() => localStorage.setItem('fieldline.preferences', '{"language":"de"}'))
    await page.reload()
    const tag = page.getByRole('group', { name: 'Tag', exact: true })
    await tag.getByRole('spinbutton').first().waitFor()
    expect((await tag.innerText()).replaceAll(/\s/g, '')).toBe(`${date}.${month}.${year}`)

    // Typed digit by digit: an incomplete year is no day, and a day outside of the history is not opened.
    const wanted = new Date(Date.UTC(Number(year), Number(month) - 2, 1)).toISOString().slice(0, 10)
    const [wantedYear = '', wantedMonth = '', wantedDate = ''] = wanted.split('-')
    const segment = (index: number) => tag.getByRole('spinbutton').nth(index)
    await segment(0).click()
    for (const [index, digits] of [wantedDate, wantedMonth, wantedYear].entries()) {
      await page.keyboard.type(digits, { delay: 20 })
      await until(`${digits} is there`, async () => (await segment(index).innerText()) === digits)
    }
    await until('it is gone to', () => dayOf() === wanted)
    await segment(2).click()
    await page.keyboard.type('1999')
    for (const key of ['Tab', 'Tab']) await page.keyboard.press(key)
    await until('it is given up', async () => (await tag.innerText()).includes(wantedYear))
    expect(dayOf()).toBe(wanted)

    // Or chosen in a calendar.
    await tag.getByRole('button').click()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    const before = new Date(Date.parse(wanted) - DAY_MS).toISOString().slice(0, 10)
    await until('the day before is gone to', () => dayOf() === before)
  })

  it('is reached from the live map for the selected subject, on a day with data', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner })
    await page.getByRole('link', { name: /^Play back \w{3}, / }).click()
    await page.getByRole('region', { name: 'Van 7' }).waitFor()
    await page.getByRole('button', { name: 'Next day', exact: true }).click()
    await page.getByRole('heading', { name: /^Nothing recorded on/ }).waitFor()
    await page.getByRole('button', { name: /^Van 7: / }).click()
    await page.getByRole('region', { name: 'Van 7' }).waitFor()

    await page.getByRole('button', { name: 'Remove Van 7' }).click()
    await page.getByRole('heading', { name: 'Whose day do you want to see?' }).waitFor()
    // The focus stays in the field when another subject is added.
    const field = page.getByRole('combobox', { name: 'Add to playback' })
    await until('the field has the focus', () => field.evaluate(one => one === document.activeElement))
    await field.fill('bik')
    await page.getByRole('option', { name: /^Bike 9/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Remove Bike 9' }).waitFor()
    expect(new URL(page.url()).searchParams.getAll('subject')).toEqual([`device:${bike.id}`])
  })

  it('shows anomalies on request, and downloads everything as a file', async () => {
    const page = await screens.open(ofVan(), { as: owner })
    await page.getByRole('button', { name: 'Anomalies' }).click()
    await page.getByText('1 shown as red dots').waitFor()
    const download = async (format: string) => {
      await page.getByRole('button', { name: 'Download' }).click()
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: format, exact: true }).click(),
      ])
      return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') }
    }
    const gpx = await download('GPX')
    expect(gpx.name).toBe(`Van 7 ${DAY}.gpx`)
    expect(gpx.text.match(/<trkpt /g)).toHaveLength(42)
    await page.getByRole('button', { name: 'Anomalies' }).click()
    await page.getByText('1 shown as red dots').waitFor({ state: 'detached' })
    expect((await download('CSV')).text.trim().split('\n')).toHaveLength(42)
    const { features } = JSON.parse((await download('GeoJSON')).text)
    expect(features[0].geometry.coordinates).toHaveLength(41)
  })

  it('says when points are left out, and plays several subjects at once', async () => {
    const day = new Date(Date.parse(DAY) - DAY_MS).toISOString().slice(0, 10)
    const subjects = `subject=device:${bike.id}&subject=device:${van.id}&rate=60&at=${day}T03:54%2B05:30`
    const page = await screens.open(`${server.url}/playback?${subjects}&day=${day}`, { as: owner })
    await page.getByText(/^Showing the 10,000 most significant points/).waitFor()
    for (const name of ['Bike 9', 'Van 7']) await page.getByRole('region', { name }).waitFor()
    // To the last fix of that day, a minute before midnight, and no further.
    await page.getByRole('button', { name: 'Play', exact: true }).click()
    await until('it is at the end', async () => (await shownTime(page)) === '23:59:00')
    await slider(page).press('End')
    expect(await shownTime(page)).toBe('23:59:00')
  })

  it('is accessible', async () => {
    const page = await screens.open(`${ofVan()}&anomalies=true`, { as: owner, map: 'still' })
    await page.getByText('1 shown as red dots').waitFor()
    await until('its parts are listed', async () => (await parts(page).count()) === 3)
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 })
      expect([width, ...(await findBarriersInThemes(page))]).toEqual([width])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
  })
})
