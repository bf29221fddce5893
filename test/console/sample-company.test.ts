import { describe, expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, hasFocus, useBrowser } from './browser.ts'

describe('An organization without a hub', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'still' })

  it('is offered a sample company, whose progress is shown and which goes after a question', async () => {
    const owner = await signIn(server)
    const page = await screens.open(server.url, { as: owner })
    // The progress is shown once there is a map.
    await page.locator('.maplibregl-ctrl-scale').waitFor()
    await page.getByRole('button', { name: 'Create the sample company' }).click()
    await page.getByText(/^The sample company is being created: \d+/).waitFor()
    await until('vehicles in the list', async () => (await page.getByText('Richmond 1').count()) > 0)
    await page.getByRole('button', { name: /All hubs/ }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    const remove = page.getByRole('button', { name: 'Delete sample data' })
    await remove.click()
    await page
      .getByRole('alert')
      .getByText(/its vehicles, devices, drivers.*go for good/i)
      .waitFor()
    await hasFocus(page, 'Keep it')
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Enter')
    await remove.waitFor()
    expect((await owner.get('/vehicles')).body.data).not.toEqual([])
    await remove.click()
    await page.getByRole('button', { name: 'Delete all of it' }).click()
    await page.getByRole('button', { name: 'Create the sample company' }).waitFor()
    expect((await owner.get('/vehicles')).body.data).toEqual([])
  })
})
