import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { OWNER } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { findBarriers, useBrowser } from './browser.ts'

describe('The way into the console', () => {
  const { server } = useServer()
  const screens = useBrowser()

  beforeAll(async () => {
    const owner = await signIn(server)
    const other = { organizationName: 'Southwind', hubName: 'Depot', hubLat: 48.1, hubLng: 11.5 }
    const made = await owner.post('/organization', other)
    expect(made.status).toBe(201)
    // Back, so that this is the organization of the next sign-in.
    const client = createClient(server, made.body.token)
    const first = made.body.organizations.find(
      (one: { organizationName: string }) => one.organizationName === 'My organization',
    )
    const back = await client.post('/auth/switch-organization', { organizationId: first.organizationId })
    expect(back.status).toBe(200)
  })

  const enter = async (page: Page, password = OWNER.password) => {
    await page.getByLabel('E-mail').fill(OWNER.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const openAs = async (path: string, more: object = {}): Promise<[Page, Client]> => {
    const client = await signIn(server)
    return [await screens.open(`${server.url}${path}`, { as: client, ...more }), client]
  }
  const chooseInAccount = async (page: Page, section: string, name: string) => {
    await page.getByRole('button', { name: /^(Account of|Konto von)/ }).click()
    await page.getByRole('group', { name: section }).getByRole('menuitemradio', { name }).click()
    await page.keyboard.press('Escape')
  }
  const isLive = (page: Page) => page.getByRole('status').getByText('Live').waitFor()

  it('leads through a wrong password and the right one to where the link pointed', async () => {
    const page = await screens.open(`${server.url}/links`, { mayFail: /401/ })
    await enter(page, 'a wrong password')
    await page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor()
    await enter(page)
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/links')
  })

  it('leads to no other page than ours, whatever the address says', async () => {
    const [page] = await openAs('/sign-in?next=//elsewhere.example/')
    await page.getByRole('heading', { name: 'Live map' }).waitFor()
    expect(new URL(page.url()).origin).toBe(server.url)
  })

  it('a session that ends elsewhere leads to the sign-in and from there back to where one was', async () => {
    const [page, client] = await openAs('/?state=idle&sort=speed')
    await isLive(page)
    await client.post('/auth/logout')
    await page.getByText('Sign in to go on where you were.').waitFor()
    await enter(page)
    await isLive(page)
    expect(new URL(page.url()).search).toBe('?state=idle&sort=speed')
  })

  it('signing out ends the session on the server too, and in every tab', async () => {
    const [page, client] = await openAs('/')
    await isLive(page)
    const other = await page.context().newPage()
    await other.goto(`${server.url}/links`)
    await other.getByRole('heading', { name: 'Tracking links' }).waitFor()
    await page.getByRole('button', { name: /^Account of/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.getByText('Sign in to go on').count()).toBe(0)
    await other.getByRole('button', { name: 'Sign in' }).waitFor()
    expect((await client.get('/user')).status).toBe(401)
  })

  it('switching the organization takes everything with it, the live socket and other tabs too', async () => {
    const [page, client] = await openAs('/?state=idle')
    await isLive(page)
    const other = await page.context().newPage()
    await other.goto(server.url)
    await page.getByRole('button', { name: /My organization/ }).click()
    await page.getByRole('menuitemradio', { name: /Southwind/ }).click()
    for (const tab of [page, other]) {
      await tab.getByRole('button', { name: /Southwind/ }).waitFor()
      await isLive(tab)
    }
    expect((await client.get('/user')).status).toBe(401)
    expect(new URL(page.url()).search).toBe('')
  })

  it('the token is in no address and no cookie, and another origin does not see it', async () => {
    const [page] = await openAs('/')
    await isLive(page)
    expect(await page.context().cookies()).toEqual([])
    expect(page.url()).not.toContain('eyJ')
    const read = () => localStorage.getItem('fieldline.session')
    expect(await page.evaluate(read)).toContain('eyJ')
    // The same server under another name is another origin.
    const elsewhere = await screens.open(server.url.replace('127.0.0.1', 'localhost'), { mayFail: /./ })
    expect(await elsewhere.evaluate(read)).toBeNull()
  })

  it('keeps the theme and the language that were chosen', async () => {
    const [page] = await openAs('/links')
    const ground = () =>
      page.evaluate(() => getComputedStyle(document.body.parentElement as Element).backgroundColor)
    await page.getByRole('heading', { name: 'Tracking links' }).waitFor()
    const light = await ground()
    await chooseInAccount(page, 'Theme', 'Dark')
    await until('it is dark', async () => (await ground()) !== light)
    await chooseInAccount(page, 'Language', 'Deutsch')
    await page.getByRole('heading', { name: 'Tracking-Links' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Tracking-Links' }).waitFor()
    expect(await ground()).not.toBe(light)
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de')
  })

  it('a link to nowhere is a page that says so', async () => {
    const [page] = await openAs('/nowhere', { mayFail: /404/ })
    await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
    await page.getByRole('link', { name: 'To the live map' }).click()
    await page.getByRole('heading', { name: 'Live map' }).waitFor()
  })

  it.each(['light', 'dark'] as const)('nothing is in the way of anybody: %s', async theme => {
    const page = await screens.open(`${server.url}/sign-in`, { theme })
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    const [inside] = await openAs('/', { theme })
    await isLive(inside)
    expect(await findBarriers(inside)).toEqual([])
    await inside.getByRole('button', { name: /^Account of/ }).click()
    await inside.getByRole('menu').waitFor()
    expect(await findBarriers(inside)).toEqual([])
  })
})
