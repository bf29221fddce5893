import { expect, it } from 'vitest'
import { useOrganization } from '../support/shared-server.ts'
import { useBrowser } from './browser.ts'

const { server, owner } = useOrganization()
const screens = useBrowser()

it('the language is the browser’s, until somebody sets that of the organization', async () => {
  const page = await screens.open(`${server.url}/links`, { as: owner, locale: 'de-DE' })
  await page.getByRole('heading', { name: 'Tracking-Links' }).waitFor()
  expect((await owner.patch('/organization', { language: 'en' })).status).toBe(200)
  await page.reload()
  await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
})
