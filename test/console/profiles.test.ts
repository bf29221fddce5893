import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { addConnection, readConnection } from '../support/connections.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('The page of profiles', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  const dialog = (page: Page) => page.getByRole('dialog')
  const press = (page: Page, name: string | RegExp) => dialog(page).getByRole('button', { name }).click()
  /** Says what a value of the message is. */
  const say = async (page: Page, value: string, meaning: string) => {
    await press(page, `$.payload.${value}: say what this is`)
    await page.getByRole('menuitem', { name: meaning, exact: true }).click()
  }
  const reads = (page: Page, name: string, value: string) =>
    dialog(page)
      .getByLabel('Position', { exact: true })
      .locator('div', { hasText: new RegExp(`^${name}${value}$`) })
      .waitFor()

  it('makes a profile by pointing at values, and shows what is read while it changes', async () => {
    const page = await screens.open(`${server.url}/tracker-profiles`, { as: owner, mayFail: /400/ })
    await page.getByRole('row', { name: /Teltonika Built in/ }).waitFor()
    await page.getByRole('button', { name: 'New profile' }).click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('Pallets')
    const message = { a: 525163000, b: 133777000, v: 36, dir: 90, when: '2026-11-21 10:00:00', ok: 1 }
    await dialog(page).getByLabel('Paste a message').fill(JSON.stringify(message))
    await dialog(page).getByLabel('Topic of the message').fill('pallets/p-7/up')
    await dialog(page).getByText('Say which value is the latitude').waitFor()
    await say(page, 'a', 'Latitude')
    await say(page, 'b', 'Longitude')
    await dialog(page).getByText('Does not fit:').waitFor()
    for (const field of ['Latitude', 'Longitude']) {
      await press(page, `${field}: unit`)
      await page.getByRole('option', { name: 'degrees × 10,000,000' }).click()
    }
    await reads(page, 'Latitude', '52.516300°')
    await reads(page, 'Longitude', '13.377700°')
    await say(page, 'v', 'Speed')
    await reads(page, 'Speed', '36 m/s')
    await press(page, 'Speed: unit')
    await page.getByRole('option', { name: 'km/h' }).click()
    await reads(page, 'Speed', '10 m/s')
    await say(page, 'dir', 'Heading')
    await reads(page, 'Heading', '90°')
    await press(page, '$.topic[1]: say what this is')
    await page.getByRole('menuitem', { name: 'Device', exact: true }).click()
    await reads(page, 'Device', 'p-7')
    await say(page, 'ok', 'Only with this value')
    expect(await findBarriersInThemes(page)).toEqual([])

    // A path that makes no sense is said at its place, before it is saved.
    await dialog(page).getByLabel('Altitude', { exact: true }).fill('$.payload..x')
    await dialog(page)
      .getByRole('alert')
      .filter({ hasText: /path|JSONPath/ })
      .waitFor()
    await dialog(page).getByLabel('Altitude', { exact: true }).fill('')
    await press(page, 'Save')
    await page.getByRole('row', { name: /Pallets Your organization/ }).waitFor()
    const [profile] = (await owner.get('/tracker-profiles?search=Pallets')).body.data
    expect(profile).toMatchObject({
      fields: {
        lat: { from: ['$.payload.a'], unit: 'deg1e7' },
        speed: { from: ['$.payload.v'], unit: 'km/h' },
        altitude: null,
      },
      device: { from: ['$.topic[1]'] },
      when: [{ from: '$.payload.ok', is: 'equals', value: 1 }],
      sampleMessages: [{ topic: 'pallets/p-7/up' }],
    })

    // It opens with its message, and a change of both is kept.
    await page.getByRole('row', { name: /Pallets/ }).click()
    await reads(page, 'Latitude', '52.516300°')
    await dialog(page).getByLabel('Name', { exact: true }).fill('Pallets 2')
    await press(page, 'Speed: remove')
    await press(page, 'Save')
    await page.getByRole('row', { name: /Pallets 2/ }).waitFor()
    expect((await owner.get(`/tracker-profile/${profile._id}`)).body.data.fields.speed).toBeNull()
    await page.getByRole('row', { name: /Pallets 2/ }).click()
    await press(page, 'Delete')
    await dialog(page).getByRole('alert').getByRole('button', { name: 'Delete' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    expect((await owner.get(`/tracker-profile/${profile._id}`)).status).toBe(404)
  })

  it('takes a suggestion for a message that came in, with a list whose entries are positions', async () => {
    const connection = await addConnection(owner, { kind: 'http', name: 'Fleet platform' })
    const fixes = [1, 2].map(n => ({ lat: 52 + n / 10, lon: 13, ts: Math.floor(Date.now() / 1000) - n * 60 }))
    const body = JSON.stringify({ unit: 'truck-7', fixes })
    await fetch(`${server.url}/api/v3/ingest/connection/${connection._id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${connection.key}` },
      body,
    })
    await until('it is written', async () => (await readConnection(owner, connection)).counts.messages === 1)
    const page = await screens.open(`${server.url}/tracker-profiles/new`, { as: owner })
    await dialog(page).getByText('Pick a message that came in').click()
    await press(page, /Connection$/)
    await page.getByRole('option', { name: 'Fleet platform' }).click()
    await press(page, /^Use the message of/)
    await press(page, 'Suggest')
    await dialog(page).getByText('Why').waitFor()
    await dialog(page).getByLabel('Position 1 of 2').waitFor()
    expect(await dialog(page).getByLabel('List of positions', { exact: true }).inputValue()).toBe(
      '$.payload.fixes',
    )
    // The whole message is one position again, then the first entry of the list.
    await press(page, 'List of positions: remove')
    await reads(page, 'Latitude', '52.100000°')
    await press(page, '$.payload.fixes: say what this is')
    await page.getByRole('menuitem', { name: 'Each entry is a position' }).click()
    await dialog(page).getByLabel('Position 2 of 2').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])

    // From the message itself.
    await page.goto(`${server.url}/connections/${connection._id}`)
    await dialog(page).getByRole('radio', { name: 'Messages' }).click()
    await dialog(page).getByRole('group').getByText('Request').click()
    await dialog(page).getByRole('link', { name: 'Make a profile from it' }).click()
    await dialog(page).getByRole('heading', { name: 'New profile' }).waitFor()
    const pasted = dialog(page).getByLabel('Paste a message')
    await until('the message is there', async () => (await pasted.inputValue()).includes('truck-7'))
  })

  it('shows what a built-in profile reads, and names it where it reads a pasted message', async () => {
    const fix = {
      position: {
        latitude: 52.5,
        longitude: 13.4,
        fixTime: new Date().toISOString(),
        valid: true,
        speed: 10,
      },
      device: { uniqueId: '356' },
    }
    const page = await screens.open(`${server.url}/tracker-profiles/new`, { as: owner })
    await dialog(page).getByLabel('Paste a message').fill(JSON.stringify(fix))
    await press(page, 'Suggest')
    await dialog(page).getByText('The built-in profile Traccar reads these messages.').waitFor()
    await page.goto(`${server.url}/tracker-profiles/traccar`)
    await dialog(page).getByText('This profile is built in').waitFor()
    await dialog(page).getByLabel('Paste a message').fill(JSON.stringify(fix))
    await reads(page, 'Speed', '5.1 m/s')
    await dialog(page).getByLabel('Paste a message').fill('{"device": {"uniqueId": "356"}, "event": {}}')
    await dialog(page).getByText('is meant to have none').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('is where a device finds its profile, beside its references', async () => {
    const page = await screens.open(`${server.url}/devices/new`, { as: owner })
    await dialog(page).getByLabel('Name', { exact: true }).fill('Truck 9')
    await press(page, /Profile$/)
    await page.getByRole('option', { name: 'Teltonika' }).click()
    await dialog(page).getByLabel('References').fill('352093081452251, truck-9')
    await press(page, 'Save')
    await dialog(page).getByText('The key is only shown once.').waitFor()
    const [device] = (await owner.get('/devices?search=Truck')).body.data
    expect(device).toMatchObject({ profileId: 'teltonika', references: ['352093081452251', 'truck-9'] })
  })
})
