import { describe, it } from 'vitest'
import { createClient, createDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { useBrowser } from './browser.ts'

const MINUTE_MS = 60_000

describe('A fleet that falls silent', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })

  it('is called silent beside a live connection, and a mover without news is not called idle', async () => {
    const van = await createDevice(owner, 'Van 7')
    const send = (ageMs: number) =>
      createClient(server, van.key).post('/location-history/bulk', {
        points: [{ lat: 52.52, lng: 13.4, speed: 14, timestamp: new Date(Date.now() - ageMs).toISOString() }],
      })
    // After two minutes a fleet is silent, and after five it is offline.
    await send(2.5 * MINUTE_MS)
    const page = await screens.open(`${server.url}/?subject=${van.id}`, { as: owner })
    const badge = page.getByRole('status').filter({ hasText: /Live/ })
    await badge.getByText(/^Live, but no position since \d/).waitFor()
    const panel = page.getByRole('complementary', { name: 'Van 7' })
    await panel.getByText(/^No fix for [2-5] min/).waitFor()
    await page.getByRole('option', { name: /Van 7.*No fix/ }).waitFor()
    await send(0)
    await badge.getByText('Live', { exact: true }).waitFor()
    await panel.getByText('Moving').waitFor()
  })
})
