import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { addConnection, readConnection, readUnknown, traccarFix } from '../support/connections.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('The page of connections', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  const dialog = (page: Page) => page.getByRole('dialog')
  const choose = async (page: Page, field: string | RegExp, name: string) => {
    await dialog(page).getByRole('button', { name: field }).click()
    await page.getByRole('option', { name, exact: true }).click()
  }
  const press = (page: Page, name: string) => dialog(page).getByRole('button', { name, exact: true }).click()
  const section = (page: Page, name: string | RegExp) => dialog(page).getByRole('radio', { name }).click()
  const send = ({ _id, key }: { _id: string; key: string }, body: string) =>
    fetch(`${server.url}/api/v3/ingest/connection/${_id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body,
    })

  it('creates each kind with its own fields alone, and shows the key with what to enter where', async () => {
    const page = await screens.open(`${server.url}/connections`, { as: owner, mayFail: /400/ })
    await page.getByRole('button', { name: 'Add connection' }).click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('LoRaWAN network')
    await press(page, 'Save')
    await dialog(page).locator('.field-error').first().waitFor()
    await choose(page, /^(Choose… )?Profile/, 'The Things Stack')
    expect(await dialog(page).getByLabel('Address of the broker').count()).toBe(0)
    await dialog(page).getByLabel('Header that holds the key').fill('x-our-key')
    await press(page, 'Save')
    await dialog(page).getByText('The key is only shown once.').waitFor()
    const steps = dialog(page).getByLabel('Enter this in The Things Stack')
    const [connection] = (await owner.get('/connections')).body.data
    expect(connection).toMatchObject({ kind: 'http', profileId: 'ttn', headerName: 'x-our-key' })
    await steps.getByText(`${server.url}/api/v3/ingest/connection/${connection._id}`).waitFor()
    const key = /flc_\S+/.exec((await steps.getByText(/flc_/).textContent()) ?? '')?.[0]
    expect(await findBarriersInThemes(page)).toEqual([])
    const headers = { 'x-our-key': key ?? '', 'content-type': 'application/json' }
    const address = `${server.url}/api/v3/ingest/connection/${connection._id}`
    expect((await fetch(address, { method: 'POST', headers, body: '{}' })).status).toBe(200)
    await dialog(page).getByText('Receiving').waitFor()
    await press(page, 'Done')

    await page.getByRole('button', { name: 'Add connection' }).click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('Yard')
    await choose(page, /Kind/, 'MQTT clients')
    await choose(page, /^(Choose… )?Profile/, 'Meshtastic')
    expect(await dialog(page).getByLabel('Header that holds the key').count()).toBe(0)
    await press(page, 'Save')
    await choose(page, /Where you enter it/, 'Mosquitto as a bridge')
    await dialog(page).getByText('msh/# out 1').waitFor()
    await press(page, 'Done')

    await page.getByRole('button', { name: 'Add connection' }).click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('Harbour')
    await choose(page, /Kind/, 'Another broker')
    await choose(page, /^(Choose… )?Profile/, 'flespi')
    await dialog(page).getByLabel('Address of the broker').fill('http://elsewhere')
    await dialog(page).getByLabel('Topics').fill('a/#, b/+')
    await press(page, 'Save')
    await dialog(page).getByText('This has to be an address that begins with').waitFor()
    await dialog(page).getByLabel('Address of the broker').fill('mqtt://127.0.0.1:9')
    await press(page, 'Save')
    await page.getByRole('row', { name: /Harbour.*Not connected/ }).waitFor()
    const [{ lastError }] = (await owner.get('/connections?search=Harbour')).body.data
    expect(lastError).toMatch(/private/)
    await page
      .getByRole('row', { name: /Harbour/ })
      .getByText(lastError)
      .waitFor()
    await page.getByRole('row', { name: /LoRaWAN network.*Receiving/ }).waitFor()
    await page.getByRole('row', { name: /Yard.*Waiting for the first message/ }).waitFor()
    const { body } = await owner.get('/connections?search=Harbour')
    expect(body.data).toMatchObject([{ kind: 'broker', broker: { topics: ['a/#', 'b/+'] } }])
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('shows what came and what became of it, and adopts trackers one by one and all at once', async () => {
    const connection = await addConnection(owner, { name: 'Trackers', kind: 'http' })
    const at = Date.now() - 60_000
    for (const reference of ['one', 'two', 'three']) await send(connection, traccarFix(reference, at))
    await send(connection, 'nothing that anybody reads')
    await until(
      'they are counted',
      async () => (await readConnection(owner, connection)).counts.messages === 4,
    )
    const page = await screens.open(`${server.url}/connections/${connection._id}`, { as: owner })
    await dialog(page).getByText('Receiving').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await section(page, 'Messages')
    await dialog(page).getByText('Unknown tracker').nth(2).waitFor()
    await dialog(page)
      .getByText(/^Rejected/)
      .first()
      .click()
    await dialog(page).getByText('nothing that anybody reads').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])

    await section(page, /Unknown trackers/)
    await dialog(page).getByText('52.00000, 13.00000').first().waitFor()
    await dialog(page).getByLabel('Map of their last positions').waitFor({ state: 'attached' })
    await dialog(page).getByText('This browser can’t show the map').waitFor()
    await press(page, 'Adopt two')
    await dialog(page).getByText('1 device was created').waitFor()
    await until('it is gone', async () => (await readUnknown(owner, connection)).size === 2)
    await press(page, 'Adopt all 2')
    await dialog(page).getByRole('alert').getByRole('button', { name: 'Adopt all 2' }).click()
    await dialog(page).getByText('2 devices were created').waitFor()
    await dialog(page).getByText('No unknown trackers').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    const names = (await owner.get('/devices?sort=name')).body.data.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['one', 'three', 'two'])
  })

  it('changes, stops, starts, rotates and deletes a connection', async () => {
    const broker = { url: 'mqtt://127.0.0.1:9', username: 'fieldline', password: 'secret' }
    const connection = await addConnection(owner, { name: 'Harbour 2', kind: 'broker', broker })
    // The page asks every few seconds how the connection does, also while it is being deleted.
    const mayFail = new RegExp(`404 .*${connection._id}`)
    const page = await screens.open(`${server.url}/connections/${connection._id}`, { as: owner, mayFail })
    await section(page, 'Settings')
    await dialog(page).getByLabel('User name').fill('fieldline-2')
    await press(page, 'Save')
    await dialog(page).waitFor({ state: 'detached' })
    const read = async () => (await owner.get(`/connection/${connection._id}`)).body.data
    expect(await read()).toMatchObject({
      name: 'Harbour 2',
      broker: { username: 'fieldline-2', url: broker.url },
    })
    /** Pushes the buttons down when it comes, and a press that one leaves is none. */
    const isToldWhy = () =>
      dialog(page)
        .getByText(/private address/)
        .first()
        .waitFor()
    await page.getByRole('row', { name: /Harbour 2/ }).click()
    await isToldWhy()
    await press(page, 'Stop')
    await dialog(page).getByText('Stopped').waitFor()
    expect((await read()).isActive).toBe(false)
    await press(page, 'Start')
    await dialog(page).getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await isToldWhy()
    await press(page, 'Delete')
    await dialog(page).getByText('Delete Harbour 2?').waitFor()
    await dialog(page).getByRole('alert').getByRole('button', { name: 'Delete' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    expect((await owner.get(`/connection/${connection._id}`)).status).toBe(404)

    const http = await addConnection(owner, { name: 'Old key', kind: 'http' })
    await page.goto(`${server.url}/connections/${http._id}`)
    await press(page, 'New key')
    await dialog(page).getByRole('alert').getByRole('button', { name: 'New key' }).click()
    await dialog(page).getByText(/flc_/).waitFor()
    expect((await send(http, traccarFix('any', Date.now()))).status).toBe(401)
    const key = /flc_\S+/.exec((await dialog(page).getByText(/flc_/).first().textContent()) ?? '')?.[0] ?? ''
    expect((await send({ ...http, key }, traccarFix('any', Date.now()))).status).toBe(200)
  })
})
