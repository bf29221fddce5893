import type { Page, WebSocketRoute } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useServerProcess } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/wait.ts'
import { copiedBy, findBarriers, findBarriersInThemes, useBrowser } from './browser.ts'

/** Goals of the product: the first load of the console, and of a tracking link's page. */
const CONSOLE_BYTES = 600_000
const TRACK_BYTES = 350_000

/** The bytes that the server has sent for a page, as transferred. */
async function weigh(page: Page): Promise<{ bytes: number; names: string[] }> {
  return page.evaluate(() => {
    const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
    const [document] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    const files = entries.filter(({ name }) => !name.includes('/api/'))
    // A thread lists the files that it shares with the page again: they come from the browser's cache.
    const sizes = new Map(files.map(({ name, encodedBodySize }) => [name, encodedBodySize]))
    return {
      bytes: [...sizes.values()].reduce((sum, size) => sum + size, document?.encodedBodySize ?? 0),
      names: [...sizes.keys()].map(name => new URL(name).pathname),
    }
  })
}

describe('Sharing', () => {
  const { server } = useServerProcess()
  const screens = useBrowser({ map: 'none' })
  let owner: Client
  let van: TestDevice
  let secondsAgo = 600

  const send = (point: object) => sendAt(Date.now() - --secondsAgo * 1_000, point)
  const sendNow = (point: object) => sendAt(Date.now(), point)
  const sendAt = async (at: number, point: object) => {
    const timestamp = new Date(at).toISOString()
    const points = [{ lat: 52.52, lng: 13.4, timestamp, ...point }]
    expect((await createClient(server, van.key).post('/location-history/bulk', { points })).status).toBe(200)
  }
  /** Whether the marker, in the middle of the map, is drawn as moving, idle or silent. */
  const isMarked = (page: Page, state: 'moving' | 'idle' | 'offline') =>
    page.locator('canvas').evaluate((canvas: HTMLCanvasElement, name) => {
      const probe = document.body.appendChild(document.createElement('i'))
      probe.style.color = `var(--${name}-mark)`
      const wanted = getComputedStyle(probe).color
      probe.remove()
      const middle = canvas.getContext('2d')?.getImageData(canvas.width / 2, canvas.height / 2, 1, 1)
      return wanted === `rgb(${[...(middle?.data ?? [])].slice(0, 3).join(', ')})`
    }, state)
  const share = async () => {
    const body = { subjectId: van.id, subjectType: 'device', trailMinutes: 60 }
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    return (await owner.post('/tracking-link', { ...body, expiresAt })).body.data as {
      _id: string
      url: string
    }
  }

  beforeAll(async () => {
    owner = await signIn(server)
    van = await createDevice(owner, 'Van 7')
    for (const lng of [13.39, 13.395, 13.4]) await send({ lng, speed: 10, heading: 0 })
  })

  it('creates a link that opens without an account, and revokes it', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner })
    await page.getByRole('button', { name: 'Share' }).click()
    const dialog = page.getByRole('dialog', { name: 'Share where Van 7 is' })
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await dialog.getByText('The link is only shown once. Copy it now.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    const url = await copiedBy(dialog, 'Copy Link')
    expect(url).toMatch(/\/track\/[\w-]{43}$/)
    await dialog.getByRole('button', { name: 'Done' }).click()

    const outside = await screens.open(url, { size: { width: 390, height: 844 } })
    await outside.getByRole('heading', { name: 'Where Van 7 is' }).waitFor()
    await page.getByRole('link', { name: 'Tracking links' }).click()
    const revoke = page.getByRole('button', { name: 'Revoke: Van 7' })
    await revoke.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).press('Enter')
    await until('it has the focus again', () => revoke.evaluate(one => one === document.activeElement))
    await revoke.press('Enter')
    // Enter once more revokes no other link.
    const question = page.getByRole('dialog')
    await until('what changes nothing has the focus', () =>
      question.getByRole('button', { name: 'Cancel' }).evaluate(one => one === document.activeElement),
    )
    await question.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No links yet').waitFor()
    await outside.getByRole('heading', { name: 'This link no longer works' }).waitFor()
  })

  it('describes the map to screen readers, and keeps the description current', async () => {
    const { url } = await share()
    const size = { width: 390, height: 844 }
    const page = await screens.open(url, { size, mayFail: /willReadFrequently/ })
    /** The page's current time, in the future. */
    const setAhead = (ms: number) =>
      page.evaluate(ahead => {
        Date.now = () => performance.timeOrigin + performance.now() + ahead
      }, ms)
    await setAhead(600_000)
    // After it stopped sending, the speed of its last fix says nothing about now.
    await page.getByRole('img', { name: /^Where Van 7 is: last seen \d+ min/ }).waitFor()
    await until('its marker is grey', () => isMarked(page, 'offline'))
    await setAhead(0)
    await sendNow({ lng: 13.401, speed: 20, heading: 180 })
    await page
      .getByText(/^moving, 72 km\/h, heading south/)
      .first()
      .waitFor()
    await page.getByRole('img', { name: /^Where Van 7 is: moving, 72 km\/h/ }).waitFor()
    await until('its marker is as what moves', () => isMarked(page, 'moving'))
    await sendNow({ lng: 13.402, speed: 0 })
    await page
      .getByText(/^standing still, just now/)
      .first()
      .waitFor()
    await setAhead(600_000)
    await page.getByRole('img', { name: /^Where Van 7 is: last seen \d+ min/ }).waitFor()
    await until('its marker is grey again', () => isMarked(page, 'offline'))
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })

  it('notices a silently dead connection, and reconnects', async () => {
    const { pathname } = new URL((await share()).url)
    const proxy = await startProxy(() => Number(new URL(server.url).port))
    const size = { width: 390, height: 844 }
    const see = async (page: Page, kmh: number) => {
      const name = new RegExp(`moving, ${kmh} km/h`)
      await page.getByRole('img', { name }).waitFor()
    }
    try {
      const address = `http://127.0.0.1:${proxy.port}${pathname}`
      const waiting = await screens.open(address, { size, mayFail: /WebSocket|ERR_/ })
      await sendNow({ speed: 5, heading: 90 })
      await see(waiting, 18)
      proxy.set('answers lost')
      proxy.set('clear')
      await sendNow({ speed: 10, heading: 90 })
      await waiting.evaluate(() => window.dispatchEvent(new Event('online')))
      await see(waiting, 36)
      await waiting.close()

      const page = await screens.open('about:blank', { size, mayFail: /WebSocket|ERR_/ })
      // A fifth of its timeout: the page would notice after half a minute.
      await page.addInitScript(() => {
        const wait = window.setTimeout
        const sooner = (step: () => void, ms = 0) => wait(step, ms / 5)
        window.setTimeout = sooner as typeof setTimeout
      })
      await page.goto(address)
      await see(page, 36)
      proxy.set('answers lost')
      proxy.set('clear')
      await sendNow({ speed: 15, heading: 90 })
      await see(page, 54)
      const note = page.locator('.note')
      // On a slow machine a connection may take longer to open than a fifth of its time, and is lost for a moment.
      await note.waitFor({ state: 'hidden' })

      proxy.set('answers lost')
      await note.waitFor()
      await page.getByRole('img', { name: /: last seen / }).waitFor()
      proxy.set('clear')
      await sendNow({ speed: 20, heading: 90 })
      await see(page, 72)
      await note.waitFor({ state: 'hidden' })
    } finally {
      await proxy.close()
    }
  })

  it('keeps a connection without news, and replaces a silent one', async () => {
    const page = await screens.open('about:blank')
    await page.clock.install()
    const sockets: WebSocketRoute[] = []
    await page.routeWebSocket(/live\/tracking/, socket => void sockets.push(socket))
    await page.goto((await share()).url)
    await until('it has connected', () => sockets.length === 1)
    // The clock refuses a time that has passed, and the message keeps the connection until this one.
    const stopsAt = Date.now() + 15_000
    sockets[0]?.send('{"type":"positions","positions":[]}')
    await page.evaluate(() => {})
    await page.clock.pauseAt(stopsAt)
    for (let n = 0; n < 8; n++) {
      sockets[0]?.send('{"type":"positions","positions":[]}')
      // The page handles a message before a later call.
      await page.evaluate(() => {})
      await page.clock.runFor(15_000)
    }
    expect(sockets).toHaveLength(1)
    await page.clock.runFor(10_000)
    await until('it has connected anew', () => sockets.length === 2)
  })

  it('breaks a long name without spaces, and leaves the map in place', async () => {
    const { id } = await createDevice(owner, 'W'.repeat(100))
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const body = { subjectId: id, subjectType: 'device', trailMinutes: 0, expiresAt }
    const { url } = (await owner.post('/tracking-link', body)).body.data
    const page = await screens.open(url, { size: { width: 390, height: 844 } })
    await page.getByRole('heading', { name: /WWW/ }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await page.getByRole('button', { name: 'Zoom in' }).click({ trial: true })
  })

  it('is German in a German browser', async () => {
    const page = await screens.open((await share()).url, { locale: 'de-DE' })
    await page.getByRole('heading', { name: 'Standort von Van 7' }).waitFor()
    await page.getByText(/^Link gültig bis/).waitFor()
  })

  it('is accessible', async () => {
    const page = await screens.open((await share()).url)
    await page.getByRole('heading', { name: 'Where Van 7 is' }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    const links = await screens.open(`${server.url}/links`, { as: owner })
    await links.getByRole('row').nth(1).waitFor()
    expect(await findBarriersInThemes(links)).toEqual([])
  })

  it('shows the selection in forced colours', async () => {
    const page = await screens.open(`${server.url}/?subject=${van.id}&follow=true`, { as: owner })
    const chosen = [
      page.getByRole('option', { name: /Van 7/, selected: true }),
      page.getByRole('radio', { name: 'All', checked: true }),
      page.getByRole('button', { name: 'Follow', pressed: true }),
      page.getByRole('navigation').getByRole('link', { name: 'Live map' }),
    ]
    const read = (property: string) =>
      Promise.all(
        chosen.map(one =>
          one.evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), property),
        ),
      )
    expect(await read('outline-style')).toEqual(Array(4).fill('none'))
    await page.emulateMedia({ forcedColors: 'active' })
    expect(await read('outline-style')).toEqual(Array(4).fill('solid'))
    const dot = page.getByRole('banner').getByRole('status').locator('.dot')
    expect(await dot.evaluate(one => getComputedStyle(one).borderTopWidth)).toBe('4px')
  })

  it('explains an unknown link', async () => {
    const page = await screens.open(`${server.url}/track/${'a'.repeat(43)}`, { mayFail: /404/ })
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
  })

  it('shows the whole message about a rejected point, also on a phone', async () => {
    const { id, key } = await createDevice(owner, `Tracker ${Date.now()}`)
    const points = [{ lat: 95, lng: 13.4, timestamp: 'some time' }]
    await createClient(server, key).post('/location-history/bulk', { points })
    const size = { width: 390, height: 844 }
    const page = await screens.open(`${server.url}/rejections?device=${id}`, { as: owner, size })
    const message = page.getByRole('cell', { name: / has to be / })
    await message.waitFor()
    expect(await message.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  })

  it('lets a restricted role save records whose other fields it cannot see, and uses the organization’s time zone', async () => {
    const { client: owner, hubIds } = await addOrganization(server, await signIn(server))
    expect((await owner.patch('/organization', { timeZone: 'Asia/Tokyo' })).status).toBe(200)
    const device = await createDevice(owner, 'Old name')
    const vehicle = { name: 'Van 7', hubId: hubIds[0], deviceId: device.id }
    expect((await owner.post('/vehicle', vehicle)).status).toBe(201)
    const names = [
      'view/device',
      'update/device',
      'view/tracking-link',
      'delete/tracking-link',
      'view/location',
    ]
    const permissionDetails = names.map(permissionName => ({ permissionName, scope: 'all' }))
    const role = await owner.post('/role', { name: 'Workshop', permissionDetails })
    const person = await addPerson(server, owner, { roleId: role.body.data._id, hubId: hubIds })
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const link = { subjectId: device.id, subjectType: 'device', trailMinutes: 60, expiresAt }
    expect((await owner.post('/tracking-link', link)).status).toBe(201)

    const page = await screens.open(`${server.url}/devices/${device.id}`, {
      as: person.client,
      mayFail: /40[34]/,
    })
    const form = page.getByRole('region', { name: 'Settings' })
    await form.getByRole('button', { name: 'Unknown Vehicle' }).waitFor()
    await form.getByRole('textbox', { name: 'Name' }).fill('New name')
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'New name' }).waitFor()
    expect((await owner.get(`/device/${device.id}`)).body.data.name).toBe('New name')
    // Midnight in Tokyo.
    const asked = page.waitForRequest(/location-histories\?.*from=[\d-]+T15(:|%3A)00/)
    await page.goto(`${server.url}/playback?subject=device:${device.id}`)
    await asked
    await page.getByRole('heading', { name: /^Nothing recorded on/ }).waitFor()
    await page.getByRole('button', { name: 'Remove New name' }).waitFor()
    // A device that never reported has a name as well.
    const links = await screens.open(`${server.url}/links`, { as: owner })
    await links.getByRole('button', { name: 'Revoke: New name' }).click()
    await links
      .getByRole('dialog')
      .getByText(/New name/)
      .waitFor()
  })

  it('has a small page, and the first load of the console is small too', async () => {
    const track = await screens.open((await share()).url)
    await until('the outlines are there', async () =>
      (await weigh(track)).names.some(name => /countries/.test(name)),
    )
    await until('they are whole', async () => (await weigh(track)).bytes > 100_000)
    expect((await weigh(track)).bytes).toBeLessThan(TRACK_BYTES)

    // Preloaded files come later, and not at all in a browser that saves data.
    const page = await screens.open(server.url, { as: owner, map: 'still' })
    await page.getByRole('option', { name: /Van 7/ }).waitFor()
    // A file is listed when it has come: neither of the two waits for the other.
    for (const file of [/countries-110m/, /inter-[\w-]+\.woff2/])
      await until(`${file} is loaded`, async () => (await weigh(page)).names.some(name => file.test(name)))
    const { bytes, names } = await weigh(page)
    // The finer outlines load when the page is idle, hints and the work of subjects a second after the map: none is waited for.
    const later = /countries-50m|sample-data|streets-hint|read-work/
    const fine = await sizeOf(names.filter(name => later.test(name)))
    // The page's list does not include the files of threads.
    const threads = await Promise.all(
      [/maplibre-gl-worker-[\w-]+\.js/, /socket-thread-[\w-]+\.js/].map(findFile),
    )
    const unlisted = await sizeOf(threads.filter(name => !names.includes(name)))
    expect(unlisted + bytes).toBeGreaterThan(400_000)
    expect(bytes - fine + unlisted).toBeLessThan(CONSOLE_BYTES)
  })

  async function sizeOf(paths: string[]): Promise<number> {
    let bytes = 0
    for (const path of paths) {
      const answer = await fetch(`${server.url}${path}`, { headers: { 'accept-encoding': 'br' } })
      bytes += Number(answer.headers.get('content-length'))
    }
    return bytes
  }

  /** The files that the page's scripts name. */
  async function findFile(wanted: RegExp): Promise<string> {
    const files = ['/']
    for (const file of files) {
      const text = await (await fetch(`${server.url}${file}`)).text()
      const found = wanted.exec(text)
      if (found) return `/assets/${found[0]}`
      for (const [name] of text.matchAll(/assets\/[\w.-]+\.js/g))
        files.includes(`/${name}`) || files.push(`/${name}`)
    }
    throw new Error(`No file names ${wanted}`)
  }

  it('notices within some ten seconds that the server hangs, and continues when it is back', async () => {
    const still = await createDevice(owner, 'Van 8')
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    await createClient(server, still.key).post('/location-history/bulk', { points })
    const page = await screens.open('about:blank', { as: owner, mayFail: /WebSocket|ERR_/ })
    let days = 0
    page.on('request', request => {
      if (request.url().includes('/location-histories/trips')) days++
    })
    await page.clock.install()
    await page.goto(`${server.url}/?subject=${still.id}`)
    const live = page.getByRole('status').getByText('Live')
    await live.waitFor()
    const panel = page.getByRole('complementary', { name: 'Van 8' })
    await panel.getByText('Nothing recorded today').or(panel.getByText('No trips or stops yet')).waitFor()
    // The refresh until the first trip of the day.
    await page.clock.fastForward(6_000)
    await until('its day is read again', async () => days > 1)
    process.kill(server.pid, 'SIGSTOP')
    try {
      // The clock refuses a time that has passed, also where the machine has paused meanwhile.
      await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 15_000)
      // Twice: a message that was on its way may be read only now, and the silence begins with it.
      await page.clock.runFor(18_000)
      await page
        .getByRole('status')
        .getByText(/^Offline since/)
        .waitFor()
      // Values are shown with the time of the last message.
      await panel.getByText(/^as of \d/).waitFor()
    } finally {
      process.kill(server.pid, 'SIGCONT')
    }
    await page.clock.resume()
    await live.waitFor()
    await panel.getByText(/^as of \d/).waitFor({ state: 'detached' })
  })
})
