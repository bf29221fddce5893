import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { startLastingServer, useBrowser } from './browser.ts'

const MINUTE_MS = 60_000

describe('A server that is killed while pages are open', () => {
  const screens = useBrowser({ map: 'none' })

  it('takes nothing away from any page, and each page continues when the server is back', async () => {
    const { server, restart, remove } = await startLastingServer()
    const send = async (device: TestDevice, ...points: object[]) => {
      const answer = await createClient(server(), device.key).post('/location-history/bulk', { points })
      expect(answer.status).toBe(200)
    }
    const fix = (minutesAgo: number, lng: number, speed: number) => {
      const timestamp = new Date(Date.now() - minutesAgo * MINUTE_MS).toISOString()
      return { timestamp, lat: 52.52, lng, speed }
    }
    try {
      const owner = await signIn(server())
      const [van, silent, faulty] = await Promise.all(
        ['Van 7', 'Van 8', 'Van 9'].map(name => createDevice(owner, name)),
      )
      if (!van || !silent || !faulty) throw new Error('not made')
      // At noon of yesterday too: today may have just begun.
      const yesterday = new Date(Date.now() - 24 * 60 * MINUTE_MS).toISOString().slice(0, 10)
      const sinceNoon = (Date.now() - Date.parse(`${yesterday}T12:00:00Z`)) / MINUTE_MS
      const day = [...Array(9).keys()].map(n => fix(sinceNoon - n, 13.39 + n / 1_000, 10))
      await send(van, ...day, fix(0, 13.4, 10))
      await send(faulty, fix(1, 13.4, 10), { ...fix(0, 13.4, 10), lat: 95 })
      const expiresAt = new Date(Date.now() + 60 * MINUTE_MS).toISOString()
      const link = { subjectId: van.id, subjectType: 'device', trailMinutes: 5, expiresAt }
      const { url } = (await owner.post('/tracking-link', link)).body.data

      const mayFail = /WebSocket|ERR_|[Ff]ailed to (load|fetch)/
      const open = (path: string) => screens.open(new URL(path, server().url).href, { as: owner, mayFail })
      const shared = await screens.open(url, { mayFail })
      await shared.getByRole('img', { name: /moving, 36 km\/h/ }).waitFor()
      const setup = await open(`/devices/${silent.id}`)
      await setup.getByRole('button', { name: 'Set up', exact: true }).click()
      await setup.getByText('Waiting for the first position…').waitFor()
      const playback = await open(`/playback?subject=device:${van.id}&day=${yesterday}`)
      const time = () => playback.getByRole('slider', { name: 'Time' }).getAttribute('aria-valuetext')
      await playback.getByRole('button', { name: 'Play', exact: true }).waitFor()
      const table = await open('/devices')
      const row = (page: Page, name: RegExp) => page.getByRole('row', { name })
      await row(table, /Van 8/).waitFor()
      const reasons = await open(`/rejections?device=${faulty.id}`)
      await row(reasons, /Invalid coordinates/).waitFor()
      const form = await open('/teams/new')
      const name = form.getByRole('dialog').getByRole('textbox', { name: 'Name' })
      await name.fill('East')
      const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()
      const signedIn = [setup, playback, table, reasons, form]
      for (const page of signedIn) await isLive(page)

      await server().kill9()
      await shared.getByText('The server can’t be reached.').first().waitFor()
      for (const page of signedIn)
        await page
          .getByRole('status')
          .getByText(/^Offline since/)
          .waitFor()
      await setup.getByText('Waiting for the first position…').waitFor()
      const before = await time()
      await playback.getByRole('button', { name: 'Play', exact: true }).click()
      await until('what is loaded plays', async () => (await time()) !== before)
      await form.getByRole('button', { name: 'Save' }).click()
      await form.getByText('try again once it is back').waitFor()
      await table.getByRole('searchbox').fill('van')
      await table.getByText('The server can’t be reached.').first().waitFor()
      await row(reasons, /Invalid coordinates/).waitFor()

      await restart()
      await send(van, fix(0, 13.4, 20))
      await send(silent, fix(0, 13.4, 20))
      await shared.getByRole('img', { name: /moving, 72 km\/h/ }).waitFor()
      await setup.getByText(/^First position received at/).waitFor()
      await row(table, /Van 9/).waitFor()
      await send(faulty, fix(0, 13.4, 10), { ...fix(0, 13.4, 10), lat: 95 })
      await until('what was rejected since is listed', async () => {
        await reasons.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
        return (await row(reasons, /Invalid coordinates/).count()) === 2
      })
      expect(await name.inputValue()).toBe('East')
      await form.getByRole('button', { name: 'Save' }).click()
      await row(form, /East/).waitFor()
      for (const page of signedIn) await isLive(page)
    } finally {
      await remove()
    }
  })
})

describe('A hidden page', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  it('keeps its connection although its timers run once a minute, and opens a new one after the machine slept', async () => {
    const page = await screens.open('about:blank', { as: owner })
    await page.clock.install()
    await page.addInitScript(() => {
      /** Messages to the server, those of them after which any came from it, and lost connections. */
      const counts = { said: 0, answered: 0, lost: 0 }
      globalThis.Worker = class extends Worker {
        constructor(...about: ConstructorParameters<typeof Worker>) {
          super(...about)
          if (!String(about[0]).includes('socket-thread')) return
          this.addEventListener('message', () => {
            counts.answered = counts.said
          })
          const postMessage = (...sent: [{ do: string }]) => {
            if (sent[0].do === 'say') counts.said++
            super.postMessage(...sent)
          }
          Object.assign(this, { postMessage })
        }
      }
      Object.assign(globalThis, { counts })
    })
    const read = (name: 'said' | 'answered' | 'lost') =>
      page.evaluate(
        name => (globalThis as unknown as { counts: Record<string, number> }).counts[name] ?? 0,
        name,
      )
    await page.goto(server.url)
    const isLive = () => page.evaluate(() => document.documentElement.dataset.live === 'live')
    await until('it is live', isLive)
    await page.evaluate(() => {
      const { counts } = globalThis as unknown as { counts: { lost: number } }
      new MutationObserver(() => {
        if (document.documentElement.dataset.live === 'offline') counts.lost++
      }).observe(document.documentElement, { attributeFilter: ['data-live'] })
    })
    for (let minute = 0; minute < 3; minute++) {
      const before = await read('said')
      await page.clock.fastForward(60_000)
      await until('what it asked is answered', async () => (await read('answered')) > before)
    }
    expect(await read('lost')).toBe(0)
    await page.clock.fastForward(10 * 60_000)
    await until('it has noticed', async () => (await read('lost')) === 1)
    await until('it goes on', isLive)
  })
})

describe('A lost network, or a server that hangs', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const MAY_FAIL = { mayFail: /ERR_|WebSocket|404|Failed to fetch|could not be loaded/ }

  it('is reported at once for an action, which is not sent later', async () => {
    const { id, key } = await createDevice(owner, 'Van 7')
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    expect((await createClient(server, key).post('/location-history/bulk', { points })).status).toBe(200)
    const page = await screens.open(`${server.url}/?subject=${id}`, {
      as: owner,
      savesData: false,
      ...MAY_FAIL,
    })
    await page.getByRole('button', { name: 'Share' }).click()
    const dialog = page.getByRole('dialog', { name: 'Share where Van 7 is' })
    const make = dialog.getByRole('button', { name: 'Create link' })
    await make.waitFor()
    await page.context().setOffline(true)
    await make.click()
    await dialog.getByText('try again once it is back').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Play back today' }).click()
    await page.getByText('The server can’t be reached').first().waitFor()
    await page.context().setOffline(false)
    // The requests of the meantime are sent again, after any that would have waited.
    await page.getByRole('slider', { name: 'Time' }).waitFor()
    expect((await owner.get('/tracking-links')).body.data).toEqual([])
  })

  it('is reported for a query without an answer, which is retried', async () => {
    // Each turn of the clock may also cut the live socket, or one that is just being opened.
    const page = await screens.open('about:blank', { as: owner, mayFail: /WebSocket/ })
    await page.clock.install()
    await page.goto(`${server.url}/teams`)
    await page.getByRole('status').getByText('Live').waitFor()
    await page.route(/api\/v3\/teams\?.*search/, () => {})
    await page.getByRole('searchbox').fill('van')
    await until('it has waited for too long', async () => {
      await page.clock.fastForward(10_000)
      return (await page.getByText('The server can’t be reached.').count()) > 0
    })
    await page.unrouteAll()
    await until('it is answered', async () => {
      await page.clock.fastForward(10_000)
      return (await page.getByText('No matches').count()) > 0
    })
  })

  it('that cut off a part of a page does not keep the page from opening once it is back', async () => {
    const page = await screens.open(`${server.url}/devices`, { as: owner, ...MAY_FAIL })
    await page.getByRole('status').getByText('Live').waitFor()
    await page.route(/assets\/teams-/, route => route.abort('internetdisconnected'), { times: 1 })
    await page.getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    expect(page.url()).toBe(`${server.url}/teams`)
  })

  it('that returns with another version says so, and a missing part of a page leaves the frame in place', async () => {
    const page = await screens.open(`${server.url}/devices`, { as: owner, ...MAY_FAIL })
    await page.getByRole('status').getByText('Live').waitFor()
    await page.route(/assets\/teams-/, route => route.fulfill({ status: 404 }))
    await page.getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('heading', { name: 'Part of this page couldn’t be loaded' }).waitFor()
    await page.unrouteAll()
    await page.getByRole('main').getByRole('link', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Teams' }).waitFor()

    await page.getByRole('status').getByText('Live').waitFor()
    await page.route(`${server.url}/`, route =>
      route.fulfill({ body: '<script src="/assets/newer.js"></script>' }),
    )
    await page.context().setOffline(true)
    await page
      .getByRole('status')
      .getByText(/^Offline since/)
      .waitFor()
    await page.context().setOffline(false)
    await page.getByText('A newer version of this page is available').waitFor()
    await page.getByRole('link', { name: 'Reload' }).click()
    await page.getByText('A newer version of this page is available').waitFor({ state: 'detached' })
  })

  it('preloads every page, whichever is open', async () => {
    const page = await screens.open(`${server.url}/devices`, { as: owner, savesData: false })
    await until('it has loaded the map of playback', () =>
      page.evaluate(() =>
        performance.getEntriesByType('resource').some(({ name }) => name.includes('/playback-page-')),
      ),
    )
  })
})
