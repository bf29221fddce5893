import { describe, expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'

describe('An organization without a hub', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'still' })

  it('is offered a sample company, whose progress is shown and which goes with one click', async () => {
    const owner = await signIn(server)
    const page = await screens.open(server.url, { as: owner })
    await page.getByRole('button', { name: 'Create the sample company' }).click()
    await page.getByText(/^The sample company is being created: \d+/).waitFor()
    await until('vehicles in the list', async () => (await page.getByText('Richmond 1').count()) > 0)
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Delete sample data' }).click()
    await page.getByRole('button', { name: 'Create the sample company' }).waitFor()
    expect((await owner.get('/vehicles')).body.data).toEqual([])
  })
})
