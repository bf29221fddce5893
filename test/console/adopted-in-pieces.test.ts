import { expect, it } from 'vitest'
import { addConnection, readUnknown, traccarFix } from '../support/connections.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

const { server, owner } = useOrganization()
const screens = useBrowser({ map: 'none' })

it('trackers are adopted although nothing is kept any more of the five hundred before them', async () => {
  const connection = await addConnection(owner, { name: 'Trackers', kind: 'http' })
  await fetch(`${server.url}/api/v3/ingest/connection/${connection._id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${connection.key}` },
    body: traccarFix('kept', Date.now() - 60_000),
  })
  await until('it is known', async () => (await readUnknown(owner, connection)).size === 1)
  const page = await screens.open(`${server.url}/`, { as: owner, mayFail: /400/ })
  // What the page has read before the others were removed.
  const { body } = await owner.get(`/connection/${connection._id}/unknown`)
  const [kept] = body.data
  const gone = Array.from({ length: 500 }, (_, n) => ({ ...kept, reference: `gone ${n}` }))
  await page.route('**/api/v3/connection/*/unknown', route =>
    route.fulfill({ json: { ...body, data: [...gone, kept] } }),
  )
  await page.goto(`${server.url}/connections/${connection._id}`)
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('radio', { name: /Unknown trackers/ }).click()
  await dialog.getByRole('button', { name: 'Adopt all 501' }).click()
  await dialog.getByRole('alert').getByRole('button', { name: 'Adopt all 501' }).click()
  await dialog.getByText('1 device was created').waitFor()
  expect(await dialog.getByRole('alert').count()).toBe(0)
  expect((await owner.get('/devices')).body.data).toMatchObject([{ name: 'kept' }])
  await dialog.getByRole('button', { name: 'Adopt gone 7', exact: true }).click()
  await dialog.getByRole('alert').getByText('This does not exist, or was deleted.').waitFor()
})
