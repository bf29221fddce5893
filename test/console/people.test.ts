import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, signIn } from '../support/client.ts'
import { addPerson, newEmail, PASSWORD, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { pause, until } from '../support/wait.ts'
import { copiedBy, findBarriersInThemes, hasFocus, useBrowser } from './browser.ts'

describe('Users, roles and the audit log in the console', () => {
  const { server, owner, organization } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let planner: Person
  let typeId: string

  beforeAll(async () => {
    planner = await addPerson(server, owner, { role: 'Planner', hubId: organization.hubIds })
    const fields = ['Name', 'Notes'].map(label => ({ key: label.toLowerCase(), label, type: 'text' }))
    typeId = (await owner.post('/data-type', { name: 'Customers', fields })).body.data._id
  })

  const open = (path: string, more: object = {}) =>
    screens.open(`${server.url}${path}`, { as: owner, ...more })
  const dialog = (page: Page) => page.getByRole('dialog')
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const row = (page: Page, name: string | RegExp) => page.getByRole('row', { name })
  const choose = async (page: Page, field: string, name: string) => {
    await dialog(page).getByRole('button', { name: field }).click()
    await page.getByRole('option', { name, exact: true }).click()
  }

  /** These push the buttons of a user down when they are read, and a press that one leaves is none. */
  const isWhole = async (page: Page) => {
    await dialog(page).getByRole('button', { name: 'Role' }).waitFor()
    await dialog(page).getByText('First hub').waitFor()
  }

  it('invite somebody, who joins by the link and nobody a second time', async () => {
    const email = newEmail('eve')
    const page = await open('/users')
    await button(page, 'Invite user').click()
    await dialog(page).getByLabel('E-mail').fill(email)
    await dialog(page).getByLabel('Name', { exact: true }).fill('Eve')
    await choose(page, 'Role', 'Planner')
    await dialog(page).getByText('First hub').click()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByText('Pass this link on to them').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    const link = await copiedBy(dialog(page), 'Copy Invitation link')
    expect(link).toMatch(/\/invitation#fli_[\w-]{43}$/)
    await button(page, 'Done').click()
    await row(page, /Eve.*Planner.*First hub.*Invited/).waitFor()

    const guest = await screens.open(link)
    await guest.getByText('You are invited to Another one as Planner.').waitFor()
    expect(await findBarriersInThemes(guest)).toEqual([])
    await guest.getByLabel('Password').fill('short')
    await button(guest, 'Join').click()
    await guest.locator('.field-error').getByText('At least 10 characters.').waitFor()
    await guest.getByLabel('Password').fill(PASSWORD)
    await button(guest, 'Join').click()
    await guest.getByRole('heading', { name: 'Live map' }).waitFor()
    const again = await screens.open(link, { mayFail: /404/ })
    await again.getByText('This invitation no longer works').waitFor()
    await page.reload()
    await row(page, /Eve eve.*Active/).waitFor()
  })

  it('accept an invitation with the password of the account that exists, and with no other', async () => {
    const elsewhere = await addPerson(server, await signIn(server))
    const roleId = (await owner.get('/roles')).body.data[2]._id
    const invited = await owner.post('/users/invite', { email: elsewhere.email, name: 'Guest', roleId })
    const { token } = invited.body.data.invitation
    const page = await screens.open(`${server.url}/invitation#${token}`, { as: owner, mayFail: /401/ })
    // Whoever passed the link on could have opened it too: it does not say whether there is an account.
    await page.getByText('The password of your account, if you have one here.').waitFor()
    await page.getByLabel('Password').fill('another password')
    await button(page, 'Join').click()
    await page.getByText('This is not the password of your account.').waitFor()
    // A wrong password does not end the session of this browser.
    expect((await owner.get('/user')).status).toBe(200)
    await page.getByLabel('Password').fill(elsewhere.password)
    await button(page, 'Join').click()
    await button(page, 'Account of Guest').waitFor()

    // Rule 5.4: the account was not created in this organization.
    const admin = await open(`/users/${invited.body.data._id}`, { mayFail: /403/ })
    await isWhole(admin)
    await button(admin, 'Reset password').click()
    await dialog(admin).getByLabel('New password').fill('a password for them')
    await button(admin, 'Reset password').click()
    await dialog(admin).getByText('This user registered in another organization').waitFor()
  })

  it('change a role, suspend and activate, and reset a password', async () => {
    const person = await addPerson(server, owner, { role: 'Field user' })
    const page = await open(`/users/${person.userId}`)
    await choose(page, 'Role', 'Planner')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    await page.goto(`${server.url}/users/${person.userId}`)
    await isWhole(page)
    await button(page, 'Suspend').click()
    await hasFocus(page, 'Cancel')
    await dialog(page).getByRole('alert').getByRole('button', { name: 'Suspend' }).click()
    await button(page, 'Activate').waitFor()
    expect((await person.client.get('/user')).status).toBe(401)
    await button(page, 'Activate').click()
    await button(page, 'Suspend').waitFor()
    await button(page, 'Reset password').click()
    await dialog(page).getByLabel('New password').fill('a password for them')
    await button(page, 'Reset password').click()
    await page.getByText(/now signs in with the new password/).waitFor()
    const login = { email: person.email, password: 'a password for them' }
    expect((await createClient(server, '').post('/auth/login', login)).status).toBe(200)
    expect((await owner.get(`/user/${person.userId}`)).body.data.role.name).toBe('Planner')
  })

  it('restrict a field for a role, show what is gone, and find the change in the audit log', async () => {
    const page = await open('/settings/roles')
    await row(page, /^See teams/).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByLabel('Find a permission').fill('see data')
    expect(await page.getByRole('rowheader').allTextContents()).toContain('See data sources')
    await button(page, 'Create role').click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('Caller')
    await dialog(page).getByText('See data sources').click()
    await dialog(page).getByText('See tasks').click()
    await choose(page, 'See tasks: whose', 'own teams')
    await dialog(page).locator('summary').click()
    await dialog(page).getByRole('button', { name: 'Data types and fields' }).click()
    await page.getByRole('option', { name: /^Only these/ }).click()
    await dialog(page)
      .getByRole('group', { name: 'Hidden fields of Customers' })
      .getByText('Notes', { exact: true })
      .click()
    await button(page, 'See it as this role sees it').click()
    await dialog(page).getByText('without Notes').waitFor()
    await dialog(page).getByText('own teams').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await button(page, 'Done').click()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    const { data: roles } = (await owner.get('/roles')).body
    const caller = roles.find((role: { name: string }) => role.name === 'Caller')
    const [data, tasks] = caller.permissionDetails
    expect(tasks).toEqual({ permissionName: 'view/task', scope: 'team' })
    expect(data).toMatchObject({ permissionName: 'view/data', scope: 'all' })
    expect(data.dataTypes).toContainEqual({ dataTypeId: typeId, restrictedFields: ['notes'] })

    const { client } = await addPerson(server, owner, { roleId: caller._id })
    await owner.post('/data', { dataTypeId: typeId, data: { name: 'Ada', notes: 'secret' } })
    expect((await client.get('/data?search=Ada')).body.data[0].data).toEqual({ name: 'Ada' })

    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByRole('button', { name: 'About' }).click()
    await page.getByRole('option', { name: 'Roles' }).click()
    const others = page.getByRole('row').filter({ hasNotText: 'Roles: ' })
    await until('of the others only the headings are left', async () => (await others.count()) === 1)
    await row(page, /Roles: Created/).click()
    await dialog(page).getByText('restrictedFields').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await button(page, 'Done').click()
    const download = page.waitForEvent('download')
    await button(page, 'Export CSV').click()
    const text = await readFile(await (await download).path(), 'utf8')
    await page.getByText('1 changes exported.').waitFor()
    expect(text).toMatch(/^\uFEFFtime,user,user id,action,resource,record id,changes\r\n/)
    expect(text.trim().split('\r\n')).toHaveLength(2)
  })

  it('copies a default role, which itself stays as it is', async () => {
    const page = await open('/settings/roles')
    await page.getByRole('link', { name: 'Planner' }).click()
    await page.getByText('Planner is a default role').waitFor()
    expect(await button(page, 'Save').count()).toBe(0)
    await button(page, 'Create a copy').click()
    expect(await dialog(page).getByLabel('Name', { exact: true }).inputValue()).toBe('Planner (copy)')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Planner (copy)' }).waitFor()
  })

  it('drag members between teams, by the pointer and by the keyboard, and undo it', async () => {
    const { userId } = await addPerson(server, owner, { role: 'Field user' })
    const team = async (name: string, memberIds: string[]) =>
      (await owner.post('/team', { name, memberIds, leaderIds: memberIds })).body.data._id as string
    const [north, south] = [await team('North', [userId]), await team('South', [])]
    const membersOf = async (id: string) => (await owner.get(`/team/${id}`)).body.data.memberIds
    const isIn = (id: string) =>
      until('the person is in that team alone', async () => {
        const both = [await membersOf(north), await membersOf(south)]
        return both.flat().join() === userId && (await membersOf(id)).length === 1
      })
    const page = await open('/teams')
    await button(page, 'Arrange members').click()
    const list = (name: string) => page.getByRole('grid', { name })
    await list('North').getByRole('row').dragTo(list('South'))
    await isIn(south)
    await page.getByText('Person moved from North to South.').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await button(page, 'Undo').click()
    await isIn(north)
    expect((await owner.get(`/team/${north}`)).body.data.leaderIds).toEqual([userId])

    await list('North').getByRole('button', { name: 'Drag Person' }).press('Enter')
    await until('the team is chosen', async () => {
      const isThere = await page.evaluate(
        () => document.activeElement?.closest('section[aria-label="South"]') !== null,
      )
      if (!isThere) await page.keyboard.press('Tab')
      return isThere
    })
    await page.keyboard.press('Enter')
    await isIn(south)
  })

  it('take members out of a team and put them back in quick succession, and each change stays', async () => {
    const memberIds: string[] = []
    for (const name of ['Quick 1', 'Quick 2', 'Quick 3']) {
      const { client, userId } = await addPerson(server, owner, { role: 'Field user' })
      expect((await client.patch('/user', { name })).status).toBe(200)
      memberIds.push(userId)
    }
    const { _id } = (await owner.post('/team', { name: 'Quick', memberIds })).body.data
    const members = async () => (await owner.get(`/team/${_id}`)).body.data.memberIds
    const page = await open('/teams')
    await button(page, 'Arrange members').click()
    // Changes that begin together have all read the team before the first of them is written.
    await page.route(`**/api/v3/team/${_id}`, async route => {
      const response = await route.fetch()
      await pause(500)
      await route.fulfill({ response })
    })
    const pressTogether = async (...names: string[]) => {
      for (const name of names) await button(page, name).waitFor()
      await page.evaluate(labels => {
        const all = [...document.querySelectorAll('button')]
        for (const label of labels)
          all.find(({ ariaLabel, textContent }) => (ariaLabel ?? textContent) === label)?.click()
      }, names)
    }
    await pressTogether('Take Quick 1 out of Quick', 'Take Quick 2 out of Quick')
    await page.getByText('Quick 2 is no longer in Quick.').waitFor()
    expect(await members()).toEqual([memberIds[2]])
    await pressTogether('Undo', 'Take Quick 3 out of Quick')
    await until('both are done', async () => (await members()).join() === memberIds[1])
  })

  it('show a planner the own account, and nothing of users, roles and the audit log', async () => {
    const page = await open('/settings', { as: planner.client })
    await page.getByRole('navigation', { name: 'Sections of the settings' }).waitFor()
    const sections = page.getByRole('navigation', { name: 'Sections of the settings' }).getByRole('link')
    expect(await sections.allTextContents()).toEqual(['Organization', 'Your account'])
    expect(await page.getByRole('link', { name: 'Users' }).count()).toBe(0)
    await page.goto(`${server.url}/settings/audit-log`)
    await page.getByText('Your role can’t see this part of the settings.').waitFor()
  })

  it('change the own name and password, and end another session', async () => {
    const person = await addPerson(server, owner)
    const second = await signIn(server, { email: person.email, password: person.password })
    const page = await open('/settings/account', { as: person.client, mayFail: /400/ })
    await page.getByLabel('Your name').fill('Frida')
    await button(page, 'Save').click()
    await button(page, 'Account of Frida').waitFor()
    await page.getByText('this one').waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('button', { name: /^End the session/ }).click()
    await until('the other session is over', async () => (await second.get('/user')).status === 401)
    await page.getByLabel('Present password').fill('not the password')
    await page.getByLabel('New password').fill('a new password of mine')
    await button(page, 'Change password').click()
    await page.getByText('This is not your present password.').waitFor()
    await page.getByLabel('Present password').fill(person.password)
    await button(page, 'Change password').click()
    await page.getByText('The password is changed').waitFor()
    const login = { email: person.email, password: 'a new password of mine' }
    expect((await createClient(server, '').post('/auth/login', login)).status).toBe(200)
  })
})
