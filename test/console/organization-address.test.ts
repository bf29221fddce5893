import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createClient } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { addOrganization, addPerson, newEmail, PASSWORD } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('The organization in the address', () => {
  const { server, owner, database } = useOrganization()
  const screens = useBrowser({ map: 'none', mayFail: /40[14]/ })
  const ids = { north: '', south: '' }
  const email = newEmail('both')

  // One person in two organizations, each with a hub of its own.
  beforeAll(async () => {
    const person = await addPerson(server, owner, { role: 'Admin', email })
    const south = await addOrganization(server, person.client, { organizationName: 'South', hubName: 'Port' })
    const north = await addOrganization(server, south.client, { organizationName: 'North', hubName: 'Yard' })
    Object.assign(ids, { north: north.organizationId, south: south.organizationId })
  })

  const pathOf = (page: Page) => page.evaluate(() => location.pathname + location.search)
  const isIn = (page: Page, name: string) =>
    page.getByRole('button', { name: `Organization ${name}` }).waitFor()
  const enter = async (page: Page, address = email) => {
    await page.getByLabel('E-mail').fill(address)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const change = async (page: Page, to: string) => {
    await page.getByRole('button', { name: /^Organization / }).click()
    await page.getByRole('menuitemradio', { name: to }).click()
    await isIn(page, to)
  }
  const openTab = async (beside: Page, path: string) => {
    const tab = await beside.context().newPage()
    await tab.goto(server.url + path)
    return tab
  }
  const storedIn = (page: Page, organization: string): Promise<string> =>
    page.evaluate(
      id => JSON.parse(localStorage.getItem(`fieldline.session/${id}`) ?? '{}').token,
      organization,
    )
  const sessionOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()).jti
  const hub = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(name) }).waitFor()
  const signOut = async (page: Page) => {
    await page.getByRole('button', { name: /^Account of/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  }
  /** A tab in North, and one in South beside it. */
  const openBoth = async (path = '/hubs') => {
    const north = await screens.open(`${server.url}/o/${ids.north}${path}`)
    await enter(north)
    await isIn(north, 'North')
    const south = await openTab(north, `/o/${ids.south}${path}`)
    await isIn(south, 'South')
    return { north, south }
  }

  it('shows two in two tabs, each with its own records, also after a reload and with every link', async () => {
    const { north, south } = await openBoth()
    await hub(north, 'Yard')
    await hub(south, 'Port')
    for (const [page, name, id] of [
      [north, 'Yard', ids.north],
      [south, 'Port', ids.south],
    ] as const) {
      await page.reload()
      await hub(page, name)
      await page.getByRole('link', { name: 'Teams', exact: true }).click()
      await page.getByRole('heading', { name: 'Teams' }).waitFor()
      expect(await pathOf(page)).toBe(`/o/${id}/teams`)
      await page.keyboard.press('Control+k')
      await page.keyboard.type('hubs')
      await page.locator('[role=option][data-focused]').getByText('Hubs', { exact: true }).waitFor()
      await page.keyboard.press('Enter')
      await hub(page, name)
      expect(await pathOf(page)).toBe(`/o/${id}/hubs`)
    }
  })

  it('changes in one tab alone, and the back button returns to the organization before', async () => {
    const { north, south } = await openBoth()
    await change(north, 'South')
    expect(await pathOf(north)).toBe(`/o/${ids.south}`)
    await change(south, 'North')
    await north.goBack()
    await isIn(north, 'North')
    await hub(north, 'Yard')
    expect(await pathOf(south)).toBe(`/o/${ids.north}`)
  })

  it('is added to an address without one: the organization that was opened last', async () => {
    const { north } = await openBoth()
    const tab = await openTab(north, '/hubs?search=o')
    await hub(tab, 'Port')
    expect(await pathOf(tab)).toBe(`/o/${ids.south}/hubs?search=o`)
  })

  it('survives the way over the sign-in form, with everything behind it', async () => {
    const page = await screens.open(`${server.url}/o/${ids.south}/hubs?search=po`)
    await page.getByText('Sign in to continue').waitFor()
    expect(await pathOf(page)).toMatch(`/o/${ids.south}/sign-in`)
    await enter(page)
    await hub(page, 'Port')
    expect(await pathOf(page)).toBe(`/o/${ids.south}/hubs?search=po`)
  })

  it('says in one sentence that somebody is no member, before and after signing in', async () => {
    const stranger = await addPerson(server, owner, { role: 'Admin' })
    const page = await screens.open(`${server.url}/o/${ids.south}/hubs`)
    await enter(page, stranger.email)
    await page.getByText('You are no member of this organization.').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: /^Account of/ }).waitFor()
    const own = await pathOf(page)
    await page.goto(`${server.url}/o/${ids.south}/hubs`)
    await page.getByRole('heading', { name: 'You are no member of this organization.' }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Account of/ }).waitFor()
    expect(await pathOf(page)).toBe(own)
    await page.goBack()
    await page.getByRole('button', { name: 'Sign in with another account' }).click()
    await page.getByLabel('E-mail').waitFor()
  })

  it('is signed out of everywhere at once, and another person in one tab does not get into the other', async () => {
    const { north, south } = await openBoth()
    const tokens = [await storedIn(north, ids.north), await storedIn(south, ids.south)]
    await signOut(north)
    await south.getByRole('button', { name: 'Sign in' }).waitFor()
    for (const token of tokens)
      await until('the server has heard of it', async () => {
        return (await createClient(server, token).get('/user')).status === 401
      })
    expect(await north.evaluate(() => Object.keys(localStorage).join())).not.toContain('session')
    const stranger = await addPerson(server, owner, { role: 'Admin' })
    await enter(north, stranger.email)
    await south.getByRole('heading', { name: 'You are no member of this organization.' }).waitFor()
    // The first person comes back in the other tab, to the page that was left.
    await south.getByRole('button', { name: 'Sign in with another account' }).click()
    await north.getByLabel('E-mail').waitFor()
    await enter(south)
    await south.getByRole('button', { name: /^Organization / }).waitFor()
  })

  describe('whose session', () => {
    let db: Database
    const change = (token: string, end: string) =>
      db.system.query(`UPDATE sessions SET expires_at = now() + $2::interval WHERE id = $1`, [
        sessionOf(token),
        end,
      ])

    it('has expired is opened again by the one of the other tab, and nothing typed is lost', async context => {
      if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
      db = await openTestDatabase(database)
      try {
        const { north, south } = await openBoth('/hubs/new')
        const name = south.getByRole('dialog').getByRole('textbox', { name: 'Name' })
        await name.fill('Half typed')
        const former = await storedIn(south, ids.south)
        await change(former, '-1 minute')
        await south.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
        await until('there is a new one', async () => (await storedIn(south, ids.south)) !== former)
        await until('the form is there again', () => name.isVisible())
        expect(await name.inputValue()).toBe('Half typed')
        await isIn(north, 'North')
      } finally {
        await db.close()
      }
    })

    it('ends soon is renewed by its own tab', async context => {
      if (!database.url) return context.skip('A session is moved in time on PostgreSQL')
      db = await openTestDatabase(database)
      try {
        const { north, south } = await openBoth()
        const before = { north: await storedIn(north, ids.north), south: await storedIn(south, ids.south) }
        for (const [page, name] of [
          [north, 'north'],
          [south, 'south'],
        ] as const) {
          await change(before[name], '3 hours')
          await page.evaluate(id => {
            const key = `fieldline.session/${id}`
            const session = JSON.parse(localStorage.getItem(key) ?? '')
            localStorage.setItem(key, JSON.stringify({ ...session, expiresAt: Date.now() + 60_000 }))
          }, ids[name])
        }
        // Each is renewed at a random time: before its socket is open, that would end the token with which it opens.
        const reload = async (page: Page) => {
          let letRenew = () => {}
          const held = new Promise<void>(resolve => {
            letRenew = resolve
          })
          await page.route('**/auth/renew', route => held.then(() => route.continue()))
          await page.reload()
          await page.getByRole('status').getByText('Live').waitFor()
          letRenew()
        }
        await Promise.all([north, south].map(reload))
        for (const [page, name] of [
          [north, 'north'],
          [south, 'south'],
        ] as const) {
          await until('it is renewed', async () => (await storedIn(page, ids[name])) !== before[name])
          const { status, body } = await createClient(server, await storedIn(page, ids[name])).get('/user')
          expect([status, body.data.organizationId]).toEqual([200, ids[name]])
        }
      } finally {
        await db.close()
      }
    })
  })
})
