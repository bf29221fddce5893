import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { TOOLANGI } from '../support/remote-archive.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

const VILLAGE = { lat: -37.5373, lng: 145.4718 }

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
/** Notes what the page of a tracking link writes, a name or its letters. */
function noteWords(): void {
  const words: string[] = []
  Object.assign(window, { words })
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    words.push(text)
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
    const panel = page.getByRole('complementary', { name: 'Van 7' })
    await panel.getByText(/^C\. J\. Dennis Road, Toolangi$/).waitFor()
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
      const ground = await page
        .locator('.maplibregl-ctrl-attrib')
        .evaluate(box => getComputedStyle(box).backgroundColor)
      expect(ground === 'rgb(255, 255, 255)').toBe(theme === 'light')
    }
    const origins = new Set(asked.filter(url => /^https?:/.test(url)).map(url => new URL(url).origin))
    expect([...origins]).toEqual([server.url])
    expect(asked.some(url => url.includes('/api/v3/tiles/1'))).toBe(true)
  })

  it('are drawn with their names on the page of a tracking link too, which says where the subject is', async () => {
    const owner = await signIn(server)
    const van = await createDevice(owner, 'Van 8')
    const points = [{ ...VILLAGE, timestamp: new Date().toISOString() }]
    const { name, street } = (await owner.get(`/places?lat=${VILLAGE.lat}&lng=${VILLAGE.lng}`)).body.data[0]
    expect(name).toBe(`${street}, Toolangi`)
    expect((await createClient(server, van.key).post('/location-history/bulk', { points })).status).toBe(200)
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const body = { subjectId: van.id, subjectType: 'device', trailMinutes: 60, expiresAt }
    const { url } = (await owner.post('/tracking-link', body)).body.data as { url: string }
    const page = await screens.open('about:blank', { size: { width: 390, height: 844 } })
    await page.addInitScript(noteWords)
    const asked: string[] = []
    page.on('request', request => asked.push(request.url()))
    await page.goto(url)
    await page.locator('.where').getByText(name).waitFor()
    await page.getByRole('img', { name: new RegExp(`^Where Van 8 is: .*, ${name}$`) }).waitFor()
    await page.getByRole('link', { name: '© OpenStreetMap contributors' }).waitFor()
    const wordsOf = () => page.evaluate(() => (window as unknown as { words: string[] }).words.join(''))
    await until('the names of streets are written', async () => (await wordsOf()).includes(street))
    // The names of places come with the tiles of a smaller scale.
    for (let times = 0; times < 3; times++) await page.getByRole('button', { name: 'Zoom out' }).click()
    await until('the name of the village is written', async () => (await wordsOf()).includes('Toolangi'))
    expect(await findBarriersInThemes(page)).toEqual([])
    const origins = new Set(asked.filter(one => /^https?:/.test(one)).map(one => new URL(one).origin))
    expect([...origins]).toEqual([server.url])
    const token = new URL(url).pathname.split('/')[2] as string
    const tiles = asked.filter(one => one.includes('/api/v3/tiles/'))
    expect(tiles.filter(one => !one.endsWith(`&token=${token}`))).toEqual([])
    expect(tiles.length).toBeGreaterThan(0)
  })

  it('are found by the search, and the map goes there, also from another one of its views', async () => {
    const owner = await signIn(server)
    // The first search reads the names, and answers with those read so far after some seconds.
    await until(
      'the town is known',
      async () => (await owner.get('/places?search=toolang')).body.data.length > 0,
    )
    const page = await screens.open(`${server.url}/teams`, { as: owner })
    const goTo = async (text: string, found: RegExp, view: RegExp) => {
      await page.keyboard.press('Control+k')
      await page.keyboard.type(text)
      await page.getByRole('option', { name: found }).click()
      await page.waitForURL(url => view.test(url.hash))
    }
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    await goTo('toolang', /^Toolangi$/, /^#13\/-37\.5\d*\/145\.4\d*$/)
    await page.getByText('500 m').waitFor()
    await goTo('tennis', /^Toolangi Tennis Reserve Road, Toolangi$/, /^#16\/-37\.5\d*\/145\.4\d*$/)
    await page.getByText('100 m').waitFor()
    const one = new URL(page.url()).hash
    await goTo('dennis', /^C\. J\. Dennis Road, Toolangi$/, /^#16\//)
    // Its zoom is the same as before.
    await page.waitForURL(url => url.hash !== one)
    // The view stays that of the street when the address loses it by a change of the filters.
    const street = new URL(page.url()).hash
    await page.getByPlaceholder('Search by name').fill('Van')
    await page.waitForURL(url => url.search !== '' && url.hash === street)
  })

  it('are ready to be drawn while somebody types the password', async () => {
    const page = await screens.open(`${server.url}/sign-in`, { savesData: false })
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await until('the map’s thread runs', () => page.workers().some(one => one.url().includes('maplibre')))
  })
})
