import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, newEmail, PASSWORD, roleId } from '../support/people.ts'
import { openServer } from '../support/server.ts'

const PATTERN = { name: 'Anna Berg', organizationName: 'Bergwerk', hubName: 'Hub', hubLat: 1, hubLng: 2 }

describe('Coming in', () => {
  const { server, database } = useServer({ ALLOW_SIGNUP: 'true' })
  let owner: Client
  let stranger: Client

  beforeAll(async () => {
    owner = await signIn(server)
    stranger = createClient(server, '')
  })

  const login = (email: string, password: string, organizationId?: string) =>
    stranger.post('/auth/login', { email, password, organizationId })

  describe('registering', () => {
    it('makes an account with an organization of its own, whose owner it is', async () => {
      const email = newEmail('anna')
      const answer = await stranger.post('/auth/register', { ...PATTERN, email, password: PASSWORD })
      expect(answer.status).toBe(201)
      expect(answer.body).toMatchObject({
        isHubSet: true,
        data: { name: 'Anna Berg', email },
        organizations: [{ organizationName: 'Bergwerk', roleName: 'Owner', isCurrent: true }],
      })
      expect((await login(email, PASSWORD)).status).toBe(200)
    })

    it('with a known address is 409, in any case, also twice at once', async () => {
      const email = newEmail('bert')
      const attempts = await Promise.all(
        [email, email.toUpperCase()].map(address =>
          stranger.post('/auth/register', { ...PATTERN, email: address, password: PASSWORD }),
        ),
      )
      expect(attempts.map(({ status }) => status).sort()).toEqual([201, 409])
    })

    it('takes an address beyond ASCII, and finds it again however its accents were typed', async () => {
      const email = newEmail('dörte').replace(/@.*/, '@bücher.example')
      const typed = ` ${email.normalize('NFD')} `
      const answer = await stranger.post('/auth/register', { ...PATTERN, email: typed, password: PASSWORD })
      expect([answer.status, answer.body.data?.email]).toEqual([201, email])
      for (const one of [email, typed]) expect((await login(one, PASSWORD)).status).toBe(200)
      const again = await stranger.post('/auth/register', { ...PATTERN, email, password: PASSWORD })
      expect(again.status).toBe(409)
      const owner = createClient(server, answer.body.token)
      const found = await owner.get(`/user/email/${encodeURIComponent(email.normalize('NFD'))}`)
      expect(found.body.data).toMatchObject({ email })
    })

    it.each([
      ['password', { password: 'too short' }],
      ['email', { email: 'no address' }],
      ['email', { email: `${'a'.repeat(65)}@example.com` }],
      ['name', { name: ' ' }],
      ['hubName', { hubName: undefined }],
      ['hubLat', { hubLat: 91 }],
      ['organizationName', { organizationName: 'ab' }],
    ])('with a wrong %s is 400', async (path, wrong) => {
      const body = { ...PATTERN, email: newEmail(), password: PASSWORD, ...wrong }
      const answer = await stranger.post('/auth/register', body)
      expect([answer.status, answer.body.errors[0].path]).toEqual([400, path])
    })

    it('is 403 where it is not allowed', async () => {
      const own = await createTestDatabase(usualKind())
      const closed = await openServer(own)
      const body = { ...PATTERN, email: newEmail(), password: PASSWORD }
      expect((await createClient(closed, '').post('/auth/register', body)).status).toBe(403)
      await closed.stop()
      await own.remove()
    })
  })

  describe('invitations', () => {
    const invite = async (client: Client, email: string, more: object = {}) =>
      client.post('/users/invite', { email, name: 'Guest', roleId: await roleId(client, 'Planner'), ...more })

    it('show their token once, and open the organization to whoever has it', async () => {
      const email = newEmail('carla')
      const invited = await invite(owner, email)
      expect(invited.status).toBe(201)
      expect(invited.body.data).toMatchObject({
        email,
        status: 'invited',
        role: { name: 'Planner' },
        hubId: [],
        invitation: { token: expect.any(String), expiresAt: expect.any(String) },
      })
      const { token } = invited.body.data.invitation
      expect((await owner.get(`/user/email/${email}`)).body.data.invitation).toEqual({
        expiresAt: invited.body.data.invitation.expiresAt,
        mail: null,
      })
      const shown = {
        organizationName: 'My organization',
        email,
        name: 'Guest',
        roleName: 'Planner',
        hasAccount: null,
      }
      expect((await stranger.post('/auth/invitation', { token })).body.data).toEqual(shown)
      expect((await stranger.post('/auth/invitation', { token: `${token}x` })).status).toBe(404)
      expect((await login(email, PASSWORD)).status).toBe(401)
      const accepted = await stranger.post('/auth/accept-invitation', {
        token,
        name: 'Carla',
        password: PASSWORD,
      })
      expect(accepted.status).toBe(200)
      expect(accepted.body).toMatchObject({
        data: { name: 'Carla', email },
        organizations: [{ isCurrent: true }],
      })
      const again = await stranger.post('/auth/accept-invitation', {
        token,
        name: 'Carla',
        password: PASSWORD,
      })
      expect(again.status).toBe(404)
    })

    it('a first password that is too short is 400, and the invitation stays open', async () => {
      const { token } = (await invite(owner, newEmail())).body.data.invitation
      const short = await stranger.post('/auth/accept-invitation', { token, name: 'Dora', password: 'short' })
      expect(short.status).toBe(400)
      expect(short.body.errors).toMatchObject([
        { path: 'password', code: 'too-short', params: { limit: 10 } },
      ])
      const right = await stranger.post('/auth/accept-invitation', {
        token,
        name: 'Dora',
        password: PASSWORD,
      })
      expect(right.status).toBe(200)
    })

    it('where the account exists, the password has to be its present one, and stays', async () => {
      const person = await addPerson(server, owner)
      const other = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
      const { token } = (await invite(other.client, person.email)).body.data.invitation
      const accept = (password: string) =>
        stranger.post('/auth/accept-invitation', { token, name: 'Emil', password })
      expect((await accept('quite another password')).status).toBe(401)
      const right = await accept(PASSWORD)
      expect(right.body.organizations).toHaveLength(2)
      expect((await login(person.email, PASSWORD)).status).toBe(200)
      // Guests have a name for each organization.
      expect((await owner.get(`/user/email/${person.email}`)).body.data.name).toBe('Person')
    })

    it('for somebody who is a user already are 409', async () => {
      const person = await addPerson(server, owner)
      expect((await invite(owner, person.email.toUpperCase())).status).toBe(409)
      const email = newEmail()
      const answers = await Promise.all([invite(owner, email), invite(owner, email)])
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    })

    it('can be renewed, which ends the former token, and withdrawn', async () => {
      const invited = (await invite(owner, newEmail())).body.data
      const renewed = await owner.post(`/user/${invited._id}/invitation`)
      expect(renewed.status).toBe(200)
      const accept = (token: string) =>
        stranger.post('/auth/accept-invitation', { token, name: 'Frieda', password: PASSWORD })
      expect((await accept(invited.invitation.token)).status).toBe(404)
      await owner.patch(`/user/${invited._id}`, { status: 'suspended' })
      expect((await accept(renewed.body.data.invitation.token)).status).toBe(404)
      await owner.patch(`/user/${invited._id}`, { status: 'active' })
      expect((await owner.get(`/user/${invited._id}`)).body.data.status).toBe('invited')
      expect((await accept(renewed.body.data.invitation.token)).status).toBe(200)
      expect((await owner.post(`/user/${invited._id}/invitation`)).status).toBe(409)
    })

    it('end after a week', async () => {
      const invited = (await invite(owner, newEmail())).body.data
      const week = new Date(invited.invitation.expiresAt).getTime() - Date.now()
      expect(week).toBeGreaterThan(6.9 * 24 * 3600_000)
      const db = await openTestDatabase(database)
      await db.system.query('UPDATE invitations SET expires_at = now() WHERE user_id = $1', [invited._id])
      await db.close()
      const { token } = invited.invitation
      const late = await stranger.post('/auth/accept-invitation', { token, name: 'Late', password: PASSWORD })
      expect(late.status).toBe(404)
    })

    it('of an address that registers meanwhile are accepted with the password that it chose', async () => {
      const email = newEmail('gerda')
      const { token } = (await invite(owner, email)).body.data.invitation
      const own = { ...PATTERN, email, password: 'her very own password' }
      expect((await stranger.post('/auth/register', own)).status).toBe(201)
      const accept = (password: string) =>
        stranger.post('/auth/accept-invitation', { token, name: 'Gerda', password })
      expect((await accept(PASSWORD)).status).toBe(401)
      expect((await accept('her very own password')).status).toBe(200)
    })
  })
})
