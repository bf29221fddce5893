import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { findBarriersInThemes, hasFocus, useBrowser } from './browser.ts'

describe('The page of API keys', () => {
  const { server } = useServer()
  const screens = useBrowser({ map: 'none' })
  let owner: Client

  beforeAll(async () => {
    owner = await signIn(server)
  })

  it('creates a key, shows it once, rotates it with overlap and deletes it', async () => {
    const page = await screens.open(`${server.url}/api-keys`, { as: owner, mayFail: /400/ })
    const dialog = page.getByRole('dialog')
    const choose = async (field: string, name: string) => {
      await dialog.getByRole('button', { name: field }).click()
      await page.getByRole('option', { name }).click()
    }
    const readShown = async () => {
      await page.getByText('The key is only shown once.').waitFor()
      return (await dialog.locator('code').first().textContent()) ?? ''
    }
    await page.getByRole('button', { name: 'Create API key' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('ERP')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.locator('.field-error').first().waitFor()
    await choose('Role', 'Planner')
    await choose('Expires', 'In 90 days')
    await dialog.getByRole('button', { name: 'Save' }).click()
    const first = await readShown()
    expect(first).toMatch(/^flk_[\w-]{43}$/)
    expect(await findBarriersInThemes(page)).toEqual([])
    // Escape does not lose it.
    await page.keyboard.press('Escape')
    await hasFocus(page, 'Done')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /ERP.*Planner.*never/i }).waitFor()
    expect((await createClient(server, first).get('/user')).body.data).toMatchObject({
      kind: 'api-key',
      name: 'ERP',
    })

    await page.reload()
    await page.getByRole('row', { name: /ERP.*127\.0\.0\.1/ }).focus()
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'New key' }).click()
    await page.getByText('How long does the old one keep working?').waitFor()
    await choose('Old key works for', '1 hour')
    expect(await findBarriersInThemes(page)).toEqual([])
    await dialog.getByRole('button', { name: 'New key' }).click()
    const second = await readShown()
    await dialog.getByRole('button', { name: 'Done' }).click()
    for (const key of [first, second]) expect((await createClient(server, key).get('/user')).status).toBe(200)

    // The one who created it finds it on the page of the own account too.
    await page.goto(`${server.url}/settings/account`)
    const own = page.getByRole('region', { name: 'Your API keys' })
    await own.getByText(/Planner.*Last used: .*127\.0\.0\.1.*Expires/).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await own.getByRole('link', { name: 'ERP' }).press('Enter')
    await page.getByText('The former key works until').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Delete ERP? Programs that use it lose access immediately.').waitFor()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Nothing here yet').waitFor()
    for (const key of [first, second]) expect((await createClient(server, key).get('/user')).status).toBe(401)
  })
})
