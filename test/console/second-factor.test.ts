import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../services/commands.ts'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { addOrganization, addPerson, newEmail, PASSWORD, roleId } from '../support/people.ts'
import { addSecondFactor, codeOf } from '../support/second-factor.ts'
import { openServer, type Server } from '../support/server.ts'
import { codeFrom, signOn } from '../support/sign-on.ts'
import { until } from '../support/wait.ts'
import { copiedBy, findBarriersInThemes, hasFocus, useBrowser } from './browser.ts'

const REFUSED = { mayFail: /40[13]/ }

describe('Signing in', () => {
  const screens = useBrowser({ map: 'none' })
  let database: TestDatabase
  let provider: IdentityProvider
  let server: Server
  let owner: Client

  beforeAll(async () => {
    const port = await freePort()
    const publicUrl = `http://127.0.0.1:${port}`
    database = await createTestDatabase(usualKind())
    provider = await startIdentityProvider(publicUrl)
    server = await openServer(database, { ...provider.env, PORT: String(port) })
    owner = (await addOrganization(server, await signIn(server))).client
  })
  afterAll(async () => {
    await server.stop()
    await provider.close()
    await database.remove()
  })

  const enter = async (page: Page, email: string) => {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
  }

  describe('with a second factor', () => {
    it('is set up in the own account, and removed there', async () => {
      const { client } = await addPerson(server, owner)
      const page = await screens.open(`${server.url}/settings/account`, { as: client, mayFail: /400/ })
      await page.getByRole('button', { name: 'Set up a second factor' }).press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Set up a second factor' })
      await dialog.getByRole('img', { name: 'Picture of the key' }).waitFor()
      const secret = (await dialog.locator('code').innerText()).replaceAll(/\s/g, '')
      expect(secret).toMatch(/^[A-Z2-7]{32}$/)
      const code = dialog.getByLabel('Code')
      expect(await code.getAttribute('autocomplete')).toBe('one-time-code')
      expect(await findBarriersInThemes(page)).toEqual([])
      await code.fill('000000')
      await code.press('Enter')
      await dialog.getByText('This is not the code that the app shows now.').waitFor()
      await code.fill(codeOf(secret))
      await code.press('Enter')
      const shown = page.getByRole('dialog', { name: 'Recovery codes' })
      const list = shown.getByRole('list', { name: 'Recovery codes' })
      await list.waitFor()
      const codes = (await list.getByRole('listitem').allInnerTexts()).map(text => text.trim())
      expect(codes).toHaveLength(10)
      expect(await findBarriersInThemes(page)).toEqual([])
      expect(await copiedBy(shown, 'Copy Recovery codes')).toBe(codes.join('\n'))
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        shown.getByRole('button', { name: 'Download' }).click(),
      ])
      expect(readFileSync(await saved.path(), 'utf8')).toContain(codes.join('\n'))
      await shown.getByRole('button', { name: 'Done' }).click()
      await page.getByText('10 recovery codes are left.').waitFor()
      expect(await findBarriersInThemes(page)).toEqual([])

      await page.getByRole('button', { name: 'Remove', exact: true }).press('Enter')
      const removal = page.getByRole('dialog', { name: 'Remove the second factor' })
      await removal.getByLabel('Present password').fill('not the password')
      await removal.getByLabel('Code of the app').fill(codes[0] as string)
      await page.keyboard.press('Enter')
      await removal.getByText('This is not your present password.').waitFor()
      await removal.getByLabel('Present password').fill(PASSWORD)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Set up a second factor' }).waitFor()
    })

    it('asks for the code, and leads to the address of the link', async () => {
      const { client, email } = await addPerson(server, owner)
      const { secret, recoveryCodes } = await addSecondFactor(client)
      const page = await screens.open(`${server.url}/links`, REFUSED)
      await enter(page, email)
      const code = page.getByLabel('Code')
      await code.waitFor()
      expect(await code.getAttribute('autocomplete')).toBe('one-time-code')
      await until('the code has the focus', () => code.evaluate(input => input === document.activeElement))
      expect(await findBarriersInThemes(page)).toEqual([])
      await page.keyboard.type('000000')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('The code is wrong').waitFor()
      // As it is pasted from an app.
      const now = codeOf(secret)
      await page.evaluate(text => navigator.clipboard.writeText(text), ` ${now.slice(0, 3)} ${now.slice(3)} `)
      await code.selectText()
      await page.keyboard.press('Control+v')
      await page.keyboard.press('Enter')
      await hasFocus(page, 'Tracking links')

      const other = await screens.open(`${server.url}/links`, REFUSED)
      await enter(other, email)
      await other.getByRole('button', { name: 'Use a recovery code' }).press('Enter')
      await other.keyboard.type((recoveryCodes[0] as string).toUpperCase())
      await other.keyboard.press('Enter')
      await hasFocus(other, 'Tracking links')
    })

    it('begins again with the password once the sign-in has ended', async () => {
      const { client, email } = await addPerson(server, owner)
      const { recoveryCodes } = await addSecondFactor(client)
      const page = await screens.open(`${server.url}/sign-in`, { ...REFUSED, locale: 'de-DE' })
      await page.getByLabel('E-Mail').fill(email)
      await page.getByLabel('Passwort').fill(PASSWORD)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Code eingeben' }).waitFor()
      const change = { currentPassword: PASSWORD, newPassword: 'another password of mine' }
      await client.post('/auth/change-password', change)
      await page.getByRole('button', { name: 'Wiederherstellungscode verwenden' }).click()
      await page.keyboard.type(recoveryCodes[0] as string)
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('Diese Anmeldung ist beendet.').waitFor()
      await page.getByLabel('Passwort').waitFor()
    })
  })

  it('into an organization that demands a second factor leads to setting one up', async () => {
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const { client: founder } = await addOrganization(server, admin.client, { organizationName: 'Careful' })
    const person = await addPerson(server, founder)
    const settings = await screens.open(`${server.url}/settings/organization`, { as: founder, ...REFUSED })
    await settings.getByRole('button', { name: 'Demand a second factor' }).click()
    const question = settings.getByRole('alert')
    await question.getByText('2 people have none and would be shut out at once').waitFor()
    await question.getByText(person.email).waitFor()
    await question.getByText('You are one of them').waitFor()
    expect(await findBarriersInThemes(settings)).toEqual([])
    const open = await screens.open(`${server.url}/tasks`, { as: person.client, ...REFUSED })
    await open.getByRole('heading', { name: 'Tasks' }).waitFor()
    await question.getByRole('button', { name: 'Demand it' }).click()
    await settings.getByRole('heading', { name: 'Careful demands a second factor' }).waitFor()
    expect(await findBarriersInThemes(settings)).toEqual([])
    await settings
      .getByRole('button', { name: /^Go to / })
      .first()
      .waitFor()

    await open.reload()
    await open.getByRole('heading', { name: 'Careful demands a second factor' }).waitFor()
    const secret = (await open.locator('code').innerText()).replaceAll(/\s/g, '')
    await open.getByLabel('Code').fill(codeOf(secret))
    await open.keyboard.press('Enter')
    await open.getByRole('list', { name: 'Recovery codes' }).waitFor()
    await open.getByRole('button', { name: 'I have kept them' }).click()
    await open.getByRole('heading', { name: 'Tasks' }).waitFor()
  })

  describe('with a provider', () => {
    it('goes there and back, to the address of the link', async () => {
      const { email } = await addPerson(server, owner)
      provider.person = { sub: email, email, email_verified: true }
      const page = await screens.open(`${server.url}/links`)
      const button = page.getByRole('button', { name: 'Sign in with Contoso' })
      await button.waitFor()
      expect(await findBarriersInThemes(page)).toEqual([])
      await button.press('Enter')
      await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
      expect(page.url()).toBe(`${server.url}/links`)
    })

    it('shows an account that it alone opens no password and no second factor to change', async () => {
      const email = newEmail('by-provider')
      const role = await roleId(owner, 'Planner')
      expect((await owner.post('/users/invite', { email, name: 'Guest', roleId: role })).status).toBe(201)
      provider.person = { sub: email, email, email_verified: true }
      const page = await screens.open(`${server.url}/settings/account`)
      await page.getByRole('button', { name: 'Sign in with Contoso' }).press('Enter')
      await page.getByText('Single sign-on opens your account.').waitFor()
      await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor()
      expect(await page.getByLabel('Present password').count()).toBe(0)
      expect(await page.getByRole('button', { name: 'Set up a second factor' }).count()).toBe(0)
      expect(await page.getByRole('region', { name: 'Your API keys' }).count()).toBe(0)
      expect(await findBarriersInThemes(page)).toEqual([])
    })

    it('says why it does not lead in, and keeps nothing of it in the address', async () => {
      provider.person = { sub: 'unverified', email: 'unverified@example.com', email_verified: false }
      const page = await screens.open(`${server.url}/sign-in?next=%2Flinks`, REFUSED)
      await page.getByRole('button', { name: 'Sign in with Contoso' }).click()
      await page.getByRole('alert').getByText('has not verified your e-mail address').waitFor()
      await until('it is not there', () => page.url() === `${server.url}/sign-in?next=%2Flinks`)
      provider.isAway = true
      const start = () => fetch(`${server.url}/api/v3/auth/oidc/start`, { redirect: 'manual' })
      try {
        await until('the server knows that it is away', async () => (await start()).status === 503)
        await page.getByRole('button', { name: 'Sign in with Contoso' }).click()
        await page.getByRole('alert').getByText('The provider does not answer.').waitFor()
      } finally {
        provider.isAway = false
        await until('the provider is there again', async () => (await start()).status === 303)
      }
    })

    it('signs nobody in by a link with a code of somebody else', async () => {
      const { email } = await addPerson(server, owner)
      const person = { sub: `stranger ${email}`, email, email_verified: true }
      const code = codeFrom(await signOn(server, provider, person, { returnTo: '/sign-in' }))
      const page = await screens.open(`${server.url}/sign-in?attempt=1-2-3-4&code=${code}`)
      await page.getByLabel('E-mail').waitFor()
      await until('the code is dropped', () => page.url() === `${server.url}/sign-in`)
      expect(await page.evaluate(() => localStorage.getItem('fieldline.session'))).toBeNull()
      // The stranger's code was not even tried.
      const answer = await createClient(server, '').post('/auth/oidc/session', { code })
      expect(answer.status).toBe(200)
    })
  })
})
