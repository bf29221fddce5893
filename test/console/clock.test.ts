import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { useBrowser } from './browser.ts'

const MINUTE_MS = 60_000
const CONSOLE = resolve(import.meta.dirname, '../../console')
/** The files that measure durations, and the clock itself. */
const OWN_CLOCK = [
  ...['clock.ts', 'api/renewal.ts', 'session.ts', 'kept-sessions.ts', 'live/connection.ts', 'track/link.ts'],
  // Sample code for other people's servers.
  'pages/settings/webhooks/verify-code.ts',
]

describe('The console’s clock', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  it.each([-45, 20])('is the server’s when the computer’s is off by %i minutes', async minutes => {
    const { id, key } = await createDevice(owner, `Van ${minutes}`)
    const send = (minutesAgo: number, speed: number) => {
      const timestamp = new Date(Date.now() - minutesAgo * MINUTE_MS).toISOString()
      const points = [{ lat: 52.52, lng: 13.4, timestamp, speed }]
      return createClient(server, key).post('/location-history/bulk', { points })
    }
    await send(30, 0)
    const page = await screens.open('about:blank', { as: owner })
    await page.clock.install({ time: Date.now() + minutes * MINUTE_MS })
    await page.goto(`${server.url}/?subject=${id}`)
    const row = page.getByRole('option', { name: new RegExp(`Van ${minutes}`) })
    const panel = page.getByRole('complementary', { name: `Van ${minutes}` })
    for (const part of [row, panel]) await part.getByText(/^(30|31) min\.? ago$/).waitFor()

    // A link is valid for the chosen time.
    await panel.getByRole('button', { name: 'Share' }).click()
    await page.getByRole('button', { name: 'Create link' }).click()
    await page.getByText('The link is only shown once.').waitFor()
    const [link] = (await owner.get(`/tracking-links?subjectId=${id}`)).body.data
    const lastsMs = Date.parse(link.expiresAt) - Date.now()
    expect(Math.abs(lastsMs - 8 * 60 * MINUTE_MS)).toBeLessThan(MINUTE_MS)

    await send(0, 10)
    await row.getByText('just now').waitFor()
    const { url } = (
      await owner.post('/tracking-link', {
        subjectId: id,
        subjectType: 'device',
        expiresAt: new Date(Date.now() + 60 * MINUTE_MS),
      })
    ).body.data
    const shared = await screens.open('about:blank')
    // It is moving, and that just now, for a minute.
    await send(0, 10)
    await shared.clock.install({ time: Date.now() + minutes * MINUTE_MS })
    await shared.goto(url)
    await shared.getByRole('img', { name: /: moving, 36 km\/h, just now$/ }).waitFor()
  })

  it('marks the time of a device whose clock is ahead', async () => {
    const { id, key } = await createDevice(owner, 'Van 9')
    const points = [
      { lat: 52.52, lng: 13.4, timestamp: new Date(Date.now() + 9.5 * MINUTE_MS).toISOString() },
    ]
    await createClient(server, key).post('/location-history/bulk', { points })
    const page = await screens.open(`${server.url}/?subject=${id}`, { as: owner })
    const parts = [
      page.getByRole('option', { name: /Van 9/ }),
      page.getByRole('complementary', { name: 'Van 9' }),
    ]
    for (const part of parts) await part.getByText(/^clock (9|10) min ahead$/).waitFor()
  })

  it('keeps the ages in the list at the last contact while the server is away', async () => {
    const { id, key } = await createDevice(owner, 'Van 10')
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    await createClient(server, key).post('/location-history/bulk', { points })
    const page = await screens.open(`${server.url}/?subject=${id}`, { as: owner, mayFail: /WebSocket|ERR_/ })
    const row = page.getByRole('option', { name: /Van 10/ })
    await row.getByText('just now').waitFor()
    await page.context().setOffline(true)
    await row.getByText(/^as of \d\d:\d\d$/).waitFor()
    await page
      .getByRole('complementary', { name: 'Van 10' })
      .getByText(/^as of \d\d:\d\d:\d\d$/)
      .waitFor()
    // The first one is just now for a minute.
    points[0] = { lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }
    await createClient(server, key).post('/location-history/bulk', { points })
    await page.context().setOffline(false)
    await row.getByText('just now').waitFor()
  })

  it('is read in one place', () => {
    const files = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' })
    const asking = files.filter(
      name => /\.tsx?$/.test(name) && /\bDate\.now\b/.test(readFileSync(resolve(CONSOLE, name), 'utf8')),
    )
    expect(asking.filter(name => !OWN_CLOCK.includes(name))).toEqual([])
  })
})
