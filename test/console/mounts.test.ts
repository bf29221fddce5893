import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

describe('A tracker that is on a vehicle', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let tracker: { id: string }
  let spare: { id: string }
  let running = ''
  let parked = ''

  const createVehicle = async (name: string, deviceId: string | null) =>
    (await owner.post('/vehicle', { name, deviceId })).body.data._id as string
  const deviceOf = async (vehicleId: string) => (await owner.get(`/vehicle/${vehicleId}`)).body.data.deviceId
  /** The form of a vehicle in its dialog, or that of a device on its page. */
  const form = (page: Page) => page.getByRole('dialog').or(page.getByRole('region', { name: 'Settings' }))
  const choose = async (page: Page, field: string, name: RegExp) => {
    await form(page).getByRole('button', { name: field }).click()
    await page.getByRole('option', { name }).click()
  }
  const press = (page: Page, name: string) => form(page).getByRole('button', { name }).click()
  const undo = (page: Page, name: string) =>
    page.getByRole('status').filter({ hasText: name }).getByRole('button', { name: 'Undo' }).click()

  beforeAll(async () => {
    tracker = await createDevice(owner, 'Tracker 1')
    spare = await createDevice(owner, 'Tracker 2')
    running = await createVehicle('Running van', tracker.id)
    parked = await createVehicle('Parked van', spare.id)
  })

  it('is taken from it by another vehicle’s form only after a question, and goes back', async () => {
    const page = await screens.open(`${server.url}/vehicles/${parked}`, { as: owner })
    // The list of devices says where each is.
    await choose(page, 'Device', /Tracker 1.*Running van/)
    await press(page, 'Save')
    await page.getByText('Tracker 1 is mounted on Running van. Move it here?').waitFor()
    expect(await deviceOf(running)).toBe(tracker.id)
    await press(page, 'Cancel')
    expect(await deviceOf(running)).toBe(tracker.id)
    await press(page, 'Save')
    await press(page, 'Move it here')
    await page.getByText('Tracker 1 was moved from Running van to Parked van.').waitFor()
    expect([await deviceOf(running), await deviceOf(parked)]).toEqual([null, tracker.id])
    await undo(page, 'Tracker 1 was moved')
    await until('both are where they were', async () => (await deviceOf(parked)) === spare.id)
    expect(await deviceOf(running)).toBe(tracker.id)
    await page.getByText('Tracker 1 was moved').waitFor({ state: 'detached' })
  })

  it('is replaced by another device’s form only after a question, and goes back', async () => {
    const other = await createDevice(owner, 'Tracker 3')
    const page = await screens.open(`${server.url}/devices/${other.id}`, { as: owner })
    await choose(page, 'Vehicle', /Running van.*Tracker 1/)
    await press(page, 'Save')
    await page.getByText('Running van already has the device Tracker 1.').waitFor()
    expect(await deviceOf(running)).toBe(tracker.id)
    await press(page, 'Replace it')
    await page.getByText('Tracker 1 was taken off Running van.').waitFor()
    expect(await deviceOf(running)).toBe(other.id)
    await undo(page, 'Tracker 1 was taken off')
    await until('it is back', async () => (await deviceOf(running)) === tracker.id)
  })

  it('is saved without a question where nothing is taken', async () => {
    const page = await screens.open(`${server.url}/vehicles/${running}`, { as: owner })
    await page.getByRole('dialog').getByLabel('Plate').fill('B-FL 1')
    await press(page, 'Save')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await owner.get(`/vehicle/${running}`)).body.data).toMatchObject({
      plate: 'B-FL 1',
      deviceId: tracker.id,
    })
  })
})
