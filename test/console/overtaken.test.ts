import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'

describe('A change by somebody else since a form was opened', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const field = (page: Page, name: string) => page.getByLabel(name, { exact: true })
  const address = (page: Page) => page.getByRole('combobox', { name: 'Address' })
  const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click()
  const overtaken = (page: Page) => page.getByText('Save again to keep your version.')
  const make = async (path: string, body: object) => (await owner.post(path, body)).body.data._id as string
  const read = async (path: string) => (await owner.get(path)).body.data
  const change = async (path: string, body: object) =>
    expect((await owner.patch(path, body)).status).toBe(200)

  it('is shown at its field, and holds unless the form is saved once more', async () => {
    const path = `/vehicle/${await make('/vehicle', { name: 'Van 1', plate: 'B-FL 1', tags: ['cold'] })}`
    const hubId = await make('/hub', { name: 'Depot', lat: 52, lng: 13 })
    await make('/hub', { name: 'Yard', lat: 52, lng: 13 })
    const page = await screens.open(`${server.url}/vehicles${path.slice(8)}`, { as: owner })
    await field(page, 'Plate').fill('B-FL 2')
    await field(page, 'Tags').fill('cold, tall')
    await page.getByRole('dialog').getByRole('button', { name: 'Hub' }).click()
    await page.getByRole('option', { name: 'Yard' }).click()
    await change(path, { name: 'Van 2', plate: 'B-FL 3', hubId })
    await save(page)
    await overtaken(page).waitFor()
    await page.getByText('Someone else has changed this to B-FL 3 in the meantime.').waitFor()
    await page.getByText('Someone else has changed this to Depot in the meantime.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(await read(path)).toMatchObject({ name: 'Van 2', plate: 'B-FL 3', tags: ['cold'], hubId })
    await save(page)
    await page.getByRole('row', { name: /Van 2 B-FL 2 .* Yard cold, tall/ }).waitFor()
  })

  it('can be taken over, together with the other changes of the form', async () => {
    const path = `/hub/${await make('/hub', { name: 'North', address: 'One street', lat: 52, lng: 13 })}`
    const page = await screens.open(`${server.url}/hubs${path.slice(4)}`, { as: owner })
    await field(page, 'Name').fill('South')
    await address(page).fill('Another street')
    await change(path, { address: null })
    await save(page)
    await page.getByText('Someone else has cleared this in the meantime.').waitFor()
    await page.getByRole('button', { name: 'Use their version' }).click()
    await overtaken(page).waitFor({ state: 'detached' })
    expect(await address(page).inputValue()).toBe('')
    await until('it has the focus', () => address(page).evaluate(one => one === document.activeElement))
    // Values that are the same by now are no conflict.
    await change(path, { name: 'South' })
    await save(page)
    await page.getByRole('row', { name: /South –/ }).waitFor()
    expect(await read(path)).toMatchObject({ name: 'South', address: null })
  })

  it('holds for fields that are not changed here, also when the page has read the record again', async () => {
    const path = `/device/${await make('/device', { name: 'Tracker' })}`
    const hubId = await make('/hub', { name: 'East', lat: 52, lng: 13 })
    const page = await screens.open(`${server.url}/devices${path.slice(7)}`, { as: owner })
    await field(page, 'Name').fill('Tracker 2')
    await change(path, { hubId })
    await page.clock.install()
    await page.clock.fastForward(60_000)
    const again = page.waitForResponse(new RegExp(path))
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
    await again
    await save(page)
    await page.getByRole('heading', { name: 'Tracker 2' }).waitFor()
    expect(await read(path)).toMatchObject({ name: 'Tracker 2', hubId })
  })

  it('is drawn on the map if it is the shape of a geofence', async () => {
    const shape = { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 500 }
    const id = await make('/geofence', { name: 'Depot', shape })
    const page = await screens.open(`${server.url}/?fence=${id}&edit=true`, { as: owner, map: 'still' })
    await field(page, 'Radius (m)').fill('700')
    await change(`/geofence/${id}`, { shape: { ...shape, radius: 900 } })
    await save(page)
    await overtaken(page).waitFor()
    await page.getByRole('button', { name: 'Use their version' }).click()
    expect(await field(page, 'Radius (m)').inputValue()).toBe('900')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Depot 2')
    await save(page)
    await page.getByRole('heading', { name: 'Depot 2' }).waitFor()
    expect(await read(`/geofence/${id}`)).toMatchObject({ name: 'Depot 2', shape: { radius: 900 } })
  })
})
