import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { mailEnv, PUBLIC_URL } from '../support/mail.ts'
import { useServer } from '../support/own-server.ts'
import { newEmail, roleId } from '../support/people.ts'
import { startSmtp } from '../support/smtp.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, hasFocus, useBrowser } from './browser.ts'
import { goWithin } from './go-within.ts'

const smtp = await startSmtp({
  refuse: to => (to.startsWith('nobody') ? { code: 550, text: 'No such user' } : null),
})
const NEW_PASSWORD = 'a new and better password'
/** A laptop at 400 %, and a phone. */
const SIZES = [
  { width: 320, height: 256 },
  { width: 390, height: 844 },
]

describe('A server that sends mail', () => {
  const { server } = useServer(mailEnv(smtp))
  const screens = useBrowser({ map: 'none' })
  let owner: Client
  beforeAll(async () => {
    owner = await signIn(server)
  })
  afterAll(() => smtp.close())

  /** The link of the newest mail to an address, on this server. */
  const linkTo = async (email: string, count = 1) => {
    const mail = (await smtp.wait(email, count)).at(-1)
    const [link = ''] = new RegExp(`${PUBLIC_URL}\\S+`).exec(mail?.text ?? '') ?? []
    return link.replace(PUBLIC_URL, server.url)
  }
  const isFocused = (page: Page, label: string) =>
    until(`${label} has the focus`, () =>
      page.getByLabel(label).evaluate(one => one === document.activeElement),
    )
  const fits = (page: Page) =>
    page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)

  it('invites by mail, and leads from a forgotten password to a new one, by keyboard alone', async () => {
    const email = newEmail('eve')
    const page = await screens.open(`${server.url}/users/new`, { as: owner })
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Name', { exact: true }).fill('Eve')
    // The roles push the button down when they are read, and a press that it leaves is none.
    await page.getByRole('dialog').getByRole('button', { name: 'Role' }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`A mail with the link is on its way to ${email}.`).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('button', { name: 'Done' }).click()

    const guest = await screens.open(await linkTo(email))
    await guest.getByText('Choose a password, and you are in.').waitFor()
    await guest.getByLabel('Password').fill('the password that Eve forgets')
    await guest.keyboard.press('Enter')
    await guest.getByRole('heading', { name: 'Live map' }).waitFor()

    const forgetful = await screens.open(`${server.url}/sign-in`, { mayFail: /400/ })
    const way = forgetful.getByRole('link', { name: 'Forgot password?' })
    await way.waitFor()
    expect(await findBarriersInThemes(forgetful)).toEqual([])
    await way.focus()
    await forgetful.keyboard.press('Enter')
    await forgetful.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
    expect(await findBarriersInThemes(forgetful)).toEqual([])
    await isFocused(forgetful, 'E-mail')
    await forgetful.keyboard.type('no address')
    await forgetful.keyboard.press('Enter')
    await forgetful.locator('.field-error').waitFor()
    await isFocused(forgetful, 'E-mail')
    await forgetful.getByLabel('E-mail').fill(email)
    await forgetful.keyboard.press('Enter')
    await forgetful.getByRole('heading', { name: 'Look into your mail' }).waitFor()
    await hasFocus(forgetful, 'Sign in')
    expect(await findBarriersInThemes(forgetful)).toEqual([])

    const link = await linkTo(email, 2)
    expect(link).toContain('/reset-password#flp_')
    const reader = await screens.open(link)
    await reader.getByRole('heading', { name: 'Choose a new password' }).waitFor()
    expect(await findBarriersInThemes(reader)).toEqual([])
    await isFocused(reader, 'New password')
    await reader.keyboard.type('short')
    await reader.keyboard.press('Enter')
    await reader.locator('.field-error').getByText('At least 10 characters.').waitFor()
    await reader.getByLabel('New password').fill(NEW_PASSWORD)
    await reader.keyboard.press('Enter')
    await reader.getByRole('heading', { name: 'Your password is set' }).waitFor()
    expect(await findBarriersInThemes(reader)).toEqual([])
    await hasFocus(reader, 'Sign in')
    await reader.keyboard.press('Enter')
    await reader.getByLabel('E-mail').fill(email)
    await reader.getByLabel('Password').fill(NEW_PASSWORD)
    await reader.keyboard.press('Enter')
    await reader.getByRole('heading', { name: 'Live map' }).waitFor()

    const again = await screens.open(link, { mayFail: /404/ })
    await again.getByLabel('New password').fill(NEW_PASSWORD)
    await again.keyboard.press('Enter')
    await again.getByRole('heading', { name: 'This link no longer works' }).waitFor()
    expect(await findBarriersInThemes(again)).toEqual([])
    await hasFocus(again, 'New link')
    await again.keyboard.press('Enter')
    await again.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
  })

  it('says the same in German, on a phone and enlarged', async () => {
    const page = await screens.open(`${server.url}/sign-in`, { locale: 'de-DE', size: SIZES[1] })
    const fitsAll = async () => {
      for (const size of SIZES) {
        await page.setViewportSize(size)
        expect([size, await fits(page)]).toEqual([size, true])
      }
    }
    await page.getByRole('link', { name: 'Passwort vergessen?' }).click()
    // The page before has a field of the same name.
    await page.getByRole('heading', { name: 'Passwort vergessen?' }).waitFor()
    await page.getByLabel('E-Mail').fill(newEmail('niemand'))
    await fitsAll()
    await page.getByRole('button', { name: 'Link senden' }).click()
    await page.getByRole('heading', { name: 'Sehen Sie in Ihr Postfach' }).waitFor()
    await fitsAll()
    await goWithin(page, '/reset-password')
    await page.getByRole('heading', { name: 'Dieser Link gilt nicht mehr' }).waitFor()
    await fitsAll()
  })

  it('shows how the mail of an invitation fares, and sends it again', async () => {
    const email = newEmail('nobody')
    const invited = await owner.post('/users/invite', {
      email,
      name: 'Nobody',
      roleId: await roleId(owner, 'Planner'),
    })
    const { _id } = invited.body.data
    await until(
      'it is refused',
      async () => (await owner.get(`/user/${_id}`)).body.data.invitation.mail === 'refused',
    )
    const page = await screens.open(`${server.url}/users/${_id}`, { as: owner })
    await page.getByText('The mail server refuses this address.').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('button', { name: 'Mail again' }).click()
    await page.getByRole('alert').getByRole('button', { name: 'Mail again' }).click()
    await page.getByText(`A mail with the link is on its way to ${email}.`).waitFor()
  })
})
