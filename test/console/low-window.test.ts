import { describe, expect, it } from 'vitest'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

/** A laptop of 1,366 by 768, without and with the bars of its browser. */
const HEIGHTS = [768, 600]
const PAGES = ['/', '/playback', '/tasks', '/schedules', '/imports', '/users', '/server', '/settings/account']

describe('The low window of a laptop', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  it.each(HEIGHTS)(
    'of %i pixels keeps the navigation and the account in sight on every page',
    async height => {
      const page = await screens.open(server.url, { as: owner, size: { width: 1366, height } })
      for (const path of PAGES) {
        await page.goto(server.url + path)
        await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
        const account = page.locator('.side .account')
        await account.waitFor()
        await until(`${path} has its whole frame in the window`, async () => {
          const box = await account.boundingBox()
          return box !== null && box.y + box.height <= height
        })
        expect(await page.evaluate(() => document.documentElement.scrollHeight), path).toBe(height)
        await page.getByRole('link', { name: 'Settings' }).scrollIntoViewIfNeeded()
        expect(await page.evaluate(() => scrollY), path).toBe(0)
      }
    },
  )
})
