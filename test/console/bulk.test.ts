import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { addHub } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

const { server, owner } = useOrganization()
const screens = useBrowser({ map: 'none' })
let north = ''
let south = ''
const ids: string[] = []

beforeAll(async () => {
  north = await addHub(owner, 'North')
  south = await addHub(owner, 'South')
  for (let n = 1; n <= 4; n++) {
    const { id } = await createDevice(owner, `Tracker ${n}`)
    ids.push(id)
    await owner.patch(`/device/${id}`, { hubId: n === 4 ? south : north })
  }
})

const hubsOf = async () => {
  const { data } = (await owner.get('/devices?sort=name')).body
  return data.map(({ hubId }: { hubId: string | null }) => hubId)
}

it('several records are chosen by keyboard and mouse, and move to a hub with one undo', async () => {
  const page = await screens.open(`${server.url}/devices`, { as: owner })
  const row = (n: number) => page.getByRole('row', { name: new RegExp(`Tracker ${n}`) })
  await row(1).focus()
  await page.keyboard.press('Space')
  await page.keyboard.press('Shift+ArrowDown')
  const bar = page.getByRole('region', { name: 'The chosen ones' })
  await bar.getByText('2 chosen').waitFor()
  await row(4).getByRole('checkbox', { name: 'Choose Tracker 4' }).click()
  await bar.getByText('3 chosen').waitFor()
  expect(new URL(page.url()).pathname).toBe('/devices')
  expect(await findBarriersInThemes(page)).toEqual([])
  await bar.getByRole('button', { name: 'Change hub' }).click()
  await page.getByRole('option', { name: 'South' }).click()
  await page.getByText('3 moved to South.').waitFor()
  expect(await hubsOf()).toEqual([south, south, north, south])
  await page.getByRole('button', { name: 'Undo' }).click()
  await until(
    'all are where they were',
    async () => JSON.stringify(await hubsOf()) === JSON.stringify([north, north, north, south]),
  )
})

async function moveToSouth(page: Page, name: string): Promise<void> {
  const bar = page.getByRole('region', { name: 'The chosen ones' })
  await page.getByRole('checkbox', { name: `Choose ${name}` }).click()
  await bar.getByRole('button', { name: 'Change hub' }).click()
  await page.getByRole('option', { name: 'South' }).click()
  await bar.waitFor({ state: 'detached' })
}

it('an undo that takes long leaves the next one with the same words alone', async () => {
  const page = await screens.open(`${server.url}/devices`, { as: owner })
  const undo = page.getByRole('button', { name: 'Undo' })
  await moveToSouth(page, 'Tracker 1')
  await page.getByText('1 moved to South.').waitFor()
  let letGo = () => {}
  const held = new Promise<void>(resolve => {
    letGo = resolve
  })
  await page.route(`**/api/v3/device/${ids[0]}`, async route => {
    if (route.request().method() !== 'GET') await held
    await route.continue()
  })
  await undo.click()
  await moveToSouth(page, 'Tracker 2')
  await until('the second one can be undone', () => undo.isEnabled())
  letGo()
  await until('the first one is undone', async () => (await hubsOf())[0] === north)
  expect((await hubsOf())[1]).toBe(south)
  await undo.click()
  await until('both are undone', async () => (await hubsOf())[1] === north)
})

it('an undo that fails is told, although the next one is offered by then', async () => {
  const page = await screens.open(`${server.url}/devices`, { as: owner, mayFail: /ERR_FAILED/ })
  await moveToSouth(page, 'Tracker 1')
  const said = page.getByRole('status').filter({ hasText: '1 moved to South.' })
  await said.waitFor()
  let fail = () => {}
  const held = new Promise<void>(resolve => {
    fail = resolve
  })
  await page.route(`**/api/v3/device/${ids[0]}`, async route => {
    if (route.request().method() === 'GET') return route.continue()
    await held
    await route.abort()
  })
  await page.getByRole('button', { name: 'Undo' }).click()
  await moveToSouth(page, 'Tracker 2')
  fail()
  await said.filter({ hasText: /\. 1 moved to South\./ }).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await until('the second one is undone', async () => (await hubsOf())[1] === north)
  expect((await hubsOf())[0]).toBe(south)
  await owner.patch(`/device/${ids[0]}`, { hubId: north })
})

it('filters stand in the address, and survive a reload', async () => {
  const page = await screens.open(`${server.url}/devices`, { as: owner })
  await page.getByRole('main').getByRole('button', { name: 'Hub' }).click()
  await page.getByRole('option', { name: 'South' }).click()
  await page.getByRole('row', { name: /Tracker 1/ }).waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /Tracker 4/ }).waitFor()
  expect(new URL(page.url()).searchParams.get('hubId')).toBe(south)
  await page.reload()
  await page.getByRole('row', { name: /Tracker 4/ }).waitFor()
  expect(await page.getByRole('row', { name: /Tracker 1/ }).count()).toBe(0)
  await page.getByRole('button', { name: 'Reset filters' }).click()
  await page.getByRole('row', { name: /Tracker 1/ }).waitFor()
})

it('all are deleted after one question, and what stays is said and still chosen', async () => {
  const hub = await addHub(owner, 'Empty')
  const page = await screens.open(`${server.url}/hubs`, { as: owner, mayFail: /409/ })
  await page.getByRole('checkbox', { name: 'Choose Empty' }).check()
  await page.getByRole('checkbox', { name: 'Choose South' }).check()
  const bar = page.getByRole('region', { name: 'The chosen ones' })
  await bar.getByRole('button', { name: 'Delete' }).click()
  await bar.getByText(/^Delete these 2: .*This can’t be undone/).waitFor()
  await bar.getByRole('alert').getByRole('button', { name: 'Delete' }).click()
  await until('the empty one is gone', async () => (await owner.get(`/hub/${hub}`)).status === 404)
  if ((await owner.get(`/hub/${south}`)).status === 200) {
    await bar.getByText(/1 could not be changed, and is still chosen/).waitFor()
    await bar.getByText('1 chosen').waitFor()
  }
})
