import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { startProxy } from '../support/proxy.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

const PHONE = { width: 390, height: 844 }

describe('The page of a tracking link', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()

  const send = async (device: TestDevice, point: object) => {
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString(), ...point }]
    const { status } = await createClient(server, device.key).post('/location-history/bulk', { points })
    expect(status).toBe(200)
  }
  const share = async ({ id }: TestDevice, more: object = {}) => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const body = { subjectId: id, subjectType: 'device', trailMinutes: 60, expiresAt, ...more }
    return (await owner.post('/tracking-link', body)).body.data as { _id: string; url: string; token: string }
  }
  /** The page's current time, in the future. */
  const setAhead = (page: Page, ms: number) =>
    page.evaluate(ahead => {
      Date.now = () => performance.timeOrigin + performance.now() + ahead
    }, ms)
  const see = (page: Page, sentence: RegExp) =>
    page.getByRole('img', { name: new RegExp(`: ${sentence.source}`) }).waitFor()

  it('draws no trail for a link without one, else that of the last minutes, however long it is open', async () => {
    const van = await createDevice(owner, 'Van 1')
    await send(van, { speed: 10 })
    const look = async (trailMinutes: number) =>
      screens.open((await share(van, { trailMinutes })).url, { size: PHONE, mayFail: /willReadFrequently/ })
    const minute = await look(1)
    await see(minute, /moving, 36 km\/h/)
    // At the same place: what is a minute old is not drawn, and no longer moving.
    await send(van, { speed: 10 })
    // A later page shows the marker sooner: its move takes as long as the previous point was shown.
    const none = await look(0)
    /** Whether something is drawn to the left of the marker, and nothing above and below that. */
    const hasTrail = (page: Page) =>
      page.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
        const read = (up: number) =>
          `${canvas.getContext('2d')?.getImageData(canvas.width / 2 - 30, canvas.height / 2 - up, 1, 1).data}`
        return read(0) !== read(9) && read(9) === read(-9)
      })
    await see(none, /moving, 36 km\/h/)
    // 47 pixels to the east.
    await send(van, { lng: 13.402, speed: 20 })
    for (const page of [none, minute]) await see(page, /moving, 72 km\/h/)
    await until('what it has left behind is drawn', () => hasTrail(minute))
    expect(await hasTrail(none)).toBe(false)
    await setAhead(minute, 120_000)
    await until('what is longer ago is not', async () => !(await hasTrail(minute)))
  })

  it('opens although a mail program has appended a slash or encoded a letter', async () => {
    const van = await createDevice(owner, 'Van 9')
    const { url, token } = await share(van)
    const code = (token[0] as string).charCodeAt(0).toString(16)
    for (const address of [`${url}/`, url.replace(token, `%${code}${token.slice(1)}`)]) {
      await send(van, { speed: 10 })
      await see(await screens.open(address, { size: PHONE }), /moving, 36 km\/h/)
    }
  })

  it('says that the server is busy, and retries when the server wants it', async () => {
    const van = await createDevice(owner, 'Van 10')
    await send(van, { speed: 10 })
    const { url } = await share(van)
    const page = await screens.open('about:blank', { size: PHONE, mayFail: /429|WebSocket/ })
    let asked = 0
    await page.route('**/location-history/tracking/**', route =>
      asked++ === 0
        ? route.fulfill({ status: 429, headers: { 'retry-after': '3' }, json: { status: false } })
        : route.continue(),
    )
    const busy = 'The server is busy; retrying automatically.'
    const note = page.locator('.note').getByText(busy)
    // It is there for three seconds, so the page itself looks for it.
    await page.addInitScript(() => {
      const notes: (string | null)[] = []
      Object.assign(window, { notes })
      new MutationObserver(() => {
        const note = document.querySelector('.note')
        if (note?.checkVisibility()) notes.push(note.textContent)
      }).observe(document, { attributes: true, childList: true, characterData: true, subtree: true })
    })
    await page.goto(url)
    await until('it is said', () =>
      page.evaluate(text => (window as unknown as { notes: string[] }).notes.includes(text), busy),
    )
    await see(page, /moving, 36 km\/h/)
    await note.waitFor({ state: 'hidden' })
    expect(asked).toBe(2)
  })

  it('says that there is no position once it knows that, and not while it loads', async () => {
    const { url } = await share(await createDevice(owner, 'Van 2'))
    const page = await screens.open('about:blank', { size: PHONE, mayFail: /WebSocket|ERR_/ })
    await page.clock.install()
    let isAway = true
    let tries = 0
    await page.route('**/location-history/tracking/**', route => (isAway ? route.abort() : route.continue()))
    await page.routeWebSocket(/live\/tracking/, socket => {
      tries++
      if (isAway) void socket.close()
      else socket.connectToServer()
    })
    await page.goto(url)
    const waiting = page.locator('.sentence').getByText('No position yet')
    await page.getByText('The server can’t be reached.').first().waitFor()
    expect(await waiting.count()).toBe(0)
    const spoken = page.getByRole('status')
    await spoken.getByText('The server can’t be reached.').waitFor()

    // However long the server is away, the page retries every few seconds.
    const run = async (seconds: number) => {
      for (let s = 0; s < seconds; s++) {
        await page.clock.runFor(1_000)
        // The page handles a message before a later call.
        await page.evaluate(() => {})
      }
    }
    await run(40)
    const before = tries
    let seconds = 0
    for (; tries < before + 3 && seconds < 60; seconds++) await run(1)
    // A failed request is heard of some of these seconds late: they pass as fast as the machine can.
    expect(seconds).toBeLessThan(45)

    isAway = false
    await page.clock.resume()
    await waiting.waitFor()
    expect(await spoken.textContent()).toMatch(/^No position yet/)
  })

  it('announces a change of state at once, and the end of the link', async () => {
    const van = await createDevice(owner, 'Van 3')
    await send(van, { speed: 10 })
    const link = await share(van)
    const page = await screens.open('about:blank', { size: PHONE })
    // So that no change is announced only because enough time has passed.
    await page.addInitScript(() => {
      performance.now = () => 1_000
    })
    await page.goto(link.url)
    const spoken = page.getByRole('status')
    const hear = (text: RegExp) => spoken.getByText(text).waitFor()
    await hear(/^moving, 36 km\/h/)
    await send(van, { speed: 0 })
    await hear(/^standing still, just now/)
    await send(van, { speed: 20 })
    await hear(/^moving, 72 km\/h/)
    // A movement without a change of state can wait.
    await send(van, { speed: 10 })
    await see(page, /moving, 36 km\/h/)
    expect(await spoken.textContent()).toMatch(/^moving, 72 km\/h/)
    await owner.delete(`/tracking-link/${link._id}`)
    await hear(/^This link no longer works/)
  })

  it('no longer says "just now" when the server hangs', async () => {
    const van = await createDevice(owner, 'Van 4')
    const proxy = await startProxy(() => Number(new URL(server.url).port))
    try {
      await send(van, { speed: 10 })
      const { pathname } = new URL((await share(van)).url)
      const page = await screens.open('about:blank', { size: PHONE, mayFail: /WebSocket|ERR_/ })
      await page.clock.install()
      const isLive = page.waitForEvent('websocket').then(socket => socket.waitForEvent('framereceived'))
      await page.goto(`http://127.0.0.1:${proxy.port}${pathname}`)
      await see(page, /moving, 36 km\/h, just now/)
      await isLive
      // After a minute its time would be said in another way, however long the page took to open.
      await send(van, { speed: 20 })
      await see(page, /moving, 72 km\/h, just now/)
      proxy.set('answers lost')
      // The clock refuses a time that has passed, also where the machine has paused meanwhile.
      await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 15_000)
      const sentence = page.locator('.sentence')
      let seconds = 0
      for (
        ;
        !/^last seen \d\d:\d\d:\d\d$/.test((await sentence.textContent()) ?? '') && seconds < 60;
        seconds++
      )
        await page.clock.runFor(1_000)
      expect(seconds).toBeLessThan(10)
      expect(await page.locator('.note').isVisible()).toBe(false)
      await page.clock.runFor(11_000)
      await page.locator('.note').getByText('The server can’t be reached.').waitFor()
    } finally {
      await proxy.close()
    }
  })

  it('shows the current name of the subject', async () => {
    const van = await createDevice(owner, 'Van 5')
    const page = await screens.open((await share(van)).url, { size: PHONE })
    await page.getByRole('heading', { name: 'Where Van 5 is' }).waitFor()
    await page.getByText('No position yet').first().waitFor()
    expect((await owner.patch(`/device/${van.id}`, { name: 'Ambulance 5' })).status).toBe(200)
    await page.getByRole('heading', { name: 'Where Ambulance 5 is' }).waitFor()
    expect(await page.title()).toBe('Where Ambulance 5 is')
    await see(page, /No position yet/)
  })
})
