import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { hasFocus, useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

/** A laptop of 1,280 by 1,024 at 400 %, one of 1,280 by 800 at 200 %, and a phone. */
const SIZES = [
  { width: 320, height: 256 },
  { width: 640, height: 400 },
  { width: 390, height: 844 },
]
/** A smaller control is hard to hit. */
const HIT_PX = 12

/** From 16 to 32, although the layout of a phone writes some names smaller. */
const MIN_GROWTH = 1.6

describe('A small or enlarged screen', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const ids = { van: '', day: '', vehicle: '', fence: '', polygon: '', connection: '', task: '', type: '' }
  const make = async (path: string, body: object) => (await owner.post(path, body)).body.data._id as string

  beforeAll(async () => {
    const van = await createDevice(owner, 'Van of the night shift')
    const now = Date.now()
    ids.day = new Date(now).toISOString().slice(0, 10)
    const points = [...Array(20).keys()].map(n => ({
      timestamp: new Date(now - n * 30_000).toISOString(),
      ...{ lat: 52.5 + n * 1e-3, lng: 13.4, speed: 10 },
    }))
    const device = createClient(server, van.key)
    expect((await device.post('/location-history/bulk', { points })).status).toBe(200)
    await device.post('/location-history/bulk', { points: [{ ...points[0], lat: 100 }] })
    const expiresAt = new Date(now + 3_600_000).toISOString()
    const link = { subjectId: van.id, subjectType: 'device', trailMinutes: 60, expiresAt }
    expect((await owner.post('/tracking-link', link)).status).toBe(201)
    const circle = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 500 }
    const corners = [
      [13.4, 52.5],
      [13.5, 52.5],
      [13.5, 52.6],
      [13.4, 52.5],
    ]
    ids.van = van.id
    ids.fence = await make('/geofence', { name: 'Depot in the north', shape: circle })
    ids.polygon = await make('/geofence', {
      name: 'Harbour',
      shape: { type: 'polygon', coordinates: corners },
    })
    await make('/hub', { name: 'Depot', lat: 52, lng: 13 })
    ids.connection = await make('/connection', { name: 'LoRaWAN network', kind: 'http', profileId: 'ttn' })
    await make('/team', { name: 'North' })
    const window = { startTime: '2026-03-10T09:00:00Z', endTime: '2026-03-10T10:00:00Z' }
    ids.task = await make('/task', { name: 'Deliver three parcels', ...window })
    const fields = [
      { key: 'name', label: 'Name', type: 'text' },
      { key: 'place', label: 'Place', type: 'location' },
      { key: 'since', label: 'Customer since', type: 'date' },
    ]
    ids.type = await make('/data-type', { name: 'Customer', fields })
    await make('/data', { dataTypeId: ids.type, data: { name: 'Acme' } })
    for (let n = 30; n > 0; n--)
      ids.vehicle = await make('/vehicle', { name: `Van ${n}`, plate: `B-FL ${n}` })
  })

  const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click()
  const PAGES: [string, () => string, ((page: Page) => Promise<void>)?][] = [
    ['the map', () => '/'],
    ['the list', () => '/', page => page.getByText('List', { exact: true }).click()],
    ['a subject', () => `/?subject=${ids.van}`],
    ['the link to share', () => `/?subject=${ids.van}`, press('Share')],
    ['a geofence', () => `/?fence=${ids.fence}`],
    ['a new geofence', () => '/?fence=new'],
    ['a geofence that is changed', () => `/?fence=${ids.polygon}&edit=true`],
    ['an area that is drawn', () => '/', press('Draw an area')],
    ['an area that is chosen', () => `/?area=fence:${ids.fence}`],
    ['playback', () => '/playback'],
    ['a day that is played', () => `/playback?subject=device:${ids.van}`],
    ['devices', () => '/devices'],
    ['a device', () => `/devices/${ids.van}`],
    ['the setup of a device', () => `/devices/${ids.van}`, press('Set up')],
    ['vehicles', () => '/vehicles'],
    ['a vehicle', () => `/vehicles/${ids.vehicle}`],
    ['a new team', () => '/teams/new'],
    ['a new hub', () => '/hubs/new'],
    ['geofences', () => '/geofences'],
    ['connections', () => '/connections'],
    ['a new connection', () => '/connections/new'],
    ['a connection', () => `/connections/${ids.connection}`],
    ['profiles', () => '/tracker-profiles'],
    ['a new profile', () => '/tracker-profiles/new'],
    ['a new API key', () => '/api-keys/new'],
    ['tasks', () => '/tasks?day=2026-03-10'],
    ['a timeline', () => '/tasks?day=2026-03-10&view=timeline'],
    ['a task', () => `/tasks/${ids.task}`],
    ['a new task', () => '/tasks/new'],
    ['a new schedule', () => '/schedules?schedule=new'],
    ['data', () => `/data-types/${ids.type}`],
    ['a data type', () => `/data-types/${ids.type}?edit=true`],
    ['a new record', () => `/data-types/${ids.type}?record=new`],
    ['a new import', () => '/imports?new=true'],
    ['rejected points', () => '/rejections'],
    ['users', () => '/users'],
    ['an invitation', () => '/users/new'],
    ['the teams to arrange', () => '/teams?view=board'],
    ['the organization', () => '/settings/organization'],
    ['roles', () => '/settings/roles'],
    ['a new role', () => '/settings/roles/new'],
    ['webhooks', () => '/settings/webhooks'],
    ['the audit log', () => '/settings/audit-log'],
    ['the account', () => '/settings/account'],
    ['links', () => '/links'],
    ['the palette', () => '/', page => page.keyboard.press('Control+k')],
    ['the menu of the account', () => '/', press(/^Account of/)],
    ['a page that is missing', () => '/nothing'],
    ['the interface', () => '/api/v3/docs'],
  ]

  /** Pages on a map or beside one; below all others the map is the same. */
  const ON_MAP = [
    'the map',
    'a new geofence',
    'a geofence that is changed',
    'an area that is drawn',
    'an area that is chosen',
    'a day that is played',
  ]

  it.each([
    ['in general', 'none'],
    ['on a map', 'still'],
  ] as const)('shows all of every page %s, and every control can be clicked', async (_where, map) => {
    const page = await screens.open('about:blank', { as: owner, size: SIZES[2], mayFail: /404/, map })
    const lost: string[] = []
    let isReady = false
    for (const [name, path, open] of PAGES.filter(([name]) => ON_MAP.includes(name) === (map === 'still'))) {
      // The interface is no page of the console's router.
      if (isReady && name !== 'the interface') await goWithin(page, path())
      else await page.goto(`${server.url}${path()}`)
      await settle(page)
      await open?.(page)
      // What was opened would lie over the next page too.
      isReady = !open && name !== 'the interface'
      for (const size of SIZES) {
        await page.setViewportSize(size)
        await settle(page)
        for (const what of await findLost(page)) lost.push(`${name}, ${size.width}x${size.height}: ${what}`)
      }
    }
    expect(lost).toEqual([])
  })

  it('shows all of the sign-in', async () => {
    const page = await screens.open(server.url, { size: SIZES[2] })
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    for (const size of SIZES) {
      await page.setViewportSize(size)
      expect([size, ...(await findLost(page))]).toEqual([size])
    }
  })

  it.each([
    ['the map', () => `/?subject=${ids.van}`],
    ['playback', () => `/playback?subject=device:${ids.van}`],
    ['vehicles', () => '/vehicles/new'],
    ['the interface', () => '/api/v3/docs'],
  ])('follows the browser’s font size: %s', async (_name, path) => {
    const size = { width: 1_280, height: 800 }
    const page = await screens.open(server.url + path(), { as: owner, size, map: 'still' })
    await settle(page)
    const usual = await readFontSizes(page)
    const browser = await page.context().newCDPSession(page)
    await browser.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
    await page.reload()
    await settle(page)
    const large = await readFontSizes(page)
    const small = Object.entries(large).filter(([what, px]) => px < MIN_GROWTH * (usual[what] ?? 0))
    expect(small).toEqual([])
    expect(await findLost(page)).toEqual([])
    expect(await findCut(page)).toEqual([])
  })

  it.each([390, 320])('cuts no word on a phone of %i pixels with letters of twice the size', async width => {
    const size = { width, height: 844 }
    const page = await screens.open(`${server.url}/hubs`, { as: owner, size, locale: 'de-DE' })
    const browser = await page.context().newCDPSession(page)
    await browser.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
    const wrong: string[] = []
    await page.reload()
    for (const path of ['/', '/playback', '/devices', '/devices/new', '/vehicles', '/links', '/rejections']) {
      await goWithin(page, path)
      await settle(page)
      // Only a table may scroll sideways.
      const lost = (await findLost(page)).filter(
        what => !/^(div\.table-box|tr\.|button\.sort|a\.)/.test(what),
      )
      for (const what of [...lost, ...(await findCutWords(page))]) wrong.push(`${path}: ${what}`)
    }
    expect(wrong).toEqual([])
  })

  it.each([
    ['the live map', () => `/?subject=${ids.van}`, '600 22px'],
    ['playback', () => `/playback?subject=device:${ids.van}&day=${ids.day}`, '600 24px'],
  ])('draws names on the map in the browser’s font size: %s', async (_name, path, font) => {
    const page = await screens.open(`${server.url}/links`, { as: owner, map: 'still' })
    const browser = await page.context().newCDPSession(page)
    await browser.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
    await page.goto(server.url + path())
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
    const canvas = page.locator('canvas.map-layer').last()
    const drawn = () =>
      canvas.evaluate((one: HTMLCanvasElement) => one.getContext('2d')?.font.slice(0, 8) ?? '')
    await until(`a name is drawn in ${font}`, async () => (await drawn()) === font)
  })

  it.each(['en-GB', 'de-DE'])('shows the words of a search in full (%s)', async locale => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner, size: SIZES[0], locale })
    await page.getByRole('main').getByRole('searchbox').waitFor()
    await page.evaluate(() => document.fonts.ready.then(() => true))
    for (const width of [320, 390, 640]) {
      await page.setViewportSize({ width, height: 600 })
      expect([width, await page.getByRole('searchbox').evaluate(hasRoomForPlaceholder)]).toEqual([
        width,
        true,
      ])
    }
  })

  it('shows the whole name of an account in the API reference', async () => {
    const page = await screens.open(`${server.url}/api/v3/docs`, {
      as: owner,
      size: { width: 1_280, height: 800 },
    })
    const said = page.getByText(/^Signed in/)
    await said.evaluate(one => {
      one.textContent += '.of-a-rather-long-domain.example.com'
    })
    expect(await said.evaluate(one => one.scrollWidth <= one.clientWidth)).toBe(true)
  })

  it('shows the focus in a dialog and at a heading', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner })
    const ring = () =>
      page.evaluate(() => {
        const { activeElement } = document
        return activeElement && `${activeElement.tagName} ${getComputedStyle(activeElement).outlineStyle}`
      })
    await page.getByRole('row', { name: /Van 1 / }).press('Enter')
    await page.getByRole('dialog').waitFor()
    await until('the dialog shows the focus', async () => (await ring()) === 'SECTION solid')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Vehicles' }).evaluate(one => {
      one.tabIndex = -1
      one.focus()
    })
    await until('the heading shows the focus', async () => (await ring()) === 'H1 solid')
  })

  it('explains why Escape does not close a secret, and focuses the button that does', async () => {
    const page = await screens.open(`${server.url}/?subject=${ids.van}`, { as: owner })
    await page.getByRole('button', { name: 'Share' }).click()
    await page.getByRole('button', { name: 'Create link' }).click()
    await page.getByText('The link is only shown once').waitFor()
    for (const opened of ['a link', 'a key']) {
      await page.keyboard.press('Escape')
      await page
        .getByRole('status')
        .getByText('This is only shown once. Choose “Done” to close it.')
        .waitFor()
      await hasFocus(page, 'Done')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      if (opened === 'a key') return
      await page.goto(`${server.url}/devices/new`)
      await page.getByLabel('Name', { exact: true }).fill('Another van')
      await page.getByLabel('Name', { exact: true }).press('Enter')
      await page.getByText('The key is only shown once').waitFor()
    }
  })

  it('shows some rows of a table, which lead on by keys', async () => {
    const page = await screens.open(`${server.url}/vehicles`, { as: owner, size: SIZES[0] })
    await page.getByRole('row', { name: /Van 1 / }).focus()
    for (const name of [/Van 10 /, /Van 11 /, /Van 12 /]) {
      await page.keyboard.press('ArrowDown')
      const row = page.getByRole('row', { name })
      await until('the row has the focus', () => row.evaluate(one => one === document.activeElement))
    }
    const box = page.getByRole('table').locator('..')
    expect(await box.evaluate(one => one.clientHeight)).toBeGreaterThan(3 * 40)
    expect(await findLost(page)).toEqual([])
  })

  it('shows the whole form of a geofence, and the map after it', async () => {
    const page = await screens.open(`${server.url}/?fence=new`, { as: owner, size: SIZES[1], map: 'still' })
    const panel = page.getByRole('complementary', { name: 'New geofence' })
    await panel.getByLabel('Name', { exact: true }).waitFor()
    expect(await panel.evaluate(one => one.scrollHeight <= one.clientHeight)).toBe(true)
    const map = page.getByRole('region', { name: 'Map', exact: true })
    const [form, drawn] = [await panel.boundingBox(), await map.boundingBox()]
    expect(drawn?.y).toBeGreaterThanOrEqual((form?.y ?? 0) + (form?.height ?? 0))
    expect(drawn?.height).toBeGreaterThanOrEqual(200)
  })
})

/** Waits until everything is loaded and the page has its size. */
async function settle(page: Page): Promise<void> {
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  await page.waitForLoadState('networkidle')
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
}

function hasRoomForPlaceholder(one: Element): boolean {
  const { placeholder, clientWidth } = one as HTMLInputElement
  const style = getComputedStyle(one)
  const pen = document.createElement('canvas').getContext('2d') as CanvasRenderingContext2D
  pen.font = style.font
  const padding = Number.parseFloat(style.paddingLeft) + Number.parseFloat(style.paddingRight)
  return pen.measureText(placeholder).width <= clientWidth - padding
}

/** The font size of every element with text of its own, by its tag, class and text. */
const readFontSizes = (page: Page): Promise<Record<string, number>> =>
  page.evaluate(() => {
    const sizes: Record<string, number> = {}
    for (const one of document.querySelectorAll('#root *')) {
      const words = [...one.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
      const said = words.map(({ nodeValue }) => nodeValue).join('')
      if (!said.trim() || /\d/.test(said) || !one.checkVisibility()) continue
      sizes[`${one.tagName} ${said}`] = Number.parseFloat(getComputedStyle(one).fontSize)
    }
    return sizes
  })

/** Buttons and rows whose text overflows. */
const findCut = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('button, input, .row, td')]
      .filter(one => one.checkVisibility() && one.offsetWidth > 2 && one.scrollHeight > one.offsetHeight + 1)
      .map(one => `${one.className} ${one.textContent}: ${one.scrollHeight} px in ${one.offsetHeight}`),
  )

/** Elements that are wider than the screen, and controls that cannot be seen or clicked when they have the focus. */
const findLost = (page: Page): Promise<string[]> =>
  page.evaluate(async hitPx => {
    const lost: string[] = []
    const say = (one: Element, what: string) => {
      const name = one.ariaLabel ?? one.getAttribute('name') ?? one.textContent ?? ''
      lost.push(`${one.tagName.toLowerCase()}.${one.className} ${name.trim().slice(0, 40)}: ${what}`)
    }
    const { scrollWidth } = document.documentElement
    if (scrollWidth > innerWidth) lost.push(`the page is ${scrollWidth} px wide`)
    for (const one of document.querySelectorAll('body *:not(pre)')) {
      const scrolls = ['auto', 'scroll'].includes(getComputedStyle(one).overflowX)
      if (scrolls && one.scrollWidth > one.clientWidth && one.clientWidth > 0)
        say(one, `${one.scrollWidth} px in ${one.clientWidth}`)
    }
    const controls = 'a[href], button, input, select, textarea, summary, [tabindex="0"]'
    for (const one of document.querySelectorAll<HTMLElement>(controls)) {
      const isAway = one.closest('[inert], [aria-hidden="true"], :disabled, [data-disabled]') !== null
      if (isAway || one.tabIndex < 0 || !one.checkVisibility({ visibilityProperty: true })) continue
      // The map continues beneath an open panel.
      if (one instanceof HTMLCanvasElement) continue
      one.focus()
      if (document.activeElement !== one) continue
      // Its visible element may be its label.
      const target = one.offsetWidth > 2 ? one : one.closest('label')
      if (!target) continue
      // In a text with many lines the focus shows one.
      if (target instanceof HTMLTextAreaElement) target.scrollIntoView({ block: 'center' })
      const { left, right, top, bottom } = target.getBoundingClientRect()
      const [from, to] = [Math.max(top, 0), Math.min(bottom, innerHeight)]
      const [start, end] = [Math.max(left, 0), Math.min(right, innerWidth)]
      if (left < -1 || right > innerWidth + 1) say(one, `from ${Math.round(left)} to ${Math.round(right)}`)
      if (to - from < Math.min(hitPx, bottom - top)) {
        say(one, `at ${Math.round(top)} of ${innerHeight}`)
        continue
      }
      const hit = document.elementFromPoint((start + end) / 2, (from + to) / 2)
      if (!hit || !(target.contains(hit) || hit.contains(target)))
        say(one, `below ${hit?.tagName.toLowerCase()}.${hit?.className}`)
    }
    return lost
  }, HIT_PX)

/** Partly hidden text, except for names given by people and the labels of fields. */
const findCutWords = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('h1, h2, th, td, .nav-item span, .button, .switch > button')]
      .filter(one => one.checkVisibility() && one.clientWidth > 2 && one.scrollWidth > one.clientWidth + 1)
      .filter(one => !one.matches('.organization'))
      .map(one => `${one.tagName} ${one.textContent}: ${one.scrollWidth} px in ${one.clientWidth}`),
  )
