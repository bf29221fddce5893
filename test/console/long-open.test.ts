import { describe, expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { pressAtOnce, useBrowser } from './browser.ts'

describe('A page that is open for long', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  const add = async (path: string, body: object) =>
    (await owner.post(path, body)).body.data as { _id: string; name: string }
  const mayFail = /WebSocket/

  it('shows current names in the panel of the map', async () => {
    const tracker = await createDevice(owner, 'Tracker A1')
    const vehicle = await add('/vehicle', { name: 'Ambulance 1', deviceId: tracker.id, plate: 'B-AA 1' })
    const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
    await createClient(server, tracker.key).post('/location-history/bulk', { points })
    const page = await screens.open(`${server.url}/devices`, { as: owner, mayFail })
    await page.clock.install()
    await page.goto(`${server.url}/?subject=${tracker.id}`)
    const panel = page.getByRole('complementary')
    for (const text of ['B-AA 1', 'Tracker A1']) await panel.getByText(text).waitFor()

    await owner.patch(`/device/${tracker.id}`, { name: 'Tracker B2' })
    await owner.patch(`/vehicle/${vehicle._id}`, { name: 'Ambulance 2', plate: 'B-BB 2' })
    await panel.getByRole('heading', { name: 'Ambulance 2' }).waitFor()
    for (const text of ['B-BB 2', 'Tracker B2']) await panel.getByText(text).waitFor()

    // A change that its name does not show.
    await owner.patch(`/vehicle/${vehicle._id}`, { plate: 'B-CC 3' })
    await page.clock.fastForward(31_000)
    await panel.getByText('B-CC 3').waitFor()
  })

  it('shows them in tables too, which keep their scroll position and the focused row', async () => {
    for (let n = 10; n < 40; n++) await add('/team', { name: `Team ${n}` })
    const team = await add('/team', { name: 'Team 40' })
    const size = { width: 1_120, height: 500 }
    const page = await screens.open(`${server.url}/devices`, { as: owner, mayFail, size })
    await page.clock.install()
    await page.goto(`${server.url}/teams`)
    await page.getByRole('row', { name: /Team 10/ }).focus()
    await pressAtOnce(page, 'End', 1)
    await page.getByRole('row', { name: /Team 40/ }).waitFor()
    const scrolled = () => page.locator('.table-box').evaluate(box => box.scrollTop)
    let before = 0
    await until('it is scrolled, and stands still', async () => {
      const last = before
      before = await scrolled()
      return before > 0 && before === last
    })
    expect((await owner.put(`/team/${team._id}`, { name: 'Team 41' })).status).toBe(200)
    await page.clock.fastForward(61_000)
    const row = page.getByRole('row', { name: /Team 41/ })
    await row.waitFor()
    expect(await scrolled()).toBe(before)
    expect(await row.evaluate(one => one === document.activeElement)).toBe(true)
  })
})
