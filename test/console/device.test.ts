import mqtt from 'mqtt'
import { expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { listenForCommands } from '../support/commands.ts'
import { addHub, newEmail, PASSWORD, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

const HOUR_MS = 3_600_000
const { server, owner } = useOrganization()
const screens = useBrowser({ map: 'none' })

it('the page of a device says why it is not on the map, and that it is once it is mended', async () => {
  const device = await createDevice(owner, 'Tracker 1')
  const page = await screens.open(`${server.url}/devices`, { as: owner })
  await page.getByRole('row', { name: /Tracker 1/ }).click()
  await page.getByRole('main').getByRole('heading', { name: 'Tracker 1', exact: true }).waitFor()
  const verdict = page.getByRole('region', { name: 'On the map' })
  await verdict.getByRole('heading', { name: 'It has never connected' }).waitFor()

  const url = `mqtt://127.0.0.1:${server.mqttPort}`
  const options = {
    username: device.id,
    password: 'fld_wrong',
    reconnectPeriod: 0,
    protocolVersion: 4,
  } as const
  await expect(mqtt.connectAsync(url, options, false)).rejects.toThrow()
  await verdict.getByRole('heading', { name: 'Somebody signed in as it with a wrong key' }).waitFor()
  await verdict.getByText('from 127.0.0.1').waitFor()
  expect(await findBarriersInThemes(page)).toEqual([])
  await verdict.getByRole('button', { name: 'Show its setup' }).click()
  await page.getByRole('dialog', { name: 'Set up Tracker 1' }).waitFor()
  await page.keyboard.press('Escape')

  const points = [{ lat: 52, lng: 13, timestamp: new Date().toISOString() }]
  await createClient(server, device.key).post('/location-history/bulk', { points })
  await verdict.getByText('It is on the map.').waitFor()
})

it('it names what hides it from another user', async () => {
  const [north, south] = [await addHub(owner, 'North'), await addHub(owner, 'South')]
  const device = await createDevice(owner, 'Tracker 2')
  await owner.patch(`/device/${device.id}`, { hubId: north })
  const person = { name: 'Planner South', email: newEmail(), hubId: [south] }
  const invited = await owner.post('/users/invite', { ...person, roleId: await roleId(owner, 'Planner') })
  const { token } = invited.body.data.invitation
  const accepted = { token, name: person.name, password: PASSWORD }
  await createClient(server, '').post('/auth/accept-invitation', accepted)
  const page = await screens.open(`${server.url}/devices/${device.id}`, { as: owner })
  const verdict = page.getByRole('region', { name: 'On the map' })
  await verdict.getByRole('button', { name: 'Whose map' }).click()
  await page.getByRole('option', { name: 'Planner South' }).click()
  await verdict.getByText('The device belongs to a hub that the user doesn’t see').waitFor()
})

it('it shows the week, the vehicles, the last messages and the links of a device', async () => {
  const device = await createDevice(owner, 'Tracker 3')
  await owner.post('/vehicle', { name: 'Van 3', deviceId: device.id })
  const at = (hours: number, more: object) => ({
    ...{ lat: 52, lng: 13, timestamp: new Date(Date.now() - hours * HOUR_MS).toISOString() },
    ...more,
  })
  const points = [at(5, { battery: 90 }), at(2, { battery: 40 }), at(0, { lat: 91 })]
  await createClient(server, device.key).post('/location-history/bulk', { points })
  const link = { subjectId: device.id, subjectType: 'device', trailMinutes: 60 }
  const expiresAt = new Date(Date.now() + HOUR_MS).toISOString()
  expect((await owner.post('/tracking-link', { ...link, expiresAt })).status).toBe(201)
  await until(
    'they are stored',
    async () => (await owner.get(`/device/${device.id}/activity`)).body.data.length === 2,
  )
  // The page asks every few seconds how the device does, also while it is being deleted.
  const mayFail = new RegExp(`404 .*${device.id}`)
  const page = await screens.open(`${server.url}/devices/${device.id}`, { as: owner, mayFail })
  await page.getByRole('img', { name: 'Battery: 40% at last, 40% at the lowest' }).waitFor()
  // Six hours, or seven when the next one has begun meanwhile.
  await page.getByRole('img', { name: /^Silence: \d+ of [67] hours without a point/ }).waitFor()
  const mounts = page.getByRole('region', { name: 'Mounted on' })
  await mounts.getByRole('link', { name: 'Van 3' }).waitFor()
  const messages = page.getByRole('region', { name: 'Last messages' }).first()
  await messages.getByRole('row', { name: /lat has to be a number.*"lat":91/ }).waitFor()
  await messages.getByRole('row', { name: /Stored .*"battery":40/ }).waitFor()
  await page
    .getByRole('region', { name: 'Tracking links' })
    .getByText(/^until /)
    .waitFor()
  expect(await findBarriersInThemes(page)).toEqual([])

  const settings = page.getByRole('region', { name: 'Settings' })
  await settings.getByLabel('Name').fill('Tracker 3b')
  await settings.getByRole('button', { name: 'Save' }).click()
  await settings.getByText('Saved').waitFor()
  await page.getByRole('main').getByRole('heading', { name: 'Tracker 3b' }).waitFor()
  await settings.getByRole('button', { name: 'Delete' }).click()
  await settings.getByRole('alert').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('table', { name: 'Devices' }).waitFor()
  expect((await owner.get(`/device/${device.id}`)).status).toBe(404)
})

it('it sends commands, shows what became of each, and withdraws one that waits', async () => {
  const device = await createDevice(owner, 'Tracker 5')
  const page = await screens.open(`${server.url}/devices/${device.id}`, { as: owner })
  const panel = page.getByRole('region', { name: 'Commands' })
  await panel.getByText('It has got no command yet.').waitFor()
  const send = async (name: string, value: string) => {
    await panel.getByRole('textbox', { name: 'Command' }).fill(name)
    await panel.getByRole('textbox', { name: 'Value (JSON)' }).fill(value)
    await panel.getByRole('button', { name: 'Send command' }).click()
  }
  await send('setInterval', '{"seconds":')
  await panel.getByText('This is not JSON.').waitFor()
  await send('setInterval', '{"seconds": 30}')
  await panel.getByText('Waits until it listens').waitFor()
  const listener = await listenForCommands(server, device)
  const [command] = await listener.wait(1)
  expect(command).toMatchObject({ name: 'setInterval', payload: { seconds: 30 } })
  await listener.answer(command?.id ?? '', { status: 'failed', result: 'no power' })
  await listener.cut()
  await panel.getByText('Failed').waitFor()
  await panel.getByText('"no power"').waitFor()

  await send('blink', '')
  await panel.getByText('Waits until it listens').waitFor()
  expect(await findBarriersInThemes(page)).toEqual([])
  await panel.getByRole('button', { name: 'Withdraw' }).click()
  await panel.getByText('blink').waitFor({ state: 'detached' })
})
