import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useOrganization } from '../support/shared-server.ts'
import { useBrowser } from './browser.ts'

const TEXTS = [
  'Locations of the fleet, 42 km/h, last seen 12 min ago',
  'Einstellungen der Fahrzeuge und Geräte speichern',
]
const WEIGHTS = [400, 560, 620]
/** Without the stretched fallback it is more. */
const SHIFT = 0.03

describe('The typeface', () => {
  const { server } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  const widthsOn = (page: Page) =>
    page.evaluate(
      async ([texts, weights]) => {
        const { fontFamily } = getComputedStyle(document.body)
        // A local font is loaded when it is first used, too.
        await Promise.allSettled(weights.map(weight => document.fonts.load(`${weight} 1rem ${fontFamily}`)))
        return weights.flatMap(weight =>
          texts.map(text => {
            const line = document.body.appendChild(document.createElement('span'))
            // Small letters are rounded to whole pixels.
            Object.assign(line.style, {
              fontSize: '100px',
              fontWeight: `${weight}`,
              position: 'absolute',
              whiteSpace: 'nowrap',
            })
            line.textContent = text
            const { width, height } = line.getBoundingClientRect()
            line.remove()
            return { width, height }
          }),
        )
      },
      [TEXTS, WEIGHTS] as const,
    )
  const isShown = (page: Page) =>
    page.evaluate(() =>
      [...document.fonts].some(({ family, status }) => family === 'Inter' && status === 'loaded'),
    )

  it('is Inter, from our own origin, and nothing moves when it comes', async () => {
    const page = await screens.open(`${server.url}/sign-in`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.evaluate(() => document.fonts.ready)
    expect(await isShown(page)).toBe(true)
    const own = await widthsOn(page)

    const without = await screens.open('about:blank', { mayFail: /ERR_FAILED|preload/ })
    await without.route('**/*.woff2', route => route.abort())
    await without.goto(`${server.url}/sign-in`)
    await without.getByRole('button', { name: 'Sign in' }).waitFor()
    await without.evaluate(() => document.fonts.ready)
    expect(await isShown(without)).toBe(false)
    for (const [index, { width, height }] of (await widthsOn(without)).entries()) {
      const { width: ownWidth, height: ownHeight } = own[index] as { width: number; height: number }
      expect(Math.abs(width / ownWidth - 1)).toBeLessThan(SHIFT)
      expect(Math.abs(height - ownHeight)).toBeLessThanOrEqual(1)
    }
  })

  it('comes with its licence', async () => {
    const licence = await fetch(`${server.url}/assets/inter-license.txt`)
    expect(licence.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await licence.text()).toMatch(/SIL OPEN FONT LICENSE Version 1\.1/)
  })
})
