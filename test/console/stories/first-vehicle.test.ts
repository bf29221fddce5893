import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { connectDevice, publish } from '../../support/mqtt.ts'
import { useServer } from '../../support/own-server.ts'
import { copiedBy, findBarriers, useBrowser } from '../browser.ts'

describe('A story: from registration to the first moving vehicle', () => {
  const { server } = useServer({ ALLOW_SIGNUP: 'true' })
  const screens = useBrowser({ savesData: false })
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (page: Page) => page.getByRole('dialog')

  it('is told by a browser and a tracker alone', async () => {
    // Somebody finds the service, and creates an organization.
    const page = await screens.open(server.url, { mayFail: /409/ })
    await page.getByRole('link', { name: 'Create an organization' }).click()
    await page.getByRole('heading', { name: 'Create an organization' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByLabel('Your name').fill('Anna Berg')
    await page.getByLabel('E-mail').fill('owner@example.com')
    await page.getByLabel('Password').fill('a password of a story')
    await page.getByLabel('Name of the organization').fill('Berg & Sons')
    await page.getByLabel('Name of the first hub').fill('Yard')
    await page.getByLabel('Latitude').fill('52,5')
    await page.getByLabel('Longitude').fill('13.4')
    await button(page, 'Create organization').click()
    // The address is somebody else's. The rest of the form stays.
    await page.getByText('registered already').or(page.locator('.field-error')).first().waitFor()
    await page.getByLabel('E-mail').fill('anna@example.com')
    await button(page, 'Create organization').click()
    await button(page, 'Account of Anna Berg').waitFor()
    await page.getByText('Berg & Sons').first().waitFor()

    // A device, whose settings are copied into a tracker.
    await page.getByLabel('Device name').fill('Tracker 12')
    await button(page, 'Add device').click()
    await dialog(page).getByText('Waiting for the first position…').waitFor()
    await dialog(page)
      .getByRole('button', { name: /\bApp$/ })
      .click()
    await page.getByRole('option', { name: 'MQTT', exact: true }).click()
    const copied = (label: string) => copiedBy(dialog(page), `Copy ${label}`)
    const [id, key, port] = [await copied('User name'), await copied('Password'), await copied('Port')]
    expect(Number(port)).toBe(server.mqttPort)
    const device = { id, key, name: 'Tracker 12' }
    const tracker = await connectDevice(server, device)
    try {
      const send = (lng: number) =>
        publish(tracker, device, {
          lat: 52.52,
          lng,
          speed: 12,
          heading: 90,
          timestamp: new Date().toISOString(),
        })
      await send(13.4)
      await dialog(page)
        .getByText(/^First position received at/)
        .waitFor()
      await dialog(page).getByRole('button', { name: 'Show on map' }).click()
      await page.getByRole('complementary', { name: 'Tracker 12' }).getByText('Moving').waitFor()

      // A vehicle carries it. From then on the map shows the vehicle's name.
      await page.getByRole('link', { name: 'Vehicles' }).click()
      await button(page, 'Add vehicle').first().click()
      await dialog(page).getByLabel('Name', { exact: true }).fill('Van 12')
      await dialog(page).getByRole('button', { name: 'Device' }).click()
      await page.getByRole('option', { name: 'Tracker 12' }).click()
      await dialog(page).getByRole('button', { name: 'Save' }).click()
      await page.getByRole('row', { name: /Van 12/ }).waitFor()
      await page.getByRole('link', { name: 'Live map' }).click()
      await send(13.401)
      await page.getByRole('option', { name: /Van 12 .*km\/h/ }).click()
      const panel = page.getByRole('complementary', { name: 'Van 12' })
      await panel.getByText('Moving').waitFor()
      await panel.getByText('Tracker 12').waitFor()
      expect(await findBarriers(page)).toEqual([])
    } finally {
      await tracker.endAsync(true)
    }
  })
})
