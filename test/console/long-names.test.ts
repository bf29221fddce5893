import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { PATHS } from '../../console/paths.ts'
import { type Client, createClient, createDevice } from '../support/client.ts'
import { addOrganization, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

const WITHOUT_NAVIGATION = [
  '/sign-in',
  '/invitation',
  '/forgot-password',
  '/reset-password',
  '/register',
  // Only whoever runs the server sees it.
  '/server',
  '/settings/:section/:id?',
]
/** Pages whose first look shows no record with such a name. */
const WITHOUT_NAMES = ['/', '/playback', '/tracker-profiles', '/users', '/schedules', '/imports', '/settings']

describe('Names of the maximum length', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const LONG = 'W'.repeat(100)
  let crowd: Client

  beforeAll(async () => {
    crowd = (await addOrganization(server, owner, { hubName: LONG })).client
    const device = await createDevice(crowd, LONG)
    const timestamp = new Date().toISOString()
    const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString()
    const points = [52.5, 95].map(lat => ({ lat, lng: 13.4, timestamp }))
    await createClient(server, device.key).post('/location-history/bulk', { points })
    const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 500 }
    const link = { subjectId: device.id, subjectType: 'device', trailMinutes: 60 }
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    for (const [path, body] of [
      ['/hub', { name: `${LONG.slice(1)}2`, lat: 52, lng: 13 }],
      ['/vehicle', { name: LONG, plate: 'W'.repeat(30), tags: [LONG] }],
      ['/team', { name: LONG }],
      ['/geofence', { name: LONG, shape }],
      ['/tracking-link', { ...link, expiresAt }],
      ['/connection', { name: LONG, kind: 'http', profileId: 'ttn' }],
      ['/data-type', { name: LONG, fields: [{ key: 'name', label: LONG, type: 'text' }] }],
      ['/api-key', { name: LONG, roleId: await roleId(crowd, 'Planner'), hubId: [] }],
      // The page of tasks shows today, which may be the next day by then.
      ['/task', { name: LONG, startTime: timestamp, endTime: timestamp }],
      ['/task', { name: LONG, startTime: tomorrow, endTime: tomorrow }],
    ] as const)
      expect([path, (await crowd.post(path, body)).status]).toEqual([path, 201])
  })

  /** The organization's language counts before the browser's. */
  const speak = async (language: string) =>
    expect((await crowd.patch('/organization', { language })).status).toBe(200)

  it('every page fits a phone, also in German: nothing is cut off, and the bar is complete', async () => {
    const size = { width: 390, height: 844 }
    await speak('de')
    // Each page is left soon, maybe while it is still opening a socket of its own.
    const mayFail = /WebSocket is closed before/
    const page = await screens.open(`${server.url}/hubs`, { as: crowd, size, locale: 'de-DE', mayFail })
    await page.getByRole('row', { name: /WWW/ }).first().waitFor()
    await page.getByRole('button', { name: 'Mehr' }).click()
    await page.getByRole('menuitem', { name: 'Hubs' }).waitFor()
    const paths = await page.evaluate(() =>
      [...document.querySelectorAll('nav a[href], [role=menu] a[href]')].map(
        link => new URL((link as HTMLAnchorElement).href).pathname.replace(/^\/o\/[\da-f-]{36}/, '') || '/',
      ),
    )
    const pages = PATHS.filter(path => !WITHOUT_NAVIGATION.includes(path)).map(path =>
      path.replace(/(.)\/:.*/, '$1'),
    )
    expect(new Set(paths)).toEqual(new Set(pages))
    const { _id } = (await crowd.get('/devices')).body.data[0]
    for (const path of [...new Set(paths), `/?subject=${_id}`, `/playback?subject=device:${_id}`]) {
      await goWithin(page, path)
      await page.locator('h1').first().waitFor()
      if (!WITHOUT_NAMES.includes(path))
        await page
          .getByText(path === '/rejections' ? /Ungültige/ : /WWW/)
          .locator('visible=true')
          .first()
          .waitFor()
      expect([path, ...(await findCutOff(page))]).toEqual([path])
    }
    await page.getByRole('radio', { name: '60' }).waitFor()
    await page.setViewportSize({ width: 768, height: 1_024 })
    expect(await findCutOff(page)).toEqual([])
  })

  it('the filters of the map are side by side, and a panel shows two lines of a name', async () => {
    const { _id } = (await crowd.get('/devices')).body.data[0]
    for (const locale of ['en-GB', 'de-DE']) {
      const size = { width: 1_280, height: 720 }
      await speak(locale.slice(0, 2))
      const page = await screens.open(`${server.url}/?subject=${_id}`, { as: crowd, size, locale })
      const filters = page.locator('.list-filters > .field')
      await until('all four are there', async () => (await filters.count()) === 4)
      const boxes = await filters.evaluateAll(fields =>
        fields
          .flatMap(field => [field, ...field.querySelectorAll('button')])
          .map(one => {
            const { left, right, top, bottom } = one.getBoundingClientRect()
            return { left, right, top, bottom, of: one.closest('.field')?.getBoundingClientRect().toJSON() }
          }),
      )
      for (const { left, right, of } of boxes) {
        expect(left).toBeGreaterThanOrEqual(of.left - 0.5)
        expect(right).toBeLessThanOrEqual(of.right + 0.5)
      }
      const fields = boxes.filter((_, index) => index % 2 === 0)
      const overlap = fields.flatMap((a, index) =>
        fields
          .slice(index + 1)
          .filter(b => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top),
      )
      expect(overlap).toEqual([])
      const title = page.locator('.panel h2')
      await title.waitFor()
      expect((await title.boundingBox())?.height).toBeLessThan(60)
      expect(await findCutOff(page)).toEqual([])
    }
  })

  it('a missing page and record explain themselves, and lead on', async () => {
    await speak('en')
    const [device] = (await crowd.get('/devices?search=W')).body.data
    const silent = await createDevice(crowd, `Silent ${Date.now()}`)
    const hub = (await crowd.get('/hubs')).body.data.find(({ name }: { name: string }) => name.endsWith('2'))
    const nowhere = crypto.randomUUID()
    const page = await screens.open(`${server.url}/devices/${nowhere}`, { as: crowd, mayFail: /404/ })
    await page.getByRole('main').getByText('it was deleted, or your role').waitFor()
    await page.getByRole('button', { name: 'Back to Devices' }).click()
    await page.getByRole('table', { name: 'Devices' }).waitFor()

    await goWithin(page, `/playback?subject=device:${nowhere}`)
    await page.getByRole('button', { name: 'Remove Unknown' }).waitFor()

    await goWithin(page, `/?subject=${nowhere}`)
    await page
      .getByRole('complementary', { name: 'Not found' })
      .getByText('it was deleted, or your role')
      .waitFor()

    await goWithin(page, `/?subject=${silent.id}`)
    const panel = page.getByRole('complementary', { name: /^Silent/ })
    await panel.getByText('No position received yet.').waitFor()
    await panel.getByRole('link', { name: 'Rejected points' }).waitFor()
    await panel.getByRole('button', { name: 'Set up' }).click()
    await page.getByRole('dialog', { name: /^Set up Silent/ }).waitFor()

    await page.goto(`${server.url}/?hub=${hub._id}&subject=${device._id}`)
    await page.getByRole('complementary').getByText('Hidden by the filters.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.locator('.list').getByRole('button', { name: 'Clear all filters' }).click()
    await page.getByRole('option', { name: /WWW/ }).waitFor()
    await page.getByRole('complementary').getByRole('button', { name: 'Follow' }).waitFor()

    // A button without text has a tooltip.
    for (const name of ['Zoom in', 'Geofences on the map', 'Moving: 0']) {
      const button = page.getByRole(name === 'Moving: 0' ? 'radio' : 'button', { name })
      await button.hover()
      await until(`${name} is said`, () =>
        button.evaluate(one => {
          const { content, visibility } = getComputedStyle(one, '::after')
          return visibility === 'visible' && content === `"${one.ariaLabel}"`
        }),
      )
    }
  })
})

/** Elements that overflow the window: the page itself, and all buttons and fields. */
async function findCutOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const reached = [...document.querySelectorAll('a[href], button, input, h1, h2')].filter(element => {
      const { left, right, width } = element.getBoundingClientRect()
      const isSeen = width > 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      return (
        isSeen && !element.closest('.skip, [aria-hidden=true]') && (left < -0.5 || right > clientWidth + 0.5)
      )
    })
    return [
      ...(scrollWidth > clientWidth ? [`the page: ${scrollWidth}`] : []),
      ...reached.map(element => `${element.tagName} ${element.textContent || element.ariaLabel}`),
    ]
  })
}
