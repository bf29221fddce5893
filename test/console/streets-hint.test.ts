import { describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { useBrowser } from './browser.ts'

describe('The hint about streets', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser()

  it('explains at close zoom how the server gets streets, until it is dismissed', async () => {
    for (const [name, lng, daysAgo] of [
      ['Van 7', 13.4, 0],
      ['Van 8', 20, 2],
    ] as const) {
      const van = createClient(server, (await createDevice(owner, name)).key)
      const timestamp = new Date(Date.now() - daysAgo * 86_400_000).toISOString()
      const points = [{ lat: 52.52, lng, timestamp }]
      expect((await van.post('/location-history/bulk', { points })).status).toBe(200)
    }
    const page = await screens.open(server.url, { as: owner, map: 'still' })
    const hint = page.getByText('No streets here')
    await page.getByRole('option', { name: /^Van 7/ }).click()
    await hint.waitFor()
    await page.getByRole('button', { name: 'Choose streets' }).click()
    const dialog = page.getByRole('dialog', { name: 'Streets on the map' })
    await dialog.getByText('The first organization of this server chooses the streets for all.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    // Beside the scale at every width; a shortened heading is whole in its title.
    await page.setViewportSize({ width: 760, height: 700 })
    const scale = page.locator('.maplibregl-ctrl-scale')
    const [left, right] = [await scale.boundingBox(), await hint.boundingBox()]
    expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0))
    await page.getByRole('heading', { name: 'Van 7' }).and(page.getByTitle('Van 7')).waitFor()
    await page.getByRole('button', { name: 'Show everything' }).click()
    await hint.waitFor({ state: 'detached' })
    await page.getByRole('option', { name: /^Van 8/ }).click()
    // A time without a date is one of today.
    const silent = page.getByRole('complementary', { name: 'Van 8' })
    await silent.getByText(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d$/).waitFor()
    await hint.getByRole('button', { name: 'Close' }).click()
    await hint.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('complementary', { name: 'Van 8' }).waitFor()
    await page.locator('.maplibregl-canvas').waitFor()
    expect(await hint.count()).toBe(0)
  })
})
