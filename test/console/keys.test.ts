import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { OWNER } from '../support/server.ts'
import { useOrganization } from '../support/shared-server.ts'
import { findBarriers, hasFocus, useBrowser } from './browser.ts'

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
    await dialog.waitFor()
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

describe('Signing in with Enter', () => {
  const { server } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  it('leads to the map without a frame around it, and Tab to its first control', async () => {
    const page = await screens.open(server.url)
    await page.getByLabel('E-mail').fill(OWNER.email)
    await page.getByLabel('Password').fill(OWNER.password)
    await page.keyboard.press('Enter')
    await hasFocus(page, 'Live map')
    const frame = () => page.locator('main').evaluate(main => getComputedStyle(main).outlineStyle)
    expect(await frame()).toBe('none')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('placeholder'))).toBe(
      'Search by name',
    )
    // The way past the navigation by key shows where it has led.
    await page.locator('.skip').focus()
    await page.keyboard.press('Enter')
    await hasFocus(page, 'Live map')
    expect(await frame()).toBe('solid')
  })
})
