import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

const { server, owner } = useOrganization()
const screens = useBrowser({ map: 'none' })

/** Lets every request for a list fail. Returns how often it was asked for. */
async function refuse(page: Page, list: RegExp): Promise<() => number> {
  let asked = 0
  await page.route(list, route => {
    asked++
    return route.fulfill({ status: 500, json: { message: 'It failed', code: 'failure' } })
  })
  return () => asked
}
const look = { as: owner, mayFail: /500/ }

it('the live list has its rows although neither hubs, teams nor geofences can be read', async () => {
  const device = await createDevice(owner, 'Van 7')
  const points = [{ lat: 52.52, lng: 13.4, timestamp: new Date().toISOString() }]
  expect((await createClient(server, device.key).post('/location-history/bulk', { points })).status).toBe(200)
  const page = await screens.open('about:blank', look)
  const asked = await refuse(page, /api\/v3\/(hubs|teams|geofences)\?/)
  await page.goto(server.url)
  const row = page.getByRole('option', { name: /Van 7/ })
  await row.waitFor()
  await row.evaluate(one => one.setAttribute('data-kept', ''))
  const before = asked()
  await until('they are asked for again', () => asked() >= before + 6)
  expect(await row.getAttribute('data-kept')).toBe('')
})

it('a schedule that is half typed stays while its flows fail again and again', async () => {
  const page = await screens.open('about:blank', look)
  const asked = await refuse(page, /api\/v3\/flows/)
  await page.goto(`${server.url}/schedules?schedule=new`)
  const name = page.getByRole('textbox', { name: 'Name of its tasks' })
  await name.fill('Round of the north')
  const before = asked()
  await until('they are asked for again', () => asked() >= before + 5)
  expect(await name.inputValue()).toBe('Round of the north')
})
