import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

/** Types as fast as somebody who does not look, without a pause between the keys. */
async function typeAtOnce(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.keyboard.type(text)
}

describe('The palette', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let vehicleId = ''

  beforeAll(async () => {
    vehicleId = (await owner.post('/vehicle', { name: 'Zebra 9' })).body.data._id
    await createDevice(owner, 'Geodesic van')
  })

  const open = async () => {
    const page = await screens.open(`${server.url}/teams`, { as: owner })
    await page.getByRole('heading', { name: 'Teams' }).waitFor()
    return page
  }

  it('leads to the first match, however soon Enter follows', async () => {
    const page = await open()
    for (const [text, path] of [
      ['geof', '/geofences'],
      ['hu', '/hubs'],
      ['dev', '/devices'],
    ] as const) {
      await typeAtOnce(page, text)
      await page.keyboard.press('Enter')
      await page.waitForURL(server.url + path)
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
  })

  it.each(['places', 'devices'])(
    'highlights the entry that Enter takes, also if the answer about %s comes last',
    async last => {
      await createDevice(owner, 'Hubble')
      // The first search reads the names of the streets, and answers with those read so far after some seconds.
      await until(
        'the street is known',
        async () => (await owner.get('/places?search=hubbell')).body.data.length > 0,
      )
      const page = await open()
      let answer = () => {}
      const held = new Promise<void>(resolve => {
        answer = resolve
      })
      // Also for the text before, whose answer would be shown until that for this one comes.
      await page.route(`**/api/v3/${last}?*search=hub*`, async route => {
        await held
        await route.continue()
      })
      await typeAtOnce(page, 'hub')
      const highlighted = page.locator('[role=option][data-focused]')
      await highlighted.getByText('Hubs').waitFor()
      const asked = page.waitForRequest(new RegExp(`/api/v3/${last}\\?.*search=hubb`))
      await page.keyboard.type('b')
      await asked
      await highlighted.getByText(last === 'devices' ? 'Hubbell Street' : 'Hubble').waitFor()
      answer()
      await page.getByRole('option', { name: 'Hubbell Street' }).waitFor()
      await highlighted.getByText('Hubble', { exact: true }).waitFor()
      expect(await page.getByRole('combobox').getAttribute('aria-activedescendant')).toBe(
        await highlighted.getAttribute('id'),
      )
      await page.keyboard.press('ArrowUp')
      await highlighted.getByText('Hubbell Street').waitFor()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/devices\//)
    },
  )

  it('finds a driver by address and a vehicle by plate, and shows the vehicle that they drive', async () => {
    const device = await createDevice(owner, 'Unit 77')
    const { email, userId } = await addPerson(server, owner)
    await owner.post('/vehicle', { name: 'Van 77', plate: 'B-IN 77', driverId: userId, deviceId: device.id })
    const page = await open()
    for (const text of [email, 'b-in 77']) {
      await goWithin(page, '/teams')
      await typeAtOnce(page, text)
      await page.getByRole('option', { name: /Van 77/ }).click()
      await page.waitForURL(`${server.url}/?subject=${device.id}`)
    }
  })

  it('lists no page on which a role would see nothing', async () => {
    const look = async (...permissions: string[]) => {
      const permissionDetails = permissions.map(permissionName => ({ permissionName, scope: 'all' }))
      const role = await owner.post('/role', { name: permissions.join(), permissionDetails })
      const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
      const page = await screens.open(`${server.url}/`, { as: client })
      const nav = page.getByRole('navigation')
      await nav.getByRole('link', { name: 'Live map' }).waitFor()
      return nav.getByRole('link').allTextContents()
    }
    expect(await look('view/tracking-link')).toEqual(['Live map', 'Settings'])
    expect(await look('view/tracking-link', 'view/location')).toEqual([
      'Live map',
      'Playback',
      'Tracking links',
      'Settings',
    ])
  })

  it('uses the last typed text, and no results of an older one', async () => {
    const page = await open()
    await typeAtOnce(page, 'dev')
    for (let letter = 0; letter < 3; letter++) await page.keyboard.press('Backspace')
    await page.keyboard.type('playb')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/playback`)
  })

  it('makes Enter wait for the server’s results, until another letter is typed', async () => {
    const page = await open()
    let answer = () => {}
    const held = new Promise<void>(resolve => {
      answer = resolve
    })
    await page.route('**/api/v3/vehicles?search=zebr&**', async route => {
      await held
      await route.continue()
    })
    await typeAtOnce(page, 'zebr')
    await page.keyboard.press('Enter')
    await page.getByText('Searching…').waitFor()
    await page.keyboard.type('a')
    await page.getByRole('option', { name: 'Zebra 9' }).waitFor()
    answer()
    expect(new URL(page.url()).pathname).toBe('/teams')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/vehicles/${vehicleId}`)

    // The address is there before its dialog, which Escape closes.
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL(`${server.url}/vehicles`)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await typeAtOnce(page, 'zebra')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/vehicles/${vehicleId}`)
  })

  it('stays open without a match, and follows the choice of the arrow keys', async () => {
    const page = await open()
    await typeAtOnce(page, 'qqqq')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('No matches').waitFor()
    await page.getByPlaceholder('Search or go to…').fill('')
    await page.keyboard.type('geo')
    await page.getByRole('option', { name: 'Geodesic van' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/devices\/|subject=/)
  })
})
