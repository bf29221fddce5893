import { beforeAll, describe, expect, it } from 'vitest'
import { de } from '../../console/texts/de/de.ts'
import { en } from '../../console/texts/en/en.ts'
import { createFormat, ZERO_MPS } from '../../console/texts/format.ts'
import { unitsOf } from '../../console/texts/region.ts'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { findBarriers, useBrowser } from './browser.ts'
import { whileSending } from './while-sending.ts'

const DAY_MS = 86_400_000
/** In the past in every time zone of a test machine. */
const DAY = new Date(Date.now() - 2 * DAY_MS).toISOString().slice(0, 10)

describe('Units', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let van: TestDevice

  const send = async (points: object[]) => {
    const answer = await createClient(server, van.key).post('/location-history/bulk', { points })
    expect(answer.status).toBe(200)
  }

  beforeAll(async () => {
    await owner.patch('/organization', { timeZone: 'UTC', language: 'en' })
    van = await createDevice(owner, 'Van 7')
    // It drives east for 20 minutes.
    const begins = Date.parse(`${DAY}T09:00:00Z`)
    await send(
      [...Array(21).keys()].map(n => {
        const timestamp = new Date(begins + n * 60_000).toISOString()
        return { lat: 52, lng: 13 + n * 0.00878, timestamp, speed: 10, heading: 90 }
      }),
    )
  })

  const sendNow = () => {
    const timestamp = new Date().toISOString()
    return send([{ lat: 52, lng: 13.4, timestamp, speed: 10, heading: 90, accuracy: 100 }])
  }

  it('are those of the region or the chosen ones, for every measure', async () => {
    const page = await screens.open('about:blank', { as: owner, locale: 'en-US', map: 'still' })
    const panel = page.getByRole('complementary', { name: 'Van 7' })
    await whileSending(sendNow, async () => {
      await page.goto(`${server.url}/?subject=${van.id}`)
      await panel.getByText('22 mph').first().waitFor()
      await panel.getByText('328 ft', { exact: true }).waitFor()
      await page.getByRole('option', { name: /Van 7/ }).getByText('22 mph').waitFor()
    })
    const scale = page.locator('.maplibregl-ctrl-scale')
    await scale.getByText(/\d\s(ft|mi)$/).waitFor()

    await page.getByRole('button', { name: /^Account of/ }).click()
    const choices = page.getByRole('group', { name: 'Units' })
    await choices.getByRole('menuitemradio', { name: 'Automatic', checked: true }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    // A minute after its fix it would have no speed.
    await sendNow()
    await choices.getByRole('menuitemradio', { name: /^Metric/ }).click()
    await panel.getByText('36 km/h').first().waitFor()
    await panel.getByText('100 m', { exact: true }).waitFor()
    await scale.getByText(/\d\s(m|km)$/).waitFor()
    // The choice is kept, and the palette can change it.
    await page.reload()
    await panel.getByText('100 m', { exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or go to…').fill('un im')
    await page.getByRole('option', { name: /^Units: Imperial/ }).click()
    await panel.getByText('328 ft', { exact: true }).waitFor()
  })

  it('are the same in the list, the chart and the map of playback', async () => {
    const url = `${server.url}/playback?subject=device:${van.id}&day=${DAY}`
    const page = await screens.open(url, { as: owner, locale: 'en-GB', map: 'still' })
    const trip = page.getByRole('list', { name: 'Trips and stops' }).getByRole('button')
    await trip.getByText('7.5 mi · 20 min · max. 22 mph').waitFor()
    const chart = page.getByRole('img', { name: 'Speed over the day' })
    await chart.getByText('mph', { exact: true }).waitFor()
    await page
      .locator('.maplibregl-ctrl-scale')
      .getByText(/\d\s(ft|mi)$/)
      .waitFor()
    const metric = await screens.open(url, { as: owner })
    await metric.getByText('12 km · 20 min · max. 36 km/h').waitFor()
  })

  it('do not change an unedited geofence, whose radius is entered in metres', async () => {
    const shape = { type: 'circle', center: { lat: 52, lng: 13.4 }, radius: 123.4 }
    const { _id } = (await owner.post('/geofence', { name: 'Yard', shape })).body.data
    const page = await screens.open(`${server.url}/?fence=${_id}`, { as: owner, locale: 'en-US' })
    await page.getByText('Circle, 405 ft').waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    const radius = page.getByRole('textbox', { name: 'Radius (m)' })
    expect(await radius.inputValue()).toBe('123.4')
    await page.getByText('about 405 ft').waitFor()
    expect(await radius.getAttribute('aria-describedby')).not.toBeNull()
    const saved = page.waitForRequest(request => request.method() === 'PATCH')
    await page.getByRole('textbox', { name: 'Name' }).fill('Old yard')
    await page.getByRole('button', { name: 'Save' }).click()
    expect((await saved).postDataJSON()).toEqual({ name: 'Old yard' })
  })

  it.each([
    ['en-US', /^moving, 22 mph/],
    ['en-150', /^moving, 36 km\/h/],
  ])('of a tracking link’s page are those of the browser alone: %s', async (locale, said) => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const body = { subjectId: van.id, subjectType: 'device', trailMinutes: 0, expiresAt }
    const { url } = (await owner.post('/tracking-link', body)).body.data
    await sendNow()
    const page = await screens.open(url, { locale })
    await page.getByText(said).first().waitFor()
  })
})

describe('A length', () => {
  const write = (units: 'metric' | 'imperial', texts = en, locale = 'en-GB') =>
    createFormat(locale, 'UTC', texts, units)

  it.each([
    [0.3048, '0 m', '1 ft'],
    [8, '8 m', '26 ft'],
    [304, '304 m', '997 ft'],
    [482.8032, '483 m', '0.3 mi'],
    [1_609.344, '1.6 km', '1 mi'],
    [42_195, '42.2 km', '26.2 mi'],
    [2_000_000, '2,000 km', '1,242.7 mi'],
  ])('of %s m is %s, or %s', (metres, metric, imperial) => {
    expect(write('metric').distance(metres)).toBe(metric)
    expect(write('imperial').distance(metres)).toBe(imperial)
  })

  it('and a speed are written in the number format of the language', () => {
    expect(write('imperial', de, 'de').distance(42_195)).toBe('26,2 mi')
    expect(write('imperial').speed(44.704)).toBe('100 mph')
    expect(write('metric').speed(10)).toBe('36 km/h')
    expect([write('metric').speedUnit, write('imperial').speedUnit]).toEqual(['km/h', 'mph'])
    expect(write('imperial').speed(ZERO_MPS * 0.999)).toBe('0 mph')
    expect(write('imperial').speed(ZERO_MPS)).toBe('1 mph')
  })
})

describe('The units of a region', () => {
  it.each([
    ['en-US', '', '', 'imperial'],
    ['es-US', 'de-DE', 'Europe/Berlin', 'imperial'],
    ['en-GB', '', '', 'imperial'],
    ['my-MM', '', '', 'imperial'],
    ['en-LR', '', '', 'imperial'],
    ['en-IE', 'en-US', 'America/New_York', 'metric'],
    ['de-DE', '', '', 'metric'],
    ['en-CA', '', '', 'metric'],
    // The browser names no region, so the organization's counts.
    ['en', 'en-US', 'Europe/Berlin', 'imperial'],
    ['en', 'de-AT', 'America/New_York', 'metric'],
    ['en', 'en', 'America/New_York', 'imperial'],
    ['es', 'en', 'America/Indiana/Knox', 'imperial'],
    ['en', 'en', 'Europe/London', 'imperial'],
    ['my', 'en', 'Asia/Yangon', 'imperial'],
    ['en', 'en', 'America/Toronto', 'metric'],
    ['en', 'en', 'America/Sao_Paulo', 'metric'],
    ['en', '', '', 'metric'],
  ])('of %s, with an organization of %s and %s, are %s', (browser, language, timeZone, units) => {
    expect(unitsOf(browser, { language, timeZone })).toBe(units)
  })
})
