import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { TOOLANGI } from '../support/remote-archive.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

/** Notes the letters that MapLibre draws: it draws each once, 48 pixels high, and puts names together of them. */
function noteLetters(): void {
  const letters = new Set<string>()
  Object.assign(window, { letters })
  const { fillText } = OffscreenCanvasRenderingContext2D.prototype
  OffscreenCanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    if (/\b48px/.test(this.font)) letters.add(text)
    return fillText.call(this, text, ...rest)
  }
}
const lettersOf = (page: Page) =>
  page.evaluate(() => [...(window as unknown as { letters: Set<string> }).letters])

describe('Streets', () => {
  const { server } = useServer({ BASEMAP: TOOLANGI })
  const screens = useBrowser({ map: 'drawn' })

  it('are drawn with their names in both themes, and no other origin is asked', async () => {
    const owner = await signIn(server)
    const van = await createDevice(owner, 'Van 7')
    const points = [{ lat: -37.5384, lng: 145.4712, timestamp: new Date().toISOString() }]
    const sent = await createClient(server, van.key).post('/location-history/bulk', { points })
    expect(sent.status).toBe(200)
    const page = await screens.open('about:blank', { as: owner })
    await page.addInitScript(noteLetters)
    const asked: string[] = []
    page.on('request', request => asked.push(request.url()))
    await page.goto(`${server.url}/?subject=${van.id}`)
    await page.getByRole('complementary', { name: 'Van 7' }).waitFor()
    // "Main Road" is the street of the village.
    await until('the names of streets are drawn', async () => {
      const letters = await lettersOf(page)
      return [...'MainRod'].every(letter => letters.includes(letter))
    })
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme })
      await page.locator(`html[data-theme="${theme}"]`).waitFor()
      await page
        .locator('.maplibregl-ctrl-attrib')
        .getByText('OpenStreetMap')
        .first()
        .waitFor({ state: 'attached' })
    }
    const origins = new Set(asked.filter(url => /^https?:/.test(url)).map(url => new URL(url).origin))
    expect([...origins]).toEqual([server.url])
    expect(asked.some(url => url.includes('/api/v3/tiles/1'))).toBe(true)
  })
})
