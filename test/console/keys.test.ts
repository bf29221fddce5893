import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { findBarriers, useBrowser } from './browser.ts'

describe('Single keys', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  beforeAll(async () => {
    for (const name of ['Van 1', 'Van 2']) {
      const { key } = await createDevice(owner, name)
      const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
      await createClient(server, key).post('/location-history/bulk', { points })
    }
  })

  it('step through the map, follow and search, but never while somebody types', async () => {
    const page = await screens.open(server.url, { as: owner })
    const panel = (name: string) => page.getByRole('complementary', { name })
    await page.getByRole('option', { name: /Van 2/ }).waitFor()
    await page.keyboard.press('j')
    await panel('Van 1').waitFor()
    await page.keyboard.press('j')
    await panel('Van 2').waitFor()
    await page.keyboard.press('k')
    await panel('Van 1').waitFor()
    await page.keyboard.press('f')
    await panel('Van 1').getByRole('button', { name: 'Follow', pressed: true }).waitFor()
    await page.keyboard.press('/')
    const search = page.getByRole('searchbox', { name: 'Search by name' })
    await page.keyboard.type('jkf?/')
    expect(await search.inputValue()).toBe('jkf?/')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('are listed, and can be switched off', async () => {
    const page = await screens.open(`${server.url}/hubs`, { as: owner })
    await page.getByRole('heading', { name: 'Hubs' }).waitFor()
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Keyboard' })
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByText('Single keys work outside of fields').click()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.keyboard.press('?')
    expect(await page.getByRole('searchbox').evaluate(field => field === document.activeElement)).toBe(false)
    expect(await dialog.count()).toBe(0)
  })
})
